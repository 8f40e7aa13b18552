"""What of a provider can be seen at a moment: its generation, and what is used of it, given the writes around it.

What cannot be is told with the provider first.
"""

from collections import defaultdict

from functional_tests.chaos.history import OK, REFUSED

FOREVER = float("inf")


def generations(operations, initial):
    """Reads of a generation that are outside of what the writes around them allow."""
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


def backwards(operations):
    """Reads of a generation that is lower than one which was read before they began."""
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
                faults.append((provider, f"generation {generation} of {provider} after {highest} was read: {shown(op)}"))
    return faults


class Used:
    """What consumers can have held of each provider and class, from moment to moment."""

    def __init__(self, operations, known):
        self.operations, self.known = operations, known
        self.writes = defaultdict(list)  # of each consumer, what was not refused
        self.holders = defaultdict(set)  # of each provider and class, who ever may have had some
        for consumer, (holds, _) in known.items():
            self._remember(consumer, holds)
        for op in operations:
            for consumer, holds in op.sets.items():
                if op.outcome != REFUSED:
                    self.writes[consumer].append(op)
                    self._remember(consumer, holds)

    def _remember(self, consumer, holds):
        for provider, amounts in holds.items():
            for name in amounts:
                self.holders[provider, name].add(consumer)

    def between(self, provider, name, began, ended):
        """The least and the most that can have been used, seen between.

        What memory shows need not be one moment: of two writes on one consumer that are under way it may have the later
        one and not yet the one before, and so what the later one changed on top of what was there before both.
        """
        least = most = 0
        for consumer in self.holders[provider, name]:
            states, under_way = self._states(consumer, began, ended)
            can = [holds.get(provider, {}).get(name, 0) for holds in states]
            apart = (max(can) - min(can)) * (under_way // 2)
            least, most = least + min(can) - apart, most + max(can) + apart
        return least, most

    def _states(self, consumer, began, ended):
        """What the consumer can have held between, and how many writes on it had not surely ended before."""
        writes = [op for op in self.writes[consumer] if op.began <= ended]
        done = [op for op in writes if op.outcome == OK and op.ended <= began]
        # Whatever ended before the last of these began was overwritten by it.
        over = max((op.began for op in done), default=None)
        can = [op.sets[consumer] for op in writes if over is None or op.outcome != OK or op.ended >= over]
        return can if over is not None else [*can, self.known.get(consumer, ({},))[0]], len(writes) - len(done)

    def misread(self):
        """Reads of usage that are outside of what the writes around them allow."""
        faults = []
        for op in self.operations:
            for provider, amounts in op.seen("usage").items():
                for name, amount in amounts.items():
                    least, most = self.between(provider, name, op.began, op.ended)
                    if not least <= amount <= most:
                        faults.append((
                            provider, f"{amount} {name} used of {provider} is not between {least} and {most}: {shown(op)}"))
        return faults

    def beyond(self, totals):
        """Claims that were granted though more than there is was surely held when they were answered."""
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
    return f"{op.number} {op.kind} {op.sets or ''} {op.outcome}, {op.began:.4f} to {op.ended or FOREVER:.4f} {op.answer}"
