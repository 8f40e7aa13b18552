"""Fault points: the statements at which a fault is injected, derived from the statements of a run without faults."""

import dataclasses

from functional_tests.commit_outcome import expected_state
from functional_tests.lib.servers.proxy import ANSWERED, BEFORE, SENT, Moment
from functional_tests.lib.test_counts import Skipped

# The connection is cut. The server is killed. The statement is delivered after the connection was cut. The same, while
# the writer resolves the in-doubt commit on another node.
CUT, KILL, LATE, LATE_ELSEWHERE = "cut", "kill", "late", "late, on another node,"
LATE_SECONDS = 0.4
SHORT_RUN_FAULTS = 3  # fault points in a short run


class MomentMissed(AssertionError):
    """The statement at which a fault should have been injected was never sent."""


@dataclasses.dataclass
class FaultPoint:
    """A fault at one of the writer's statements, of which `step` counts from the request's first one.

    `writes` says whether the statement belongs to a transaction that writes.
    """

    step: int
    when: str
    name: str
    text: str
    at_commit: bool
    writes: bool

    @property
    def kills(self):
        return self.name == KILL

    def action(self, harness):
        if self.name == LATE:
            return lambda moment: moment.cut_and_deliver(LATE_SECONDS)
        if self.name == LATE_ELSEWHERE:
            def late(moment):
                harness.switch_node()
                moment.cut_and_deliver(LATE_SECONDS)
            return late
        if self.name == CUT:
            return Moment.cut

        def kill(moment):
            harness.kill(moment.link.port)
            moment.cut()
        return kill

    def __str__(self):
        text = " ".join(self.text.split())[:60]
        return f"{self.name} {self.when} step {self.step} ({text})"


def at_commit(tests, harness, chance, full):
    """Faults of batches and of a workload, at COMMIT only."""
    for name, kinds in (expected_state.BATCHES | expected_state.CHANGED_WORKLOAD).items():
        for fault in all_of(harness.sends(kinds), harness.names):
            if fault.at_commit and not (fault.kills and fault.when == BEFORE):
                _play(tests, harness, name, kinds, [fault])


def at_every_statement(tests, harness, chance, full):
    """Faults of each kind of request and of batches, at every statement."""
    for name, kinds in expected_state.REQUEST_KINDS.items():
        seen = tests.step(f"{name}: the statements without a fault", harness.sends, kinds)
        every = all_of(seen or [], harness.names)
        if not full:
            every = few(chance, every, len(kinds) > 1)
        elif len(harness.nodes) > 1:
            every = fewer_kills(chance, every)
        for fault in every:
            _play(tests, harness, name, kinds, [fault])


def while_in_doubt(tests, harness, chance, full):
    """After a failed COMMIT, faults of the statements by which the writer resolves the in-doubt commit."""
    name, kinds = list(expected_state.BATCHES.items())[-1]
    *_, commit = all_of(harness.sends(kinds), [CUT])
    for when, how in (BEFORE, CUT), (ANSWERED, CUT), (BEFORE, LATE):
        first = dataclasses.replace(commit, when=when, name=how)
        after = tests.step(f"{name}: the statements after {first}", harness.sends, kinds, [first])
        every = all_of(after or [], (CUT, KILL, LATE))
        for second in fewer_kills(chance, every) if full else some(chance, every, SHORT_RUN_FAULTS):
            _play(tests, harness, name, kinds, [first, second])


def _play(tests, harness, name, kinds, faults):
    tests.step(f"{name}: {', then '.join(map(str, faults))}", _play_or_skip, harness, kinds, faults)


def _play_or_skip(harness, kinds, faults):
    """Skips a second fault whose statement is never sent.

    After a failed COMMIT the feed is read by the writer or by another thread, so its reads may not come here.
    """
    try:
        harness.play(kinds, faults)
    except MomentMissed as missed:
        if len(faults) > 1 and not faults[-1].writes:
            raise Skipped(missed) from missed
        raise


def few(chance, every, together):
    """A sample for a short run: faults at COMMIT, and for a batch, with all kinds of statements, some others."""
    at_commit = [fault for fault in every if not fault.kills and fault.at_commit]
    others = [fault for fault in every if not fault.kills and not fault.at_commit]
    kills = [fault for fault in every if fault.kills]
    if not together:
        return some(chance, at_commit, 2)
    return at_commit + some(chance, others, SHORT_RUN_FAULTS) + some(chance, kills, 1)


def fewer_kills(chance, every):
    """Samples the kills, because a restart takes seconds, and longest for a Galera node."""
    kills = [fault for fault in every if fault.kills]
    return [fault for fault in every if not fault.kills] + some(chance, kills, 4 * SHORT_RUN_FAULTS)


def some(chance, many, number):
    return chance.sample(many, min(number, len(many)))


def all_of(seen, names):
    """Every fault of these names at these statements. The moment of a fault matters only at COMMIT."""
    found = []
    for step, request in enumerate(seen):
        commits = request.starts("COMMIT")
        for name in names:
            moments = (BEFORE, SENT, ANSWERED) if commits and name not in (LATE, LATE_ELSEWHERE) else (BEFORE,)
            if commits or name in (CUT, KILL):
                found += [FaultPoint(step, when, name, request.text, commits, request.inside) for when in moments]
    return found
