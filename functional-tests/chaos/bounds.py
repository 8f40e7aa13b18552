"""Bounds of a provider's generation and usage in a read, given the writes around the read.

Each check returns its violations as (provider, text).
"""

from collections import defaultdict

from functional_tests.chaos.history import OK, REFUSED

FOREVER = float("inf")


def generations(operations, initial):
    """Reads of a generation outside the bounds that the writes around them set."""
    faults, writes = [], defaultdict(list)
    for op in operations:
        for provider in op.touches:
            if op.outcome != REFUSED:
                writes[provider].append(op)
    for op in operations:
        for provider, generation in op.seen("provider").items():
            least = sum(w.outcome == OK and w.ended <= op.began for w in writes[provider]) + initial[provider]
            most = sum(w.began <= op.ended for w in writes[provider]) + initial[provider]
            if not least <= generation <= most:
                faults.append((
                    provider, f"generation {generation} of {provider} is not between {least} and {most}: {shown(op)}"))
    return faults


def decreasing_generations(operations):
    """Reads of a generation that is lower than one that an earlier read returned."""
    faults, reads = [], defaultdict(list)
    for op in operations:
        for provider, generation in op.seen("provider").items():
            reads[provider].append((op, generation))
    for provider, found in reads.items():
        ended, highest = sorted(found, key=lambda read: read[0].ended), -1
        for op, generation in sorted(found, key=lambda read: read[0].began):
            while ended and ended[0][0].ended < op.began:
                highest = max(highest, ended.pop(0)[1])
            if generation < highest:
                text = f"generation {generation} of {provider} after {highest} was read: {shown(op)}"
                faults.append((provider, text))
    return faults


class Used:
    """Bounds of the usage of each provider and class at any time, from what its consumers can have held."""

    def __init__(self, operations, known):
        self.operations, self.known = operations, known
        self.writes = defaultdict(list)  # consumer -> its writes that were not refused
        self.holders = defaultdict(set)  # (provider, class) -> every consumer that may ever have held some
        for consumer, (holds, _) in known.items():
            self._remember(consumer, holds)
        for op in operations:
            for consumer in op.sets:
                if op.outcome != REFUSED:
                    self.writes[consumer].append(op)
                    for holds in op.may_set(consumer):
                        self._remember(consumer, holds)

    def _remember(self, consumer, holds):
        for provider, amounts in holds.items():
            for name in amounts:
                self.holders[provider, name].add(consumer)

    def between(self, provider, name, began, ended):
        """The least and the most usage that a read between these times may show.

        A snapshot need not be the state at one moment. Of two in-flight writes on one consumer it may have applied the
        later one and not yet the earlier one. Then it shows the later one's delta on top of the state before both.
        """
        least = most = 0
        for consumer in self.holders[provider, name]:
            states, under_way = self._states(consumer, began, ended)
            can = [holds.get(provider, {}).get(name, 0) for holds in states]
            apart = (max(can) - min(can)) * (under_way // 2)
            least, most = least + min(can) - apart, most + max(can) + apart
        return least, most

    def _states(self, consumer, began, ended):
        """The states that the consumer can have had between these times, and the number of its in-flight writes."""
        writes = [op for op in self.writes[consumer] if op.began <= ended]
        done = [op for op in writes if op.outcome == OK and op.ended <= began]
        # The last of these has overwritten every write that ended before it began.
        over = max((op.began for op in done), default=None)
        last = [op for op in writes if over is None or op.outcome != OK or op.ended >= over]
        can = [holds for op in last for holds in op.may_set(consumer)]
        return can if over is not None else [*can, self.known.get(consumer, ({},))[0]], len(writes) - len(done)

    def wrong_usages(self):
        """Reads of a usage outside the bounds that the writes around them set."""
        faults = []
        for op in self.operations:
            for provider, amounts in op.seen("usage").items():
                for name, amount in amounts.items():
                    least, most = self.between(provider, name, op.began, op.ended)
                    if not least <= amount <= most:
                        text = f"{amount} {name} used of {provider} is not between {least} and {most}: {shown(op)}"
                        faults.append((provider, text))
        return faults

    def oversubscribed(self, totals):
        """Granted claims after which the least possible usage exceeds the total."""
        faults = []
        for op in self.operations:
            if op.outcome != OK:
                continue
            for provider, name in {(p, name) for holds in op.sets.values() for p in holds for name in holds[p]}:
                least, _ = self.between(provider, name, op.ended, op.ended)
                total = totals.get(provider, {}).get(name, FOREVER)
                if least > total:
                    faults.append((provider, f"{least} of {total} {name} of {provider} are held, after {shown(op)}"))
        return faults


def shown(op):
    times = f"{op.began:.4f} to {op.ended or FOREVER:.4f}"
    return f"{op.number} {op.kind} {op.sets or ''} {op.outcome}, {times} {op.answer}"
