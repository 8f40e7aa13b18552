"""What breaks, and where: derived from the statements that an undisturbed run was seen to send."""

import dataclasses

import world
from servers.proxy import ANSWERED, BEFORE, SENT, Moment
from tally import Skipped

# The connection ends; the server is killed; the statement comes when nobody waits for it any more; the same, while the
# writer finds out about it on another node.
CUT, KILL, LATE, LATE_ELSEWHERE = "cut", "kill", "late", "late, on another node,"
LATE_SECONDS = 0.4
FEW = 3  # of many, where time is short


class Missed(AssertionError):
    """A moment that was to be struck never came."""


@dataclasses.dataclass
class Strike:
    """At which statement of the writer, counted from the first that a request sends; when; and what then. `writes`: it is
    one of a transaction that writes."""

    step: int
    when: str
    name: str
    text: str
    at_commit: bool
    writes: bool

    @property
    def kills(self):
        return self.name == KILL

    def action(self, stage):
        if self.name == LATE:
            return lambda moment: moment.cut_and_deliver(LATE_SECONDS)
        if self.name == LATE_ELSEWHERE:
            def late(moment):
                stage.elsewhere()
                moment.cut_and_deliver(LATE_SECONDS)
            return late
        if self.name == CUT:
            return Moment.cut

        def kill(moment):
            stage.kill(moment.link.port)
            moment.cut()
        return kill

    def __str__(self):
        text = " ".join(self.text.split())[:60]
        return f"{self.name} {self.when} step {self.step} ({text})"


def at_commit(tally, stage, chance, full):
    """What happens to a batch at COMMIT alone."""
    for name, kinds in world.BATCHES.items():
        for strike in all_of(stage.sends(kinds), stage.names):
            if strike.at_commit and not (strike.kills and strike.when == BEFORE):
                _play(tally, stage, name, kinds, [strike])


def at_every_statement(tally, stage, chance, full):
    """Each kind of request alone, and batches."""
    for name, kinds in world.EVERY.items():
        seen = tally.step(f"{name}: what it sends when nothing breaks", stage.sends, kinds)
        every = all_of(seen or [], stage.names)
        if not full:
            every = few(chance, every, len(kinds) > 1)
        elif len(stage.nodes) > 1:
            every = fewer_kills(chance, every)
        for strike in every:
            _play(tally, stage, name, kinds, [strike])


def while_in_doubt(tally, stage, chance, full):
    """After a COMMIT that broke, what the writer sends to find out about it breaks too, or comes late."""
    name, kinds = list(world.BATCHES.items())[-1]
    *_, commit = all_of(stage.sends(kinds), [CUT])
    for when, how in (BEFORE, CUT), (ANSWERED, CUT), (BEFORE, LATE):
        first = dataclasses.replace(commit, when=when, name=how)
        after = tally.step(f"{name}: what it sends after {first}", stage.sends, kinds, [first])
        every = all_of(after or [], (CUT, KILL, LATE))
        for second in fewer_kills(chance, every) if full else some(chance, every, FEW):
            _play(tally, stage, name, kinds, [first, second])


def _play(tally, stage, name, kinds, strikes):
    tally.step(f"{name}: {', then '.join(map(str, strikes))}", _struck, stage, kinds, strikes)


def _struck(stage, kinds, strikes):
    """After a broken COMMIT all is read again, by the writer or by another thread: a moment of that may not come."""
    try:
        stage.play(kinds, strikes)
    except Missed as missed:
        if len(strikes) > 1 and not strikes[-1].writes:
            raise Skipped(missed) from missed
        raise


def few(chance, every, together):
    """Of a batch that has every kind of statement some, and what happens at COMMIT; of others only that."""
    at_commit = [strike for strike in every if not strike.kills and strike.at_commit]
    others = [strike for strike in every if not strike.kills and not strike.at_commit]
    kills = [strike for strike in every if strike.kills]
    if not together:
        return some(chance, at_commit, 2)
    return at_commit + some(chance, others, FEW) + some(chance, kills, 1)


def fewer_kills(chance, every):
    """A restart takes seconds, of a Galera node most."""
    kills = [strike for strike in every if strike.kills]
    return [strike for strike in every if not strike.kills] + some(chance, kills, 4 * FEW)


def some(chance, many, number):
    return chance.sample(many, min(number, len(many)))


def all_of(seen, names):
    """Every strike of these names at the statements that were seen. Only at COMMIT the moments make a difference."""
    found = []
    for step, request in enumerate(seen):
        commits = request.starts("COMMIT")
        for name in names:
            moments = (BEFORE, SENT, ANSWERED) if commits and name not in (LATE, LATE_ELSEWHERE) else (BEFORE,)
            if commits or name in (CUT, KILL):
                found += [Strike(step, when, name, request.text, commits, request.inside) for when in moments]
    return found
