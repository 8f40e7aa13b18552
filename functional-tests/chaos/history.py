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
    """One request. Times are of one monotonic clock; one that was never answered has no end.

    `sets` says for each consumer what it holds afterwards, {provider: {class: amount}}, {} for nothing;
    `expects` the generation that it must have before (None: it must not be there), and lacks consumers
    that are asked nothing. `touches` are the providers whose generation rises by one. A read has `sees`:
    for a consumer (what it holds, its generation), for a provider its generation.
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
    """By outcome, of those that write."""
    return Counter(op.outcome for op in operations if op.sets or op.touches)


def save(operations, path):
    path.write_text("".join(json.dumps(asdict(op)) + "\n" for op in operations))
