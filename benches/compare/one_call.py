"""Measures one-call placement (POST /v1/claims) beside plain claims on known hosts and the two-step loop.

    python -m benches.compare.one_call [--engine E]… [--shape S]… [--hosts N] [--rounds N] [--seconds S] [--binary PATH]
                                       [--generator PATH]

1, 8 and 32 schedulers place by queries without a rank and with each one, and by lists of ten hosts in order of
preference. 8 schedulers place gangs of 32 in one call. All of it alternates on one running placet. A ratio is a rate
divided by that of the plain claims, or of the two-step loop, of the same round; it is the median over the rounds. Of a
gang each consumer counts as a placement.

The cloud has room for all that is placed, so every status but 200 is a failure. It is counted in the table, and the
command ends with status 1. Plain claims may be refused: the ranks `fullest` and `tightest` fill some of the hosts.

`./tox.sh bench --group one-call` measures the same.
"""

import argparse
import math
import statistics
import sys

from benches.compare.cloud import SHAPES
from benches.compare.interleaved import ENGINES, Testbed, server
from benches.compare.load_generator import LoadGenerator
from benches.compare.scenarios import SCHEDULER_PATH, SCHEDULING_CLIENTS, Scenario
from functional_tests.lib import engines

HOSTS, ROUNDS, ROUND_SECONDS = 10_000, 3, 0.6
GRANTED = "200"
PLAIN, TWO_STEPS = "plain claims", "two-step loop"
RANKS = ("fullest", "emptiest", "tightest", "random")
# The options of the load generator for each way to place a consumer in one call. "query" is one without a rank.
QUERIES = {"query": {}, **{rank: {"rank": rank} for rank in RANKS}}
WAYS = QUERIES | {"list of 10": {"candidates": 10}}
GANG, GANG_SCHEDULERS = 32, 8


def scenarios(schedulers, seconds=ROUND_SECONDS):
    """What this number of schedulers does in a round."""
    def scenario(name, kind, **options):
        return Scenario(name, kind, schedulers, seconds=seconds, group="one-call", **options)

    yield scenario(PLAIN, "claims")
    yield scenario(TWO_STEPS, "scheduler", path=SCHEDULER_PATH)
    for name, options in WAYS.items():
        yield scenario(name, "one-call", more=options)
    if schedulers == GANG_SCHEDULERS:
        for name, options in QUERIES.items():
            yield scenario(gang(name), "one-call", more={"consumers": GANG, **options})


def gang(way):
    return f"gangs of {GANG}, {way}"


def placements(scenario):
    """The number of consumers that a completed operation places."""
    return scenario.more.get("consumers") or scenario.more.get("replicas", 1)


def records(engine, generator, binary=None, shapes=SHAPES, hosts=HOSTS, rounds=ROUNDS, seconds=ROUND_SECONDS):
    """One record for each shape and number of schedulers, with the results of its rounds by scenario."""
    for shape in shapes:
        with Testbed(engine, shape, hosts, generator, binary) as testbed:
            for schedulers in SCHEDULING_CLIENTS:
                yield record(testbed, schedulers, rounds, seconds)


def record(testbed, schedulers, rounds=ROUNDS, seconds=ROUND_SECONDS):
    all_scenarios = list(scenarios(schedulers, seconds))
    found = {scenario.name: [] for scenario in all_scenarios}
    for number in range(rounds):
        # Each round begins with another scenario, because tables grow and servers write back all the time.
        turn = number * len(all_scenarios) // rounds
        for scenario in all_scenarios[turn:] + all_scenarios[:turn]:
            (measured,) = testbed.measure(scenario, 1, ["placet"])
            (result,) = measured["rounds"]
            result["placements"] = result["rate"] * placements(scenario)
            result["failures"] = failures(scenario, result)
            found[scenario.name].append(result)
    return {"engine": testbed.engine.kind, "shape": testbed.shape, "hosts": testbed.hosts, "schedulers": schedulers,
            "scenarios": found}


def failures(scenario, result):
    """The outcomes of one-call placement that are no success, with their numbers."""
    if scenario.kind != "one-call":
        return {}
    return {outcome: count for outcome, count in result["outcomes"].items() if outcome != GRANTED}


def failures_of(found):
    """All of them, as text."""
    counts = {}
    for each in found:
        for result in (result for results in each["scenarios"].values() for result in results):
            for outcome, count in result["failures"].items():
                counts[outcome] = counts.get(outcome, 0) + count
    return ", ".join(f"{count} {outcome}" for outcome, count in counts.items())


def ratio(each, name, other):
    """The median over the rounds of the placements a second, divided by those of another scenario."""
    pairs = zip(each["scenarios"][name], each["scenarios"][other], strict=True)
    return statistics.median(one["placements"] / (another["placements"] or math.nan) for one, another in pairs)


def median(each, name, key):
    """Of the rounds. Not a number if nothing was placed, as after a failure."""
    values = [result[key] for result in each["scenarios"][name]]
    return math.nan if None in values else statistics.median(values)


def table(found):
    """The lines of two tables."""
    if not found:
        return
    hosts = found[0]["hosts"]
    yield f"\n#### One-call placements a second (ratio to plain claims; to the two-step loop), {hosts:,} hosts\n"
    names = (PLAIN, TWO_STEPS, *WAYS)
    yield f"| engine | shape | schedulers | {' | '.join(names)} | failures |\n|{'---|' * (len(names) + 4)}"
    for each in found:
        cells = [f"{median(each, name, 'placements'):,.0f}" for name in names[:2]]
        for name in WAYS:
            ratios = f"{ratio(each, name, PLAIN):.0%}; {ratio(each, name, TWO_STEPS):.1f}×"
            cells.append(f"{median(each, name, 'placements'):,.0f} ({ratios})")
        yield _row(each, cells)
    yield f"\n#### Placements a second in gangs of {GANG} (ratio to plain claims; median of a call), {hosts:,} hosts\n"
    yield f"| engine | shape | schedulers | {' | '.join(QUERIES)} | failures |\n|{'---|' * (len(QUERIES) + 4)}"
    for each in found:
        if each["schedulers"] == GANG_SCHEDULERS:
            yield _row(each, [_gang_cell(each, gang(way)) for way in QUERIES])


def _gang_cell(each, name):
    milliseconds = median(each, name, "p50_us") / 1000
    return f"{median(each, name, 'placements'):,.0f} ({ratio(each, name, PLAIN):.1f}×; {milliseconds:.1f} ms)"


def _row(each, cells):
    return f"| {' | '.join([each['engine'], each['shape'], str(each['schedulers']), *cells, failures_of([each])])} |"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--engine", action="append", choices=engines.ENGINES, help="may be repeated (default: all)")
    parser.add_argument("--shape", action="append", choices=SHAPES, help="may be repeated (default: all)")
    parser.add_argument("--hosts", type=int, default=HOSTS)
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--seconds", type=float, default=ROUND_SECONDS, help="of each scenario of a round")
    parser.add_argument("--binary", help="placet's binary, if not that of `cargo build --profile dist`")
    parser.add_argument("--generator", help="the load generator's binary, if not that of `./tox.sh bench`")
    chosen = parser.parse_args()
    found = []
    for kind in chosen.engine or ENGINES:
        with server(kind) as engine:
            found += records(engine, LoadGenerator(chosen.generator), chosen.binary, chosen.shape or SHAPES, chosen.hosts,
                             chosen.rounds, chosen.seconds)
    print(*table(found), sep="\n")
    if failures_of(found):
        sys.exit(f"one-call placement failed: {failures_of(found)}")


if __name__ == "__main__":
    main()
