"""Chaos must notice a missing safeguard: it is run with each mutant, and must fail.

    python -m functional_tests.chaos.mutants --binary PATH [--runs N] [--only MUTANT,…]

The binary must be built with `cargo build --features mutants,mariadb`. A run ends at the first violation. The same runs
must pass without a mutant for CONTROL_SECONDS.
"""

from functional_tests.lib.mutant_runs import Case, MutantRuns, arguments

CONTROL_SECONDS, MUTANT_SECONDS = "20", "120"
SEVERAL_PROCESSES = ["--engine", "postgresql", "--processes", "3"]
NO_FAULTS = ["--faults", ""]
LATE_COMMITS = ["--faults", "late-commit"]
HELD_ROWS = ["--faults", "hold-provider,hold-consumer,pause-in-transaction"]
# The beginning of each kind's violations.
ORDER, RELEASED_TWICE, GENERATION, USAGE, OVERSUBSCRIBED, DIFFERENT_ANSWERS, LATE, HALF_DONE, REFUSED, REPEATED = (
    "no order: ", "released twice: ", "generation: ", "usage: ", "oversubscribed: ", "answers differ: ", "late: ",
    "half done: ", "refused: ", "repeated: ")

CASES = [
    # Without the guard of generations a claim may be planned on an outdated usage.
    Case("skip-guard", [*SEVERAL_PROCESSES, *NO_FAULTS], (GENERATION, OVERSUBSCRIBED)),
    Case("skip-guard", ["--foreign-writer", *NO_FAULTS], (GENERATION, OVERSUBSCRIBED)),
    Case("usage-first", [*SEVERAL_PROCESSES, *NO_FAULTS, "--mostly", "refill"], (OVERSUBSCRIBED,)),
    # Without the fence an in-doubt commit may happen after it was answered as undone. It moves generations too.
    Case("drop-fence", [*SEVERAL_PROCESSES, *LATE_COMMITS], (ORDER, GENERATION)),
    Case("drop-fence", ["--engine", "mariadb", "--processes", "3", *LATE_COMMITS], (ORDER, GENERATION)),
    # A batch that waits for a held row makes all of its commands, and those behind it, wait.
    Case("wait-together", [*SEVERAL_PROCESSES, *HELD_ROWS], (LATE,)),
    # A refused gang is there in part, and candidates with room are refused.
    Case("keep-lost-gang", [*SEVERAL_PROCESSES, *NO_FAULTS], (HALF_DONE, ORDER)),
    Case("forget-answers", [*SEVERAL_PROCESSES, *NO_FAULTS], (REPEATED, REFUSED)),
    Case("first-candidate-only", [*SEVERAL_PROCESSES, *NO_FAULTS], (REFUSED,)),
    # The snapshot lags behind the tables, or diverges from them.
    Case("share-in-flight", [*SEVERAL_PROCESSES, *NO_FAULTS, "--mostly", "read_own_write"], (GENERATION, USAGE)),
    Case("subtract-unremoved", [*SEVERAL_PROCESSES, *NO_FAULTS, "--mostly", "contend"],
         (USAGE, DIFFERENT_ANSWERS, ORDER, RELEASED_TWICE)),
    Case("set-deltas", [*SEVERAL_PROCESSES, *NO_FAULTS], (GENERATION, USAGE, DIFFERENT_ANSWERS)),
]


def main():
    runs = []
    for case in CASES:
        if case.options not in runs:
            runs.append(case.options)
    MutantRuns("functional_tests.chaos.run", arguments(__doc__)).check(
        controls=[[*options, "--seconds", CONTROL_SECONDS] for options in runs],
        cases=[case._replace(options=[*case.options, "--seconds", MUTANT_SECONDS]) for case in CASES])


if __name__ == "__main__":
    main()
