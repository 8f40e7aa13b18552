"""Measures how long it takes to read inventories and usages of a whole cloud: provider by provider from OpenStack
Placement and from placet, as exporters do today, and in pages of `GET /v1/providers` from placet.

    python -m benches.compare.bulk_reads BINARY [--engine E] [--shape S] [--hosts N] [--rounds N]

BINARY is a binary of the profile dist. Both services have the same cloud, each in a database of its own. A round is one
after the other: OpenStack Placement's calls once in all, because they take minutes, and placet's in each round.
"""

import argparse
import json
import re
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


def arguments(description, rounds):
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("binary", metavar="BINARY")
    parser.add_argument("--engine", choices=engines.ENGINES, default="postgresql")
    parser.add_argument("--shape", choices=SHAPES, default="flat")
    parser.add_argument("--hosts", type=int, default=10_000)
    parser.add_argument("--rounds", type=int, default=rounds)
    return parser.parse_args()


def one_by_one(rest):
    """By provider: the answers with the inventories and with the usages. Returns them, and the number of requests."""
    found = {}
    for provider in rest.must("GET", "/resource_providers").json["resource_providers"]:
        path = f"/resource_providers/{provider['uuid']}"
        found[provider["uuid"]] = rest.must("GET", f"{path}/inventories"), rest.must("GET", f"{path}/usages")
    return found, 1 + 2 * len(found)


def parsed_one_by_one(found):
    return {uuid: (inventories.json["inventories"], usages.json["usages"])
            for uuid, (inventories, usages) in found.items()}


def pages_of(rest, path):
    """The pages of a list, each with a line for each item. The address of the next page is in the header `Link`."""
    while path:
        page = rest("GET", path, headers={"accept": "application/x-ndjson"})
        if page.status != 200:
            raise RuntimeError(f"{path} was answered with {page}")
        yield page.raw
        link = re.match("<(.*)>; rel=.next.", page.headers.get("link", ""))
        path = link and link[1]


def in_pages(rest):
    pages = list(pages_of(rest, BULK))
    return pages, len(pages)


def parsed_in_pages(pages):
    providers = (json.loads(line) for page in pages for line in page.splitlines())
    return {each["uuid"]: (each["inventories"], each["usages"]) for each in providers}


class Reading:
    """One way to read the cloud, and the times: until the last answer, and with the parsing of the answers."""

    def __init__(self, name, read, parse):
        self.name, self.read, self.parse = name, read, parse
        self.answered, self.parsed, self.requests = [], [], 0

    def measure(self, rest):
        begin = time.perf_counter()
        answers, self.requests = self.read(rest)
        self.answered.append(time.perf_counter() - begin)
        found = self.parse(answers)
        self.parsed.append(time.perf_counter() - begin)
        return found

    def line(self, today):
        """The medians, and how many times as fast as the reading `today`."""
        times = []
        for own, other in ((self.answered, today.answered), (self.parsed, today.parsed)):
            own, other = statistics.median(own), statistics.median(other)
            times.append(f"{format_duration(own * 1e6)} ({other / own:,.0f} times)")
        return f"{self.name}, {self.requests} requests: {times[0]}, with parsing {times[1]}"


def main():
    chosen = arguments(__doc__, rounds=7)
    with server(chosen.engine) as engine:
        database = engine.create()
        prepare(database, chosen.shape, chosen.hosts, CONSUMERS, chosen.binary)
        copied = engine.create(database)
        with Placet(database, chosen.binary) as own, Upstream(copied) as other:
            placet, upstream = KeptRest(own.port), KeptRest(other.port)
            today = Reading("OpenStack Placement, one by one", one_by_one, parsed_one_by_one)
            expected = today.measure(upstream)
            print(today.line(today), flush=True)
            for reading in (Reading("placet, one by one", one_by_one, parsed_one_by_one),
                            Reading("placet, in pages", in_pages, parsed_in_pages)):
                for _ in range(chosen.rounds):
                    assert reading.measure(placet) == expected, f"{reading.name}: the answers differ"
                print(reading.line(today), flush=True)


if __name__ == "__main__":
    main()
