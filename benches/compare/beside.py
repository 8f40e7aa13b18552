"""Measures two builds of placet beside each other: whether a change made any request slower.

    python -m benches.compare.beside BEFORE AFTER [--engine E]… [--shape S]… [--hosts N] [--rounds N] [--generator PATH]

BEFORE and AFTER are binaries of the profile dist. Both serve copies of one cloud from one database server. Every
scenario of the bench, and one-call placement, alternates between them: the first build of a round is the second of the
next. A ratio is AFTER divided by BEFORE in the same round, and the median over the rounds. The first round of each
scenario warms both up, and does not count.
"""

import argparse
import contextlib
import statistics

from benches.compare import one_call, scenarios
from benches.compare.cloud import SHAPES
from benches.compare.interleaved import ENGINES, Testbed, server
from benches.compare.load_generator import LoadGenerator
from benches.compare.summary import format_duration
from functional_tests.lib import engines

HOSTS, ROUNDS = 10_000, 7
SCHEDULERS = 8  # that place in one call
# What a table has for each scenario: the key of a result, and whether less is better.
FIGURES = {"rate": False, "p50_us": True, "p99_us": True, "cpu_us": True}


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("before", metavar="BEFORE")
    parser.add_argument("after", metavar="AFTER")
    parser.add_argument("--engine", action="append", choices=engines.ENGINES, help="default: all; may be repeated")
    parser.add_argument("--shape", action="append", choices=SHAPES, help="default: all; may be repeated")
    parser.add_argument("--hosts", type=int, default=HOSTS)
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--generator", help="the load generator's binary, if not that of `./tox.sh bench`")
    return parser.parse_args()


def all_scenarios(cloud):
    """Those of one process: more processes would share the memory and the processors of both builds."""
    yield from (scenario for scenario in scenarios.scenarios(cloud) if scenario.processes == 1)
    named = {one_call.PLAIN, one_call.TWO_STEPS}  # the bench has both already
    yield from (scenario for scenario in one_call.scenarios(SCHEDULERS) if scenario.name not in named)


def pairs(testbeds, scenario, rounds):
    """The results of both builds, round by round."""
    for number in range(rounds + 1):
        order = (0, 1) if number % 2 == 0 else (1, 0)
        results = {at: testbeds[at].measure(scenario, 1, ["placet"])[0]["rounds"][0] for at in order}
        if number > 0:
            yield results[0], results[1]


def row(scenario, found):
    """The line of a scenario, and whether the second build was the worse one in every round."""
    cells, is_worse = [f"{scenario.name}", f"{scenario.clients}"], False
    for key, is_time in FIGURES.items():
        known = [(before[key], after[key]) for before, after in found if before.get(key) and after.get(key)]
        if not known:
            cells.append("")
            continue
        ratios = [after / before for before, after in known]
        medians = [statistics.median(side) for side in zip(*known)]
        texts = [format_duration(value) if is_time else f"{value:,.0f}" for value in medians]
        cells.append(f"{texts[0]} → {texts[1]} ({statistics.median(ratios):.2f})")
        if key == "p50_us":
            is_worse = min(ratios) > 1
    return f"| {' | '.join(cells)} |{' slower in every round' if is_worse else ''}", is_worse


def main():
    chosen = arguments()
    generator, worse = LoadGenerator(chosen.generator), 0
    for kind in chosen.engine or ENGINES:
        for shape in chosen.shape or SHAPES:
            with server(kind) as engine, contextlib.ExitStack() as stack:
                testbeds = [stack.enter_context(Testbed(engine, shape, chosen.hosts, generator, binary))
                            for binary in (chosen.before, chosen.after)]
                print("| scenario | clients | a second | p50 | p99 | CPU |\n|---|---|---|---|---|---|", flush=True)
                for scenario in all_scenarios(testbeds[0].cloud):
                    line, is_worse = row(scenario, list(pairs(testbeds, scenario, chosen.rounds)))
                    worse += is_worse
                    print(line, flush=True)
    print(f"{worse} scenarios were slower in every round")


if __name__ == "__main__":
    main()
