"""Checks that a history is linearizable. `check` is a pure function, without services or databases.

    python -m functional_tests.chaos.checker FILE        checks a saved history again

Each consumer is a register. A write changes the register if its generation is the generation that the write expects. A
read shows the register. There must be an order of the register's operations that is consistent with their times and
explains every answer:

- an acknowledged operation happened once, between its beginning and its end;
- a refused operation did not happen;
- an operation with an unknown outcome happened once after its beginning, or not at all.

A claim with a choice sets one of several places: the place in the answer, or without an answer any of the places. A
call that is repeated with its id is one operation, from the first sending to the first answer.

A request on several consumers happened for all of them or for none. This is checked separately for each request with an
unknown outcome whose consumers all have such an order. Reads of providers must lie within the bounds of the surrounding
writes (bounds.py): generations never decrease, and usages never exceed the totals. Claims are refused for lack of room
only if there may have been too little. Later answers to a call with an id equal the first answer (call_rules.py).
Requests outside of a fault are neither refused nor late (liveness.py).
"""

import pathlib
import sys
from collections import defaultdict
from typing import NamedTuple

from functional_tests.chaos import bounds, call_rules, history as histories, liveness
from functional_tests.chaos.history import OK, REFUSED, UNKNOWN

FOREVER = float("inf")
ABSENT = ({}, None)  # the allocations and the generation of a consumer that does not exist


class Violation(NamedTuple):
    """`about` is the consumer or the provider, or None.

    Many reads may show one violation, so run.py reports one for each kind and `about`.
    """

    kind: str
    about: str
    text: str

    def __str__(self):
        return f"{self.kind}: {self.text}"


def check(operations, initial, consumers=None, totals=None, local_faults=(), calm_seconds=(), least_totals=None,
          answers=None):
    """All violations in a history.

    `initial` has the providers' generations before the first operation. `consumers` has the allocations and generations
    of the consumers that existed then. `totals` and `least_totals` have the highest and the lowest total that each
    provider and class had during the run. `local_faults` and `calm_seconds` are those of liveness.py. `answers` has the
    answers that calls with an id received before.
    """
    known = consumers or {}
    faults = [Violation(kind, consumer, text) for kind, consumer, text in unexplained_consumers(operations, known)]
    faults += [Violation("half done", None, text) for text in half_done(operations, known)] if not faults else []
    faults += [Violation("generation", *it) for it in bounds.generations(operations, initial)]
    faults += [Violation("generation", *it) for it in bounds.decreasing_generations(operations)]
    used = bounds.Used(operations, known)
    faults += [Violation("usage", *it) for it in used.wrong_usages()]
    faults += [Violation("oversubscribed", *it) for it in used.oversubscribed(totals or {})]
    wrongly_refused = call_rules.refused(operations, used, least_totals or {}, known)
    faults += [Violation("refused", None, text) for text in wrongly_refused]
    faults += [Violation("repeated", *it) for it in call_rules.repeated(operations, answers or {})]
    return faults + [Violation("late", None, text) for text in liveness.check(operations, local_faults, calm_seconds)]


def by_consumer(operations):
    found = defaultdict(list)
    for op in operations:
        for consumer in {*op.sets, *op.seen("consumer")}:
            found[consumer].append(op)
    return found


def unexplained_consumers(operations, known):
    """Consumers for which no order of their operations explains all answers."""
    faults = []
    for consumer, ops in by_consumer(operations).items():
        if not explained(consumer, ops, known):
            lines = "\n".join(f"  {describe(consumer, op)}" for op in ops)
            # An order that explains them once a release of nothing may succeed means: it was only released twice. That
            # is less serious than a lost write.
            kind = "released twice" if explained(consumer, ops, known, lenient=True) else "no order"
            faults.append((kind, consumer, f"no order explains consumer {consumer}:\n{lines}"))
    return faults


def half_done(operations, known):
    """Requests with an unknown outcome that must have happened for one consumer, and cannot have for another."""
    faults, consumers = [], by_consumer(operations)
    for op in operations:
        if op.outcome == UNKNOWN and len(op.sets) > 1:
            can = {c: [explained(c, consumers[c], known, {op.number: it}) for it in (True, False)] for c in op.sets}
            if not all(yes for yes, _ in can.values()) and not all(no for _, no in can.values()):
                faults.append(f"operation {op.number} happened for some of its consumers only: {can} {op}")
    return faults


def explained(consumer, ops, known, forced=None, lenient=False):
    """Whether some order of the operations explains all answers.

    `forced` says, by number, whether operations with an unknown outcome happened. If `lenient`, a release may succeed
    although nothing is held.
    """
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
        # The next operation in the order must have begun before any remaining one ended.
        horizon = min((ends[i] for i in range(len(ops)) if i not in done), default=FOREVER)
        for i, op in enumerate(ops):
            if i not in done and op.began <= horizon:
                todo += [(done | {i}, after) for after in step(consumer, op, state, lenient)]
    return False


def step(consumer, op, state, lenient):
    """The states that the consumer may have after the operation; none if the operation cannot come next."""
    holds, generation = state
    if f"consumer:{consumer}" in op.sees:
        seen, number = op.sees[f"consumer:{consumer}"]
        return [state] if (seen, number) == (holds, generation) else []
    if consumer in op.expects and op.expects[consumer] != generation:
        return []
    if not op.sets[consumer]:
        # A DELETE needs a consumer that exists. A PUT of `{}` does not.
        return [] if op.kind == "delete" and not holds and not lenient else [ABSENT]
    return [(place, (generation or 0) + 1) for place in op.may_set(consumer)]


def describe(consumer, op):
    times = f"{op.began:.4f} to {op.ended:.4f}" if op.ended else f"{op.began:.4f}, unanswered"
    may_set = op.may_set(consumer) if consumer in op.sets else []
    sets = may_set[0] if len(may_set) == 1 else may_set
    what = op.sees.get(f"consumer:{consumer}", (sets, op.expects.get(consumer, "any")))
    return f"{op.number} {op.kind} {what} {op.outcome}, {times} {op.answer}"


def main():
    start, operations = histories.load(pathlib.Path(sys.argv[1]))
    faults = check(operations, **start)
    print(*faults, f"{len(operations)} operations, {len(faults)} violations", sep="\n")
    sys.exit(bool(faults))


if __name__ == "__main__":
    main()
