"""Programs that hold a row of the database: an open transaction, a paused placet, a stalled OpenStack Placement."""

import concurrent.futures
import contextlib
import re
import signal
import threading

from functional_tests.lib import live
from functional_tests.lib.patience import HANG_SECONDS
from functional_tests.lib.rest import Rest
from functional_tests.lib.servers.proxy import ANSWERED, Proxy
from functional_tests.lib.sql_claims import BEGIN

# A consumer of the paused programs. It sorts before all others, and GUARD is the next. OpenStack Placement deletes the
# allocations of a new consumer before it inserts some. On MariaDB that locks the gap in the index up to the next
# consumer.
HOLDER, GUARD = "00000000-0000-4000-8000-000000000000", "00000000-0000-4000-8000-000000000001"
UPDATE = re.compile(r"\bUPDATE\b[^;]*\bresource_providers\b", re.IGNORECASE)


def lock_rows(connection, table, uuids):
    """Begins a transaction that locks these rows. One statement for each, so that MariaDB locks no others and no
    gaps.
    """
    for statement in BEGIN[connection.engine]:
        connection.execute(statement)
    for uuid in uuids:
        connection.execute(f"UPDATE {table} SET generation = generation WHERE uuid = ?", [uuid])


class OpenTransaction:
    """Another program that has updated rows of `table`, and does not end its transaction. Use it as a context
    manager.
    """

    def __init__(self, database, table, uuids, _binary):
        self.database, self.table, self.uuids = database, table, uuids

    def __enter__(self):
        self.connection = self.database.connect()
        return self

    def __exit__(self, *_):
        self.connection.close()

    def hold(self):
        lock_rows(self.connection, self.table, self.uuids)

    def release(self):
        self.connection.execute("ROLLBACK")


class PausedService:
    """A service that is stopped by SIGSTOP inside the transaction of its claim on a provider, which it has updated and
    not yet committed. Use it as a context manager.

    A proxy keeps the answer to the update back, so that the signal comes in time.
    """

    kind = None

    def __init__(self, database, _table, uuids, binary):
        self.database, (self.provider,), self.binary = database, uuids, binary
        self.held, self.free = threading.Event(), threading.Event()

    def __enter__(self):
        with contextlib.ExitStack() as stack:
            self.proxy = stack.enter_context(Proxy(self.database))
            self.service = stack.enter_context(live.Service(self.kind, binary=self.binary, database=self.proxy.database))
            self.client = stack.enter_context(concurrent.futures.ThreadPoolExecutor(1))
            self.stack = stack.pop_all()
        return self

    def __exit__(self, *_):
        self.free.set()
        self.service.signal(signal.SIGCONT)
        self.stack.close()

    def hold(self):
        # The first claim of a process may also write its project and its user. The row must be all that is held.
        assert self._claim().status == 204
        assert Rest(self.service.port)("DELETE", f"/allocations/{HOLDER}").status == 204
        self.proxy.intercept(
            ANSWERED, lambda moment: moment.request.executes and UPDATE.search(moment.request.text), self._pause)
        self.claimed = self.client.submit(self._claim)
        assert self.held.wait(HANG_SECONDS), f"{self.kind} holds no row"

    def release(self):
        self.service.signal(signal.SIGCONT)
        self.free.set()
        answer = self.claimed.result(HANG_SECONDS)
        # Its client may have waited for longer than commit_timeout.
        assert answer.status in (204, 503), f"the claim of the paused {self.kind}: {answer}"

    def _pause(self, _moment):
        self.service.signal(signal.SIGSTOP)
        self.held.set()
        self.free.wait(HANG_SECONDS)

    def _claim(self):
        return Rest(self.service.port)("PUT", f"/allocations/{HOLDER}", {
            "allocations": {self.provider: {"resources": {"VCPU": 1}}}, "project_id": "paused", "user_id": "paused",
            "consumer_generation": None, "consumer_type": "INSTANCE"})


class PausedPlacet(PausedService):
    kind = "placet"


class PausedUpstream(PausedService):
    kind = "upstream"
