"""An exhausted connection pool: while many reads wait for a connection, requests without a need of one are answered."""

import contextlib
import select
import socket
import time

from functional_tests.commit_outcome.expected_state import ONE
from functional_tests.lib import live
from functional_tests.lib.patience import HANG_SECONDS, succeeds
from functional_tests.lib.rest import Rest

READS = 700
# `commit_timeout` of a patient and of an impatient process, and `stale_reads_seconds`.
PATIENT_TIMEOUT_SECONDS, IMPATIENT_TIMEOUT_SECONDS, STALE_SECONDS = 15, 1, 600
POOL_SIZE, POOL_TIMEOUT_SECONDS = 4, 30
READ = f"/resource_providers/{ONE}/usages"
SEARCHES = ("/allocation_candidates?resources=VCPU:1", "/resource_providers")
LOCK = {"postgresql": ("BEGIN", "LOCK TABLE allocations IN ACCESS EXCLUSIVE MODE"),
        "mariadb": ("LOCK TABLES allocations WRITE",)}
UNLOCK = {"postgresql": "COMMIT", "mariadb": "UNLOCK TABLES"}


def topic(tests, engine, options):
    with small_pool(engine, options, PATIENT_TIMEOUT_SECONDS) as (database, rest):
        tests.step(f"searches are answered while {READS} reads wait for a locked table", locked, database, rest)
    with small_pool(engine, options, IMPATIENT_TIMEOUT_SECONDS) as (_, rest):
        tests.step(f"searches are answered from a stale snapshot while {READS} reads wait for a paused server",
                   paused, engine.nodes[0], rest)


@contextlib.contextmanager
def small_pool(engine, options, commit_timeout):
    """Starts a placet with few connections, on a database of its own with one host."""
    database = engine.create()
    sections = {"placet": {"commit_timeout": commit_timeout, "stale_reads_seconds": STALE_SECONDS, "workers": 2},
               "placement_database": {"pool_timeout": POOL_TIMEOUT_SECONDS, "max_pool_size": POOL_SIZE,
                                      "max_overflow": 0}}
    sections = {section: {name: str(value) for name, value in its.items()} for section, its in sections.items()}
    with live.Service("placet", sections, options.binary, database) as placet:
        rest = Rest(placet.port)
        rest.must("POST", "/resource_providers", {"name": "one", "uuid": ONE})
        rest.must("PUT", f"/resource_providers/{ONE}/inventories",
                  {"resource_provider_generation": 0, "inventories": {"VCPU": {"total": 8}}})
        yield database, rest


class WaitingReads:
    """Reads that are sent at once, each on a connection of its own. The answers are read on demand."""

    def __init__(self, stack, port):
        request = (f"GET {READ} HTTP/1.1\r\nHost: placet\r\nX-Auth-Token: admin\r\nConnection: close\r\n"
                   "OpenStack-API-Version: placement latest\r\n\r\n").encode()
        self.sockets = [stack.enter_context(socket.create_connection(("127.0.0.1", port), HANG_SECONDS)) for _ in range(READS)]
        for each in self.sockets:
            each.sendall(request)

    def is_last_waiting(self):
        """Whether the read that was sent last has no answer yet."""
        poll = select.poll()
        poll.register(self.sockets[-1], select.POLLIN)
        return not poll.poll(0)

    def answers(self):
        return [b"".join(iter(lambda each=each: each.recv(65536), b"")) for each in self.sockets]


def search(rest, stale, times=3):
    """Sends each search `times` times; returns the seconds that the slowest took."""
    longest = 0
    for path in SEARCHES * times:
        began = time.monotonic()
        answer = rest("GET", path)
        longest = max(longest, time.monotonic() - began)
        assert answer.status == 200, f"GET {path}: {answer}"
        assert ("placet-stale" in answer.headers) == stale, answer.headers
    return longest


def search_while_reads_wait(rest, stale):
    """Checks the searches that are sent while reads wait, and then the answers of these reads.

    A search that waits for the reads is answered after the last one. A stale answer comes once the change feed was
    waited for during `commit_timeout`, in which the reads wait, too.
    """
    with contextlib.ExitStack() as stack:
        began = time.monotonic()
        reads = WaitingReads(stack, rest.port)
        longest = search(rest, stale)
        were_waiting = reads.is_last_waiting()
        answers = reads.answers()
        took = time.monotonic() - began
    print(f"        a search took {longest:.2f} s at most, all {READS} reads {took:.1f} s", flush=True)
    assert were_waiting or stale, f"the searches waited for all reads, one for {longest:.1f} s"
    wrong = [each for each in answers if not (each.startswith(b"HTTP/1.1 503 ") and b"\nretry-after: " in each.lower())]
    assert not wrong, f"{len(wrong)} of {READS} were answered as {wrong[0][:300]}"


def serves_again(rest):
    succeeds("a read", lambda: rest.must("GET", READ))
    succeeds("a fresh answer", lambda: search(rest, stale=False, times=1))


def locked(database, rest):
    holder = database.connect()
    try:
        for statement in LOCK[database.engine]:
            holder.execute(statement)
        search_while_reads_wait(rest, stale=False)
        holder.execute(UNLOCK[database.engine])
    finally:
        holder.close()
    serves_again(rest)


def paused(node, rest):
    node.pause()
    try:
        search_while_reads_wait(rest, stale=True)
    finally:
        node.resume()
    serves_again(rest)
