"""Several processes that serve one database."""

import contextlib
import signal

from functional_tests.chaos.history import OK, REFUSED, UNKNOWN
from functional_tests.lib import live
from functional_tests.lib.rest import Rest

OUTCOME_UNKNOWN = "The outcome of this request is unknown"


class Member(live.Service):
    """One of them. Clients ask `outcome` what an answer means."""

    proxy = None  # through which it reaches its database, where something is to happen on the way

    @property
    def expected(self):
        """The statuses that clients may get; whatever breaks, a 500 of placet is a defect."""
        return (200, 204, 404, 409, 503) + ((500,) if self.kind == "upstream" else ())

    def outcome(self, status, raw):
        """placet's 503 says that nothing was done, or that nobody knows."""
        if status < 300:
            return OK
        refused = status < 500 or (status == 503 and self.kind == "placet" and OUTCOME_UNKNOWN not in raw)
        return REFUSED if refused else UNKNOWN

    def pause(self):
        self.signal(signal.SIGSTOP)

    def resume(self):
        self.signal(signal.SIGCONT)

    @property
    def rest(self):
        return Rest(self.port, timeout=20)


@contextlib.contextmanager
def members(options, databases, environment=None):
    """As many processes as the options say, on the nodes in turn; where a COMMIT may come late, the first by a proxy."""
    settings = {"placement_database": {"max_overflow": "60"}} if options.server == "upstream" else {}
    with contextlib.ExitStack() as stack:
        found = []
        for n in range(options.processes):
            database, proxy = databases[n % len(databases)], None
            if n == 0 and "late-commit" in options.faults:
                from functional_tests.lib.servers.proxy import Proxy

                proxy = stack.enter_context(Proxy(database))
                database = proxy.database
            member = Member(options.server, settings, options.binary, database, environment=environment)
            member.proxy = proxy
            found.append(stack.enter_context(member))
        yield found
