"""The history of a run: every operation with its times and its outcome."""

import itertools
import json
import threading
import time
from collections import Counter
from dataclasses import asdict, dataclass, field

OK, REFUSED, UNKNOWN = "ok", "refused", "unknown"
ROOM, CONFLICT = "room", "conflict"


@dataclass
class Operation:
    """One request. Times are of one monotonic clock. A request that was not answered has no end. A request that could
    not be sent counts as refused, and has no end.

    - `sets`: consumer -> what it holds afterwards, {provider: {class: amount}}, or {} for nothing.
    - `expects`: consumer -> the generation that it must have before; None if it must not exist. Consumers without a
      precondition are missing.
    - `choices`: consumer -> the places of which it gets one, of a claim with a choice until its answer says which. Each
      is as in `sets`, which has the first.
    - `touches`: the providers whose generation is incremented, each as often as that may happen.
    - `sees`, of a read: `consumer:` -> (what it holds, its generation), `provider:` -> its generation, `usage:` -> the
      usage of a provider by class. Of a call with an id: `answer:` -> its status and body.
    - `refusal`: why it was refused, `ROOM` or `CONFLICT`, if that is checked.
    - `bystander`: the number of the process, if no other client uses the rows of this request.
    """

    number: int
    kind: str
    began: float
    sets: dict = field(default_factory=dict)
    expects: dict = field(default_factory=dict)
    choices: dict = field(default_factory=dict)
    touches: list = field(default_factory=list)
    sees: dict = field(default_factory=dict)
    ended: float = None
    outcome: str = UNKNOWN
    answer: str = ""
    bystander: int = None
    refusal: str = ""

    def end(self, outcome, answer=""):
        self.ended = time.monotonic()
        self.outcome, self.answer = outcome, answer[:200]

    def may_set(self, consumer):
        """What the consumer may hold afterwards: one of these."""
        return self.choices.get(consumer) or [self.sets[consumer]]

    def seen(self, what):
        """Name -> what it saw, for one of `consumer`, `provider`, `usage` and `answer`."""
        return {name.removeprefix(f"{what}:"): it for name, it in self.sees.items() if name.startswith(f"{what}:")}


class History:
    def __init__(self):
        self.operations = []
        self.numbers = itertools.count()
        self.lock = threading.Lock()

    def begin(self, kind, **more):
        with self.lock:
            operation = Operation(next(self.numbers), kind, time.monotonic(), **more)
            self.operations.append(operation)
        return operation

    def take(self):
        """Returns all operations since the last call, and forgets them. No operation may be in flight."""
        found, self.operations = self.operations, []
        return found


def counts(operations):
    """Outcome -> number of writes that were sent; and the numbers of reads, granted gangs and workloads, and
    repeated calls.
    """
    sent = [op for op in operations if op.outcome == UNKNOWN or op.ended is not None]
    found = Counter(op.outcome for op in sent if op.sets or op.touches)
    found["reads"] = sum(bool(op.sees) for op in operations)
    found["gangs"] = sum(op.outcome == OK and op.kind in ("place gang", "replace gang") for op in operations)
    found["workloads"] = sum(op.outcome == OK and op.kind in ("new workload", "change workload") for op in operations)
    found["repeats"] = sum(op.outcome == OK and op.kind == "repeat" for op in operations)
    return found


def save(start, operations, path):
    """Writes a history to a file. `start` has the checker's arguments: the tables before the first operation."""
    path.write_text("".join(json.dumps(line) + "\n" for line in (start, *map(asdict, operations))))


def load(path):
    start, *operations = map(json.loads, path.read_text().splitlines())
    return start, [Operation(**it) for it in operations]
