"""The checker notices doctored histories, and lets honest ones pass.

    chaos/checker_test.py
"""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))

import checker  # noqa: E402
from history import OK, REFUSED, UNKNOWN, Operation  # noqa: E402
from tally import Tally  # noqa: E402

HOST, POOL = "host", "pool"
ONE, TWO = {HOST: {"VCPU": 1}}, {POOL: {"DISK_GB": 2}}
INITIAL = {HOST: 1, POOL: 1}


class Story:
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


HONEST = {
    "claim, replacement, release": lambda: (
        Story().put("a", ONE, None).put("a", TWO, 1).read("a", TWO, 2).delete("a").read("a", {}, None)),
    "a claim after a release begins anew": lambda: Story().put("a", ONE, None).delete("a").put("a", ONE, None).read("a", ONE, 1),
    "an unknown claim that happened": lambda: Story().put("a", ONE, None, UNKNOWN).read("a", ONE, 1),
    "an unknown claim that did not": lambda: Story().put("a", ONE, None, UNKNOWN).read("a", {}, None),
    "an unknown claim that happened late": lambda: (
        Story().put("a", ONE, None, UNKNOWN).read("a", {}, None).read("a", ONE, 1)),
    "an unknown POST that happened for both": lambda: (
        Story().post({"a": ONE, "b": TWO}, {"a": None, "b": None}, UNKNOWN).read("a", ONE, 1).read("b", TWO, 1)),
    "two at once, either first": lambda: (
        Story().put("a", ONE, None).put("a", TWO, 1, began=20, ended=30).read("a", ONE, 1, began=21, ended=29)),
    "generations": lambda: (
        Story().generation(HOST, 1).put("a", ONE, None).generation(HOST, 2).put("b", ONE, None, UNKNOWN)
        .generation(HOST, 2).generation(HOST, 3)),
    "a refused claim": lambda: Story().put("a", ONE, None, REFUSED).read("a", {}, None).generation(HOST, 1),
}
DOCTORED = {
    "an acknowledged claim is lost": lambda: Story().put("a", ONE, None).read("a", {}, None),
    "an acknowledged replacement is lost": lambda: Story().put("a", ONE, None).put("a", TWO, 1).read("a", ONE, 1),
    "a refused claim left a trace": lambda: Story().put("a", ONE, None, REFUSED).read("a", ONE, 1),
    "an acknowledged release came back": lambda: Story().put("a", ONE, None).delete("a").read("a", ONE, 1),
    "half a claim": lambda: Story().put("a", ONE | TWO, None).read("a", ONE, 1),
    "half an unknown claim": lambda: Story().put("a", ONE | TWO, None, UNKNOWN).read("a", TWO, 1),
    "half an unknown POST": lambda: (
        Story().post({"a": ONE, "b": TWO}, {"a": None, "b": None}, UNKNOWN).read("a", ONE, 1).read("b", {}, None)
        .put("b", ONE, None)),
    "half an acknowledged POST": lambda: (
        Story().post({"a": ONE, "b": TWO}, {"a": None, "b": None}).read("a", ONE, 1).read("b", {}, None)),
    "two won with one generation": lambda: (
        Story().put("a", ONE, None).put("a", TWO, 1).put("a", ONE, 1)),
    "an unknown claim happened twice": lambda: (
        Story().put("a", ONE, None, UNKNOWN).read("a", ONE, 1).delete("a").read("a", ONE, 1)),
    "a claim happened before it was asked for": lambda: Story().read("a", ONE, 1).put("a", ONE, None),
    "a consumer's generation leapt": lambda: Story().put("a", ONE, None).read("a", ONE, 2),
    "a read was stale": lambda: Story().put("a", ONE, None).put("a", TWO, 1).read("a", ONE, 1).read("a", TWO, 2),
    "a provider's generation went back": lambda: (
        Story().put("a", ONE, None).generation(HOST, 2).put("b", ONE, None).generation(HOST, 2)),
    "a provider's generation leapt": lambda: Story().put("a", ONE, None).generation(HOST, 3),
    "a refused claim moved a generation": lambda: Story().put("a", ONE, None, REFUSED).generation(HOST, 2),
}


def main():
    tally = Tally()
    for name, story in HONEST.items():
        tally.equal(f"passes: {name}", [], checker.check(story().operations, INITIAL))
    for name, story in DOCTORED.items():
        faults = checker.check(story().operations, INITIAL)
        (tally.ok if faults else tally.fail)(f"is noticed: {name}")
    tally.finish()


if __name__ == "__main__":
    main()
