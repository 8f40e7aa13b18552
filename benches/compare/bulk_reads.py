"""Measures how long it takes to read inventories and usages of a whole cloud: provider by provider from OpenStack
Placement and from placet, as exporters do today, and in pages of `GET /v1/providers` from placet.

    python -m benches.compare.bulk_reads BINARY [--engine E] [--shape S] [--hosts N] [--rounds N]

BINARY is a binary of the profile dist. Both services have the same cloud, each in a database of its own. A round is one
after the other: OpenStack Placement's calls once in all, because they take minutes, and placet's in each round.
"""

import argparse
import statistics
import time

from benches.compare.cloud import SHAPES
from benches.compare.interleaved import server
from benches.compare.sizing import prepare
from benches.compare.summary import format_duration
from benches.compare.systems import Placet, Upstream
from functional_tests.lib import engines
from functional_tests.lib.rest import KeptRest

CONSUMERS = 20  # of each host
BULK = "/v1/providers?fields=inventories,usages"


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("binary", metavar="BINARY")
    parser.add_argument("--engine", choices=engines.ENGINES, default="postgresql")
    parser.add_argument("--shape", choices=SHAPES, default="flat")
    parser.add_argument("--hosts", type=int, default=10_000)
    parser.add_argument("--rounds", type=int, default=7)
    return parser.parse_args()


def one_by_one(rest):
    """By provider: the inventories and the usages. Returns them, and the number of requests."""
    found = {}
    for provider in rest.must("GET", "/resource_providers").json["resource_providers"]:
        path = f"/resource_providers/{provider['uuid']}"
        inventories = rest.must("GET", f"{path}/inventories").json["inventories"]
        found[provider["uuid"]] = inventories, rest.must("GET", f"{path}/usages").json["usages"]
    return found, 1 + 2 * len(found)


def in_pages(rest):
    found, requests, after = {}, 0, ""
    while after is not None:
        page = rest.must("GET", BULK + after).json
        requests += 1
        found |= {each["uuid"]: (each["inventories"], each["usages"]) for each in page["providers"]}
        after = page["next"] and f"&after={page['next']}"
    return found, requests


def timed(read, rest):
    begin = time.perf_counter()
    found, requests = read(rest)
    return time.perf_counter() - begin, requests, found


def main():
    chosen = arguments()
    with server(chosen.engine) as engine:
        database = engine.create()
        prepare(database, chosen.shape, chosen.hosts, CONSUMERS, chosen.binary)
        copied = engine.create(database)
        with Placet(database, chosen.binary) as own, Upstream(copied) as other:
            placet, upstream = KeptRest(own.port), KeptRest(other.port)
            today, requests, expected = timed(one_by_one, upstream)
            print(f"OpenStack Placement, {requests} requests: {format_duration(today * 1e6)}", flush=True)
            for name, read in (("placet, one by one", one_by_one), ("placet, in pages", in_pages)):
                times = []
                for _ in range(chosen.rounds):
                    took, requests, found = timed(read, placet)
                    assert found == expected, f"{name}: the answers differ"
                    times.append(took)
                median = statistics.median(times)
                print(f"{name}, {requests} requests: {format_duration(median * 1e6)}, {today / median:,.0f} times as fast",
                      flush=True)


if __name__ == "__main__":
    main()
