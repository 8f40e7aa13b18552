"""Measures how much a client that reads the whole cloud slows other requests.

    python -m benches.compare.beside_reads BINARY [--engine E] [--shape S] [--hosts N] [--rounds N]

BINARY is a binary of the profile dist. A round has two spans of 15 seconds, in alternating order. In both a client
searches and claims as fast as possible. In one of the spans a second client reads once all providers with all parts,
all consumers with their allocations, and the sums of usages by class and by project. A ratio is the figure beside the
reader divided by the figure without, in the same round, and the median over the rounds.
"""

from benches.compare.bulk_reads import arguments, pages_of
from benches.compare.foreground import measured, print_ratios
from benches.compare.interleaved import server
from benches.compare.sizing import prepare
from benches.compare.systems import Placet
from functional_tests.lib.rest import KeptRest

CONSUMERS = 20  # of each host
SPAN_SECONDS = 15
EVERYTHING = ("/v1/providers?fields=inventories,usages,traits,aggregates,allocations,state",
              "/v1/consumers?fields=allocations", "/v1/usages?by=resource_class", "/v1/usages?by=project")


def read_everything(port, _stop):
    rest = KeptRest(port)
    for path in EVERYTHING:
        for _ in pages_of(rest, path):
            pass


def main():
    chosen = arguments(__doc__, rounds=5)
    with server(chosen.engine) as engine:
        database = engine.create()
        prepare(database, chosen.shape, chosen.hosts, CONSUMERS, chosen.binary)
        with Placet(database, chosen.binary) as service:
            rounds = []
            for number in range(chosen.rounds + 1):
                sides = (None, read_everything) if number % 2 == 0 else (read_everything, None)
                found = {side: measured(service, SPAN_SECONDS, side) for side in sides}
                if number > 0:
                    rounds.append((found[None], found[read_everything]))
    print_ratios(("without", "beside"), rounds)


if __name__ == "__main__":
    main()
