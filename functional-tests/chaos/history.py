"""What happened: every operation with when it was asked for, when it was answered, and how."""

import itertools
import json
import threading
import time
from collections import Counter
from dataclasses import asdict, dataclass, field

OK, REFUSED, UNKNOWN = "ok", "refused", "unknown"


@dataclass
class Operation:
    """One request. Times are of one monotonic clock; one that was never answered has no end. One that could not even
    be sent is refused, and has no end either.

    `sets` says for each consumer what it holds afterwards, {provider: {class: amount}}, {} for nothing;
    `expects` the generation that it must have before (None: it must not be there), and lacks consumers
    that are asked nothing. `touches` are the providers whose generation rises by one. A read has `sees`:
    for a `consumer:` (what it holds, its generation), for a `provider:` its generation, for the `usage:`
    of a provider what is used of each class.
    """

    number: int
    kind: str
    began: float
    sets: dict = field(default_factory=dict)
    expects: dict = field(default_factory=dict)
    touches: list = field(default_factory=list)
    sees: dict = field(default_factory=dict)
    ended: float = None
    outcome: str = UNKNOWN
    answer: str = ""

    def end(self, outcome, answer=""):
        self.ended = time.monotonic()
        self.outcome, self.answer = outcome, answer[:200]

    def seen(self, what):
        """By name, what it saw of a `consumer`, a `provider` or a `usage`."""
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

    def cut(self):
        """Everything since the last cut, while nobody writes on."""
        found, self.operations = self.operations, []
        return found


def counts(operations):
    """By outcome, of those that write and were sent; and how many reads were answered."""
    sent = [op for op in operations if op.outcome == UNKNOWN or op.ended is not None]
    found = Counter(op.outcome for op in sent if op.sets or op.touches)
    found["reads"] = sum(bool(op.sees) for op in operations)
    return found


def save(start, operations, path):
    """`start`: what the tables held before the first operation, as the checker wants it."""
    path.write_text("".join(json.dumps(line) + "\n" for line in (start, *map(asdict, operations))))


def load(path):
    start, *operations = map(json.loads, path.read_text().splitlines())
    return start, [Operation(**it) for it in operations]
