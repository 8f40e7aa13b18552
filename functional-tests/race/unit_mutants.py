"""The unit tests about several processes must notice a missing safeguard: each mutant must make some of them fail.

The tests have the size of `./tox.sh`, so that this size is known to notice the mutants.

    python -m functional_tests.race.unit_mutants UNIT

UNIT is the executable of the library's tests, built with the feature `mutants`.
"""

import argparse
import os
import re
import subprocess

from functional_tests.lib.patience import HANG_SECONDS
from functional_tests.lib.root import ROOT
from functional_tests.lib.test_counts import TestCounts

# Each mutant, and the tests that must fail with it; without names, any of PROCESS_TESTS must fail.
MUTANTS = {
    "drop-published": "reload_races::reloads_between_commits_lose_none_and_repeat_none",
    "trust-reconnect": "reconnects::a_new_connection_to_a_database_that_lacks_a_commit_reloads",
    "share-in-flight": "", "set-deltas": "", "apply-twice": "", "revisions-before": "", "prune-without-epoch": "",
    "drop-fence": "writers::a_fence_finds_a_commit_and_waits_for_an_open_batch"
                  " writers::a_batch_cannot_be_committed_after_its_fence",
    "ignore-gaps": "writers::a_process_that_lacks_a_pruned_change_reloads",
    "never-redeem": "call_usage::found_p8_a_refusal_counts_the_amounts_of_later_consumers_as_free"
                    " call_usage::random_gangs::found_p8_no_random_gang_raises_a_usage_beyond_the_capacity",
    "judge-room": "workloads::eligible_hosts::a_full_domain_counts_as_before",
    "first-host": "several_hosts::found_p4_a_replica_counts_on_every_host",
    "skip-level": "placed_figures::e8_there_is_no_fifth_place_beside_a_mix_and_one_by_one_never_mixes",
    "no-look-ahead": "over_time::found_p2_every_size_of_a_grid_is_reached_one_by_one",
    "evenness-last": "over_time::found_p3_what_stays_is_the_most_even_set"
                     " over_time::found_p3_a_new_placement_is_the_most_even_set",
    "skip-state": "provider_states::no_claim_is_granted_after_the_state_changed",
    "skip-normal-limit": "limits::random_claims_get_what_a_slow_oracle_gives_them",
    "skip-neighbours": "neighbours::two_workloads_that_are_placed_in_the_same_moment_keep_the_rule_between_them",
    "skip-domains": "planned_domains::a_placement_that_was_planned_before_a_host_changed_its_domain_is_planned_again"
                    " planned_domains::a_host_below_a_replica_that_a_rule_is_new_for_has_the_domain_of_the_plan",
    "keep-snapshot": "lost_plans::places_that_a_foreign_writer_took_are_searched_for_again_until_none_is_shown",
    "never-in-batch": "lost_plans::a_call_that_loses_each_plan_is_planned_in_the_batch"
                      " lost_plans::a_dry_run_that_loses_each_plan_is_planned_in_the_batch_and_writes_nothing"
                      " interleaving::a_request_that_loses_each_plan_is_planned_in_the_batch"
                      " interleaving::a_dry_run_that_loses_each_plan_is_planned_in_the_batch_and_writes_nothing",
    "keep-identity": "writers::a_writer_whose_row_is_lost_registers_again_and_loses_no_claim"}
# How processes learn of each other's commits.
PROCESS_TESTS = ["following", "tests::reloads", "tests::reload_races", "tests::reconnects", "acknowledged",
                 "identity::tests", "tests::writers"]
TESTS = [*PROCESS_TESTS, "placing::tests", "tests::provider_states", "tests::limits", "workloads::neighbours",
         "workloads::planned_domains", "workloads::eligible_hosts", "workloads::several_hosts", "tests::lost_plans",
         "workloads::interleaving", "tests::call_usage"]
SEED = "2026"


def run(executable, mutant, tests):
    environment = {name: value for name, value in os.environ.items() if name != "PLACET_TEST_SIZE"}
    environment |= {"PLACET_MUTANT": mutant, "PLACET_SEED": SEED, "PLACET_STEPS": "600"}
    return subprocess.run(
        [executable, *tests], capture_output=True, text=True, timeout=6 * HANG_SECONDS, cwd=ROOT, env=environment)


def unmutated_passes(executable):
    done = run(executable, "none", TESTS)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]


def is_noticed(executable, mutant, by):
    named = by.split()
    done = run(executable, mutant, named or PROCESS_TESTS)
    failed = sorted(set(re.findall(r"^    (\S+::\S+)$", done.stdout, re.M)))
    assert done.returncode != 0 and failed, f"the mutant {mutant} passed:\n{done.stdout[-2000:]}{done.stderr[-2000:]}"
    missing = [test for test in named if not any(each.endswith(test) for each in failed)]
    assert not missing, f"the mutant {mutant} passed {missing}, and failed {failed}"
    print(f"{mutant}: {len(failed)} tests fail, such as {failed[0]}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("executable", metavar="UNIT", type=os.path.abspath)
    executable = parser.parse_args().executable
    tests = TestCounts()
    tests.step("the unit tests pass without a mutant", unmutated_passes, executable)
    for mutant, by in MUTANTS.items():
        tests.step(f"mutant {mutant} is noticed", is_noticed, executable, mutant, by)
    tests.finish()


if __name__ == "__main__":
    main()
