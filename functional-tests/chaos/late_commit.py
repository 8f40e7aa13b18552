"""A COMMIT that reaches the database after its process has lost the connection."""

from functional_tests.chaos.faults import DatabaseFault
from functional_tests.lib.patience import HANG_SECONDS

LATE_SECONDS = (0.1, 1.0)  # after the connection broke


class LateCommit(DatabaseFault):
    """Needs a process behind a proxy (lib/servers/proxy.py)."""

    seconds = (0.0, 0.2)

    def inject(self):
        from functional_tests.lib.servers import proxy

        member = self.chance.choice([member for member in self.members if member.proxy])
        late = self.chance.uniform(*LATE_SECONDS)

        def fits(moment):
            return moment.request.starts("COMMIT") and (moment.link.writes or member.kind == "upstream")

        self.proxy = member.proxy
        interception = self.proxy.intercept(proxy.BEFORE, fits, lambda moment: moment.cut_and_deliver(late))
        interception.done.wait(HANG_SECONDS)

    def heal(self):
        self.proxy.forget_interceptions()
        self.proxy.seen.clear()


FAULTS = {"late-commit": LateCommit}
