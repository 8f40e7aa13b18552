"""Measures how much a flood of searches without candidates slows other requests, in two builds of placet.

    python -m benches.compare.empty_searches BEFORE AFTER [--shape S] [--hosts N] [--rounds N] [--seconds N]

BEFORE and AFTER are binaries of the profile dist. Each serves a copy of one cloud, from a file of its own. In each
round a client floods one build with different searches that no host can serve, at a fixed rate. Beside the flood a
second client searches and claims as fast as possible. Then the other build has its turn. A ratio is
AFTER divided by BEFORE in the same round, and the median over the rounds.
"""

import argparse
import contextlib
import itertools
import time

from benches.compare.cloud import SHAPES
from benches.compare.foreground import measured, print_ratios
from benches.compare.sizing import prepare
from benches.compare.systems import Placet
from functional_tests.lib import engines
from functional_tests.lib.rest import KeptRest

FLOOD_A_SECOND = 500


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("before", metavar="BEFORE")
    parser.add_argument("after", metavar="AFTER")
    parser.add_argument("--shape", choices=SHAPES, default="flat")
    parser.add_argument("--hosts", type=int, default=10_000)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--seconds", type=float, default=4)
    return parser.parse_args()


def flood(port, stop):
    """Different searches that no host can serve, at FLOOD_A_SECOND."""
    rest, begin = KeptRest(port), time.monotonic()
    for number in itertools.count():
        if stop.is_set():
            return
        rest.must("GET", f"/allocation_candidates?resources=VCPU:{100_000 + number}&limit=1000")
        time.sleep(max(0, begin + number / FLOOD_A_SECOND - time.monotonic()))


def main():
    chosen = arguments()
    with engines.Engine("sqlite") as engine, contextlib.ExitStack() as stack:
        services = []
        for binary in (chosen.before, chosen.after):
            database = engine.create()
            prepare(database, chosen.shape, chosen.hosts, 0, binary)
            services.append(stack.enter_context(Placet(database, binary)))
        rounds = []
        for number in range(chosen.rounds + 1):
            order = (0, 1) if number % 2 == 0 else (1, 0)
            found = {at: measured(services[at], chosen.seconds, flood) for at in order}
            if number > 0:
                rounds.append((found[0], found[1]))
    print_ratios(("before", "after"), rounds)


if __name__ == "__main__":
    main()
