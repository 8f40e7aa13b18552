"""Whether a history can have happened: pure, it knows neither services nor databases.

    python -m functional_tests.chaos.checker FILE        judges a history that a run has written down once more

Each consumer is a register that writes change where its generation is the one they expect, and that reads
show. There must be an order of its operations that keeps to the clock and explains every answer: what was
acknowledged happened once between its beginning and its end, what was refused never, what is unknown once
after its beginning or never. A request on several consumers happened for all of them or for none. What
providers show must lie within what the writes around it allow (bounds.py).
"""

import pathlib
import sys
from collections import defaultdict
from typing import NamedTuple

from functional_tests.chaos import bounds, history as histories
from functional_tests.chaos.history import OK, REFUSED, UNKNOWN

FOREVER = float("inf")
ABSENT = ({}, None)  # what a consumer holds that is not there, and its generation


class Violation(NamedTuple):
    """`about`: the consumer or the provider. What is wrong with it is read often before it is right again."""

    kind: str
    about: str
    text: str

    def __str__(self):
        return f"{self.kind}: {self.text}"


def check(operations, initial, consumers=None, totals=None):
    """Everything that cannot be.

    `initial` has the providers' generations before the first operation, `consumers` what those held that
    were there, and their generations; `totals` the most that providers have of each class.
    """
    known = consumers or {}
    faults = [Violation(kind, consumer, text) for kind, consumer, text in lost_order(operations, known)]
    faults += [Violation("halves", None, text) for text in halves(operations, known)] if not faults else []
    faults += [Violation("generation", *it) for it in bounds.generations(operations, initial)]
    faults += [Violation("generation", *it) for it in bounds.backwards(operations)]
    used = bounds.Used(operations, known)
    faults += [Violation("usage", *it) for it in used.misread()]
    return faults + [Violation("oversubscribed", *it) for it in used.beyond(totals or {})]


def by_consumer(operations):
    found = defaultdict(list)
    for op in operations:
        for consumer in {*op.sets, *op.seen("consumer")}:
            found[consumer].append(op)
    return found


def lost_order(operations, known):
    """The consumers whose answers no order of the operations explains."""
    faults = []
    for consumer, ops in by_consumer(operations).items():
        if not explained(consumer, ops, known):
            lines = "\n".join(f"  {describe(consumer, op)}" for op in ops)
            # Two that say they released the same thing do less harm than a write that is lost.
            kind = "released twice" if explained(consumer, ops, known, lenient=True) else "no order"
            faults.append((kind, consumer, f"no order explains consumer {consumer}:\n{lines}"))
    return faults


def halves(operations, known):
    """Unknown requests on several consumers that must have happened for one and cannot have for another."""
    faults, consumers = [], by_consumer(operations)
    for op in operations:
        if op.outcome == UNKNOWN and len(op.sets) > 1:
            can = {c: [explained(c, consumers[c], known, {op.number: it}) for it in (True, False)] for c in op.sets}
            if not all(yes for yes, _ in can.values()) and not all(no for _, no in can.values()):
                faults.append(f"operation {op.number} happened for a part of its consumers only: {can} {op}")
    return faults


def explained(consumer, ops, known, forced=None, lenient=False):
    """Whether there is an order. `forced` decides unknown operations by their number; a `lenient` judge lets a release
    succeed where nothing is held."""
    forced = forced or {}
    ops = [op for op in ops if op.outcome != REFUSED and forced.get(op.number) is not False]
    must = frozenset(i for i, op in enumerate(ops) if op.outcome == OK or forced.get(op.number))
    ends = [op.ended if op.outcome == OK else FOREVER for op in ops]
    seen, todo = set(), [(frozenset(), tuple(known.get(consumer, ABSENT)))]
    while todo:
        done, state = todo.pop()
        if must <= done:
            return True
        key = done, repr(state)
        if key in seen:
            continue
        seen.add(key)
        # The next one began before every other that is still to come ended.
        horizon = min((ends[i] for i in range(len(ops)) if i not in done), default=FOREVER)
        for i, op in enumerate(ops):
            if i not in done and op.began <= horizon:
                after = step(consumer, op, state, lenient)
                if after is not None:
                    todo.append((done | {i}, after))
    return False


def step(consumer, op, state, lenient):
    """What the consumer is after the operation, or None if it cannot be next."""
    holds, generation = state
    if f"consumer:{consumer}" in op.sees:
        seen, number = op.sees[f"consumer:{consumer}"]
        return state if (seen, number) == (holds, generation) else None
    if consumer in op.expects and op.expects[consumer] != generation:
        return None
    if not op.sets[consumer]:
        # Only what is there can be deleted; a wipe of what is not there leaves nothing either.
        return None if op.kind == "delete" and not holds and not lenient else ABSENT
    return op.sets[consumer], (generation or 0) + 1


def describe(consumer, op):
    times = f"{op.began:.4f} to {op.ended:.4f}" if op.ended else f"{op.began:.4f}, unanswered"
    what = op.sees.get(f"consumer:{consumer}", (op.sets.get(consumer), op.expects.get(consumer, "any")))
    return f"{op.number} {op.kind} {what} {op.outcome}, {times} {op.answer}"


def main():
    start, operations = histories.load(pathlib.Path(sys.argv[1]))
    faults = check(operations, **start)
    print(*faults, f"{len(operations)} operations, {len(faults)} violations", sep="\n")
    sys.exit(bool(faults))


if __name__ == "__main__":
    main()
