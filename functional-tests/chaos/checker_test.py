"""The checker notices doctored histories, and lets honest ones pass.

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
ORDER, TWICE, HALVES, GENERATION, USAGE, TOO_MUCH = (
    "no order", "released twice", "halves", "generation", "usage", "oversubscribed")


class Builder:
    """A history written down: operations one after the other, a second each, unless told otherwise."""

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
        return self.add("look", OK, sees={f"provider:{provider}": number}, **more)

    def usage(self, provider, amounts, **more):
        return self.add("candidates", OK, sees={f"usage:{provider}": amounts}, **more)


VALID_HISTORIES = {
    "claim, replacement, release": lambda: (
        Builder().put("a", ONE, None).put("a", TWO, 1).read("a", TWO, 2).delete("a").read("a", {}, None)),
    "a claim after a release begins anew": lambda: Builder().put("a", ONE, None).delete("a").put("a", ONE, None).read("a", ONE, 1),
    "an unknown claim that happened": lambda: Builder().put("a", ONE, None, UNKNOWN).read("a", ONE, 1),
    "an unknown claim that did not": lambda: Builder().put("a", ONE, None, UNKNOWN).read("a", {}, None),
    "an unknown claim that happened late": lambda: (
        Builder().put("a", ONE, None, UNKNOWN).read("a", {}, None).read("a", ONE, 1)),
    "an unknown POST that happened for both": lambda: (
        Builder().post({"a": ONE, "b": TWO}, {"a": None, "b": None}, UNKNOWN).read("a", ONE, 1).read("b", TWO, 1)),
    "two at once, either first": lambda: (
        Builder().put("a", ONE, None).put("a", TWO, 1, began=20, ended=30).read("a", ONE, 1, began=21, ended=29)),
    "generations": lambda: (
        Builder().generation(HOST, 1).put("a", ONE, None).generation(HOST, 2).put("b", ONE, None, UNKNOWN)
        .generation(HOST, 2).generation(HOST, 3)),
    "a refused claim": lambda: Builder().put("a", ONE, None, REFUSED).read("a", {}, None).generation(HOST, 1),
    "usages": lambda: (
        Builder().put("a", ONE, None).usage(HOST, {"VCPU": 1}).put("a", TWO, 1).usage(HOST, {"VCPU": 0}).usage(POOL, {"DISK_GB": 2})
        .delete("a").usage(POOL, {"DISK_GB": 0})),
    "usage while it changes": lambda: (
        Builder().put("a", ONE, None, began=0, ended=9).usage(HOST, {"VCPU": 0}, began=1, ended=2)
        .usage(HOST, {"VCPU": 1}, began=3, ended=4)),
    "the later of two writes under way in memory, and not yet the other": lambda: (
        Builder().put("a", ONE, None, began=0, ended=20).delete("a", began=1, ended=20).usage(HOST, {"VCPU": -1}, began=2, ended=19)),
    "usage that an unknown claim may have": lambda: (
        Builder().put("a", ONE, None, UNKNOWN).usage(HOST, {"VCPU": 0}).usage(HOST, {"VCPU": 1})),
    "no more than there is, one after the other": lambda: (
        Builder().put("a", ONE, None).put("b", ONE, None).delete("a").put("c", ONE, None)),
    "room that an unknown release may have made": lambda: (
        Builder().put("a", ONE, None).put("b", ONE, None).delete("a", UNKNOWN).put("c", ONE, None)),
}
INVALID_HISTORIES = {
    "an acknowledged claim is lost": (ORDER, lambda: Builder().put("a", ONE, None).read("a", {}, None)),
    "an acknowledged replacement is lost": (ORDER, lambda: Builder().put("a", ONE, None).put("a", TWO, 1).read("a", ONE, 1)),
    "a refused claim left a trace": (ORDER, lambda: Builder().put("a", ONE, None, REFUSED).read("a", ONE, 1)),
    "an acknowledged release came back": (ORDER, lambda: Builder().put("a", ONE, None).delete("a").read("a", ONE, 1)),
    "half a claim": (ORDER, lambda: Builder().put("a", ONE | TWO, None).read("a", ONE, 1)),
    "half an unknown claim": (ORDER, lambda: Builder().put("a", ONE | TWO, None, UNKNOWN).read("a", TWO, 1)),
    "half an unknown POST": (HALVES, lambda: (
        Builder().post({"a": ONE, "b": TWO}, {"a": None, "b": None}, UNKNOWN).read("a", ONE, 1).read("b", {}, None)
        .put("b", ONE, None))),
    "half an acknowledged POST": (ORDER, lambda: (
        Builder().post({"a": ONE, "b": TWO}, {"a": None, "b": None}).read("a", ONE, 1).read("b", {}, None))),
    "two won with one generation": (ORDER, lambda: (
        Builder().put("a", ONE, None).put("a", TWO, 1).put("a", ONE, 1))),
    "an unknown claim happened twice": (ORDER, lambda: (
        Builder().put("a", ONE, None, UNKNOWN).read("a", ONE, 1).delete("a").read("a", ONE, 1))),
    "two released the same": (TWICE, lambda: (
        Builder().put("a", ONE, None).delete("a", began=10, ended=12).delete("a", began=10, ended=12))),
    "a claim happened before it was asked for": (ORDER, lambda: Builder().read("a", ONE, 1).put("a", ONE, None)),
    "a consumer's generation leapt": (ORDER, lambda: Builder().put("a", ONE, None).read("a", ONE, 2)),
    "a read was stale": (ORDER, lambda: Builder().put("a", ONE, None).put("a", TWO, 1).read("a", ONE, 1).read("a", TWO, 2)),
    "a provider's generation went back": (GENERATION, lambda: (
        Builder().put("a", ONE, None).generation(HOST, 2).put("b", ONE, None).generation(HOST, 2))),
    "a provider's generation went back, though either may be": (GENERATION, lambda: (
        Builder().put("a", ONE, None, UNKNOWN).generation(HOST, 2).generation(HOST, 1))),
    "a provider's generation leapt": (GENERATION, lambda: Builder().put("a", ONE, None).generation(HOST, 3)),
    "a refused claim moved a generation": (GENERATION, lambda: Builder().put("a", ONE, None, REFUSED).generation(HOST, 2)),
    "memory lacks an acknowledged claim": (USAGE, lambda: Builder().put("a", ONE, None).usage(HOST, {"VCPU": 0})),
    "memory has a released claim": (USAGE, lambda: Builder().put("a", ONE, None).delete("a").usage(HOST, {"VCPU": 1})),
    "memory has a refused claim": (USAGE, lambda: Builder().put("a", ONE, None, REFUSED).usage(HOST, {"VCPU": 1})),
    "memory has less than nothing": (USAGE, lambda: Builder().put("a", ONE, None).delete("a").usage(HOST, {"VCPU": -1})),
    "memory has the later of two writes, and not the other, which has ended": (USAGE, lambda: (
        Builder().put("a", ONE, None).delete("a", began=2, ended=20).usage(HOST, {"VCPU": -1}, began=3, ended=19))),
    "more is granted than there is": (TOO_MUCH, lambda: (
        Builder().put("a", ONE, None).put("b", ONE, None).put("c", ONE, None))),
    "more is granted than there is, and released later": (TOO_MUCH, lambda: (
        Builder().put("a", ONE, None).put("b", ONE, None).put("c", ONE, None).delete("a").delete("b"))),
}


def again(story):
    """The same history, written to a file and read from it."""
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder, "history")
        history.save({"initial": INITIAL, "consumers": {}, "totals": TOTALS}, story.operations, path)
        start, operations = history.load(path)
    return checker.check(operations, **start)


def main():
    tests = TestCounts()
    for name, story in VALID_HISTORIES.items():
        tests.equal(f"passes: {name}", [], checker.check(story().operations, INITIAL, totals=TOTALS))
    for name, (kind, story) in INVALID_HISTORIES.items():
        faults = checker.check(story().operations, INITIAL, totals=TOTALS)
        tests.equal(f"is noticed, as {kind}: {name}", {kind}, {fault.kind for fault in faults})
        kinds = [fault.kind for fault in faults]
        tests.equal(f"is noticed in the file: {name}", kinds, [fault.kind for fault in again(story())], show=False)
    tests.finish()


if __name__ == "__main__":
    main()
