"""Several processes that serve one database."""

import contextlib
import signal

from functional_tests.chaos.history import OK, REFUSED, UNKNOWN
from functional_tests.lib import live
from functional_tests.lib.rest import Rest

PROXIED = {"late-commit", "pause-in-transaction"}  # faults that need a process behind a proxy
OUTCOME_UNKNOWN = "The outcome of this request is unknown"


class Member(live.Service):
    """One of the processes. `outcome` says what an answer means."""

    proxy = None  # between the process and its database, for faults of the connection

    @property
    def expected(self):
        """The statuses that clients may get. A 500 from placet is a defect under every fault."""
        return (200, 204, 404, 409, 503) + ((500,) if self.kind == "upstream" else ())

    def outcome(self, status, raw):
        """The outcome of a request. placet's 503 says that nothing was done, or that the outcome is unknown."""
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
        return Rest(self.port)


@contextlib.contextmanager
def members(options, databases, environment=None, patient=None):
    """Starts `options.processes` processes, on the nodes in turn. Some faults need the first behind a proxy.
    `patient` are options of placet."""
    settings = {"placement_database": {"max_overflow": "60"}} if options.server == "upstream" else patient or {}
    with contextlib.ExitStack() as stack:
        found = []
        for n in range(options.processes):
            database, proxy = databases[n % len(databases)], None
            if n == 0 and PROXIED.intersection(options.faults):
                from functional_tests.lib.servers.proxy import Proxy

                proxy = stack.enter_context(Proxy(database))
                database = proxy.database
            member = Member(options.server, settings, options.binary, database, environment=environment)
            member.proxy = proxy
            found.append(stack.enter_context(member))
        yield found
