"""Sends each request to both services, and compares their answers and their tables."""

import json
import re
import time
from collections import Counter

from functional_tests.differential import candidates, compare, evidence, known_differences

UNKNOWN_PROVIDER = re.compile(r"^\s*Allocation for resource provider '.*' that does not exist\.", re.M)


class Pair:
    """Both services, and counts of what was compared."""

    def __init__(self, theirs, ours, apart=0):
        """`apart` is the maximum of seconds between what the two created when they started."""
        self.theirs, self.ours = theirs, ours
        self.evidence = evidence.Evidence(theirs, ours)
        self.meant, self.left, self.statuses, self.compared = Counter(), Counter(), Counter(), 0
        self.status = None
        # `before` is the state of placet's tables after the last write. `parted`: the tables differ as intended.
        self.before, self.parted = {}, False
        self.slowest = apart
        self.kinds = {}

    def clear(self):
        self.evidence.forget()
        for side in (self.theirs, self.ours):
            side.clear()
        self.before, self.parted = self.ours.state(), False

    def step(self, request):
        """Sends one request to both; returns the differences. With a difference of "tables" the run cannot go on."""
        start = time.monotonic()
        theirs, ours = self.theirs.send(request), self.ours.send(request)
        self.slowest = max(self.slowest, time.monotonic() - start)
        self.compared += 1
        self.status = theirs.status
        self.statuses[self.status] += 1
        self.kinds.setdefault(kind(request), Counter())[self.status < 400] += 1
        found = compare.differences(request, theirs, ours, self.slowest)
        if self.ours.kind == self.theirs.kind and set(found) == {"body"} and known_differences.both_quote_the_database(theirs, ours):
            found = {}
        wrong, defect = self.evidence.found(request, theirs, ours)
        if defect:
            found[candidates.DEFECT] = defect, ""
        row = known_differences.row(request, theirs, ours, found, self.theirs.tables) if found else None
        if row:
            self.meant[row] += 1
            found = {}
        # The judge's faults have no rows: they are never intended.
        found |= wrong
        if request.method not in ("GET", "HEAD", "OPTIONS"):
            left = set(self.theirs.forget_empty_consumers())
            if self.ours.kind == self.theirs.kind:
                # With `--server upstream` both keep them.
                self.ours.forget_empty_consumers()
            if left and not set(map(bare, left)) <= may_leave(request, theirs):
                found["consumers without allocations"] = left, set()
            elif left:
                self.left["a refusal" if theirs.status == 400 else "{}"] += 1
            self.evidence.forget()
            tables = self.theirs.state(), self.ours.state()
            if row in known_differences.DIVERGING and theirs.status < 300:
                # placet refused the request, so its tables must be as they were.
                tables, self.parted = (self.before, tables[1]), True
            elif known_differences.keeps_aggregates(request, theirs, self.theirs.tables, *(side["aggregates"] for side in tables)):
                self.meant[known_differences.KEPT_AGGREGATES] += 1
                tables, self.parted = (tables[0] | {"aggregates": tables[1]["aggregates"]}, tables[1]), True
            self.before = tables[1]
            for name in (name for name in tables[0] if tables[0][name] != tables[1][name]):
                found[f"tables: {name}"] = tables[0][name], tables[1][name]
        return found

    def run(self, requests):
        """Sends requests to empty services; yields (number of the request, differences) for each with differences."""
        self.clear()
        for n, request in enumerate(requests, 1):
            found = self.step(request)
            if found:
                yield n, found
            if self.parted or any(part.startswith("tables") for part in found):
                return


def may_leave(request, theirs):
    """The consumers of which OpenStack Placement may keep a row without allocations. Their claims have no allocations,
    or were refused for an unknown provider."""
    refused = theirs.status == 400 and UNKNOWN_PROVIDER.search(known_differences.detail(theirs)) is not None
    body = json.loads(request.body)
    if request.method == "PUT":
        claims = {request.path.split("/")[2]: body}
    else:
        claims = body["allocations"] if request.path == "/reshaper" else body
    return {bare(uuid) for uuid, claim in claims.items() if claim["allocations"] == {} or refused}


def bare(uuid):
    """A uuid without what its spellings may add. At the end of a path that may be a line feed."""
    return uuid.strip().lower().removeprefix("urn:uuid:").strip("{}").replace("-", "")


def kind(request):
    """Method and noun."""
    nouns = request.path.split("?")[0].strip("/").split("/")
    return " ".join([request.method, *nouns[:1], *nouns[2:3]])
