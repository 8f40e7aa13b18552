"""The checker accepts valid histories, and finds the violation in each invalid one.

    python -m functional_tests.chaos.checker_test
"""

import pathlib
import tempfile

from functional_tests.chaos import checker, history
from functional_tests.chaos.history import OK, REFUSED, UNKNOWN, Operation
from functional_tests.lib.test_counts import TestCounts

HOST, POOL = "host", "pool"
ONE, TWO = {HOST: {"VCPU": 1}}, {POOL: {"DISK_GB": 2}}
INITIAL = {HOST: 1, POOL: 1}
TOTALS = {HOST: {"VCPU": 2}, POOL: {"DISK_GB": 4}}
ORDER, RELEASED_TWICE, HALF_DONE, GENERATION, USAGE, OVERSUBSCRIBED = (
    "no order", "released twice", "half done", "generation", "usage", "oversubscribed")


class Builder:
    """Builds a history: by default operations of one second each, one after the other."""

    def __init__(self):
        self.operations = []

    def add(self, kind, outcome, began=None, ended=None, **more):
        number = len(self.operations)
        began = 10 * number if began is None else began
        ended = None if outcome == UNKNOWN and ended is None else began + 1 if ended is None else ended
        self.operations.append(Operation(number, kind, began, ended=ended, outcome=outcome, **more))
        return self

    def put(self, consumer, holds, expects, outcome=OK, **more):
        return self.add("put", outcome, sets={consumer: holds}, expects={consumer: expects}, touches=[*holds], **more)

    def post(self, sets, expects, outcome=OK, **more):
        touches = sorted({provider for holds in sets.values() for provider in holds})
        return self.add("post", outcome, sets=sets, expects=expects, touches=touches, **more)

    def delete(self, consumer, outcome=OK, **more):
        return self.add("delete", outcome, sets={consumer: {}}, **more)

    def read(self, consumer, holds, generation, **more):
        return self.add("read", OK, sees={f"consumer:{consumer}": (holds, generation)}, **more)

    def generation(self, provider, number, **more):
        return self.add("read generation", OK, sees={f"provider:{provider}": number}, **more)

    def usage(self, provider, amounts, **more):
        return self.add("candidates", OK, sees={f"usage:{provider}": amounts}, **more)


VALID_HISTORIES = {
    "claim, replacement, release": lambda: (
        Builder().put("a", ONE, None).put("a", TWO, 1).read("a", TWO, 2).delete("a").read("a", {}, None)),
    "a claim after a release begins at generation 1": lambda: (
        Builder().put("a", ONE, None).delete("a").put("a", ONE, None).read("a", ONE, 1)),
    "an unknown claim that happened": lambda: Builder().put("a", ONE, None, UNKNOWN).read("a", ONE, 1),
    "an unknown claim that did not": lambda: Builder().put("a", ONE, None, UNKNOWN).read("a", {}, None),
    "an unknown claim that happened late": lambda: (
        Builder().put("a", ONE, None, UNKNOWN).read("a", {}, None).read("a", ONE, 1)),
    "an unknown POST that happened for both": lambda: (
        Builder().post({"a": ONE, "b": TWO}, {"a": None, "b": None}, UNKNOWN).read("a", ONE, 1).read("b", TWO, 1)),
    "two concurrent operations in either order": lambda: (
        Builder().put("a", ONE, None).put("a", TWO, 1, began=20, ended=30).read("a", ONE, 1, began=21, ended=29)),
    "generations": lambda: (
        Builder().generation(HOST, 1).put("a", ONE, None).generation(HOST, 2).put("b", ONE, None, UNKNOWN)
        .generation(HOST, 2).generation(HOST, 3)),
    "a refused claim": lambda: Builder().put("a", ONE, None, REFUSED).read("a", {}, None).generation(HOST, 1),
    "usages": lambda: (
        Builder().put("a", ONE, None).usage(HOST, {"VCPU": 1}).put("a", TWO, 1).usage(HOST, {"VCPU": 0})
        .usage(POOL, {"DISK_GB": 2}).delete("a").usage(POOL, {"DISK_GB": 0})),
    "a usage during a write": lambda: (
        Builder().put("a", ONE, None, began=0, ended=9).usage(HOST, {"VCPU": 0}, began=1, ended=2)
        .usage(HOST, {"VCPU": 1}, began=3, ended=4)),
    "the snapshot has the later of two in-flight writes, and not yet the earlier": lambda: (
        Builder().put("a", ONE, None, began=0, ended=20).delete("a", began=1, ended=20)
        .usage(HOST, {"VCPU": -1}, began=2, ended=19)),
    "a usage that may include an unknown claim": lambda: (
        Builder().put("a", ONE, None, UNKNOWN).usage(HOST, {"VCPU": 0}).usage(HOST, {"VCPU": 1})),
    "three claims for two units, with a release in between": lambda: (
        Builder().put("a", ONE, None).put("b", ONE, None).delete("a").put("c", ONE, None)),
    "a claim of units that an unknown release may have freed": lambda: (
        Builder().put("a", ONE, None).put("b", ONE, None).delete("a", UNKNOWN).put("c", ONE, None)),
}
INVALID_HISTORIES = {
    "an acknowledged claim is lost": (ORDER, lambda: Builder().put("a", ONE, None).read("a", {}, None)),
    "an acknowledged replacement is lost": (ORDER, lambda: (
        Builder().put("a", ONE, None).put("a", TWO, 1).read("a", ONE, 1))),
    "a refused claim happened": (ORDER, lambda: Builder().put("a", ONE, None, REFUSED).read("a", ONE, 1)),
    "an acknowledged release is lost": (ORDER, lambda: Builder().put("a", ONE, None).delete("a").read("a", ONE, 1)),
    "a claim happened in part": (ORDER, lambda: Builder().put("a", ONE | TWO, None).read("a", ONE, 1)),
    "an unknown claim happened in part": (ORDER, lambda: (
        Builder().put("a", ONE | TWO, None, UNKNOWN).read("a", TWO, 1))),
    "an unknown POST happened for one of two consumers": (HALF_DONE, lambda: (
        Builder().post({"a": ONE, "b": TWO}, {"a": None, "b": None}, UNKNOWN).read("a", ONE, 1).read("b", {}, None)
        .put("b", ONE, None))),
    "an acknowledged POST happened for one of two consumers": (ORDER, lambda: (
        Builder().post({"a": ONE, "b": TWO}, {"a": None, "b": None}).read("a", ONE, 1).read("b", {}, None))),
    "two writes with the same generation were granted": (ORDER, lambda: (
        Builder().put("a", ONE, None).put("a", TWO, 1).put("a", ONE, 1))),
    "an unknown claim happened twice": (ORDER, lambda: (
        Builder().put("a", ONE, None, UNKNOWN).read("a", ONE, 1).delete("a").read("a", ONE, 1))),
    "two releases of the same allocations were acknowledged": (RELEASED_TWICE, lambda: (
        Builder().put("a", ONE, None).delete("a", began=10, ended=12).delete("a", began=10, ended=12))),
    "a claim happened before it was sent": (ORDER, lambda: Builder().read("a", ONE, 1).put("a", ONE, None)),
    "a consumer's generation skipped a number": (ORDER, lambda: Builder().put("a", ONE, None).read("a", ONE, 2)),
    "a read was stale": (ORDER, lambda: (
        Builder().put("a", ONE, None).put("a", TWO, 1).read("a", ONE, 1).read("a", TWO, 2))),
    "a provider's generation is too low": (GENERATION, lambda: (
        Builder().put("a", ONE, None).generation(HOST, 2).put("b", ONE, None).generation(HOST, 2))),
    "a provider's generation decreased, although each value is possible": (GENERATION, lambda: (
        Builder().put("a", ONE, None, UNKNOWN).generation(HOST, 2).generation(HOST, 1))),
    "a provider's generation is too high": (GENERATION, lambda: Builder().put("a", ONE, None).generation(HOST, 3)),
    "a refused claim incremented a generation": (GENERATION, lambda: (
        Builder().put("a", ONE, None, REFUSED).generation(HOST, 2))),
    "the snapshot lacks an acknowledged claim": (USAGE, lambda: Builder().put("a", ONE, None).usage(HOST, {"VCPU": 0})),
    "the snapshot has a released claim": (USAGE, lambda: (
        Builder().put("a", ONE, None).delete("a").usage(HOST, {"VCPU": 1}))),
    "the snapshot has a refused claim": (USAGE, lambda: (
        Builder().put("a", ONE, None, REFUSED).usage(HOST, {"VCPU": 1}))),
    "the snapshot has a negative usage": (USAGE, lambda: (
        Builder().put("a", ONE, None).delete("a").usage(HOST, {"VCPU": -1}))),
    "the snapshot has the later of two writes, and not the earlier, which has ended": (USAGE, lambda: (
        Builder().put("a", ONE, None).delete("a", began=2, ended=20).usage(HOST, {"VCPU": -1}, began=3, ended=19))),
    "three claims for two units were granted": (OVERSUBSCRIBED, lambda: (
        Builder().put("a", ONE, None).put("b", ONE, None).put("c", ONE, None))),
    "three claims for two units were granted, and two released later": (OVERSUBSCRIBED, lambda: (
        Builder().put("a", ONE, None).put("b", ONE, None).put("c", ONE, None).delete("a").delete("b"))),
}


def check_saved(story):
    """Writes a history to a file, reads it again, and checks it."""
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder, "history")
        history.save({"initial": INITIAL, "consumers": {}, "totals": TOTALS}, story.operations, path)
        start, operations = history.load(path)
    return checker.check(operations, **start)


def main():
    tests = TestCounts()
    for name, story in VALID_HISTORIES.items():
        tests.equal(f"valid: {name}", [], checker.check(story().operations, INITIAL, totals=TOTALS))
    for name, (kind, story) in INVALID_HISTORIES.items():
        faults = checker.check(story().operations, INITIAL, totals=TOTALS)
        tests.equal(f"invalid, {kind}: {name}", {kind}, {fault.kind for fault in faults})
        kinds, saved = ([fault.kind for fault in each] for each in (faults, check_saved(story())))
        tests.equal(f"invalid after saving, {kind}: {name}", kinds, saved, show=False)
    tests.finish()


if __name__ == "__main__":
    main()
