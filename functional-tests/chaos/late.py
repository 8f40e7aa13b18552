"""A COMMIT that reaches the database late, when whoever sent it has long lost its connection."""

from faults import OfDatabase

LATE = (0.1, 1.0)  # seconds after the connection broke
PATIENCE = 10  # until somebody commits


class LateCommit(OfDatabase):
    """Needs a process behind a proxy (servers/proxy.py)."""

    seconds = (0.0, 0.2)

    def strike(self):
        from servers import proxy

        member = self.chance.choice([member for member in self.members if member.proxy])
        late = self.chance.uniform(*LATE)

        def fits(moment):
            return moment.request.starts("COMMIT") and (moment.link.writes or member.kind == "upstream")

        self.proxy = member.proxy
        plan = self.proxy.plan(proxy.BEFORE, fits, lambda moment: moment.cut_and_deliver(late))
        plan.struck.wait(PATIENCE)

    def heal(self):
        self.proxy.forget()
        self.proxy.seen.clear()


FAULTS = {"late-commit": LateCommit}
