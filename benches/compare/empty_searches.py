"""Measures how much a flood of searches without candidates slows other requests, in two builds of placet.

    python -m benches.compare.empty_searches BEFORE AFTER [--shape S] [--hosts N] [--rounds N] [--seconds N]

BEFORE and AFTER are binaries of the profile dist. Each serves a copy of one cloud, from a file of its own. In each
round a client floods one build with different searches that no host can serve, at a fixed rate. Beside the flood a
second client searches and claims as fast as possible. Then the other build has its turn. A ratio is
AFTER divided by BEFORE in the same round, and the median over the rounds.
"""

import itertools
import time

from benches.compare import builds
from benches.compare.foreground import measured, print_ratios
from functional_tests.lib.rest import KeptRest

FLOOD_A_SECOND = 500


def flood(port, stop):
    """Different searches that no host can serve, at FLOOD_A_SECOND."""
    rest, begin = KeptRest(port), time.monotonic()
    for number in itertools.count():
        if stop.is_set():
            return
        rest.must("GET", f"/allocation_candidates?resources=VCPU:{100_000 + number}&limit=1000")
        time.sleep(max(0, begin + number / FLOOD_A_SECOND - time.monotonic()))


def main():
    options = builds.parser(__doc__, rounds=9)
    options.add_argument("--seconds", type=float, default=4)
    chosen = options.parse_args()
    with builds.running(chosen) as (services, _):
        rounds = builds.alternating(chosen.rounds, lambda at: measured(services[at], chosen.seconds, flood))
    print_ratios(builds.NAMES, rounds)


if __name__ == "__main__":
    main()
