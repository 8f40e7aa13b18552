"""Several processes that serve one database."""

import contextlib
import signal

import live
from history import OK, REFUSED, UNKNOWN
from rest import Rest


class Member(live.Service):
    """One of them. Clients ask `outcome` what an answer means."""

    # 500 is placet's word for "nobody knows", 503 for "it did not happen".
    expected = (200, 204, 404, 409, 500, 503)

    def outcome(self, status):
        if status < 300:
            return OK
        refused = status < 500 or (status == 503 and self.kind == "placet")
        return REFUSED if refused else UNKNOWN

    def pause(self):
        self.signal(signal.SIGSTOP)

    def resume(self):
        self.signal(signal.SIGCONT)

    @property
    def rest(self):
        return Rest(self.port, timeout=20)


@contextlib.contextmanager
def members(kind, urls, count, binary=None, environment=None):
    """So many of them, on the database behind the URLs of its nodes in turn."""
    options = {"placement_database": {"max_overflow": "60"}} if kind == "upstream" else {}
    with contextlib.ExitStack() as stack:
        yield [stack.enter_context(Member(
            kind, options, binary, urls[n % len(urls)], environment=environment)) for n in range(count)]
