"""Another program holds the database's write lock: claims wait up to commit_timeout, and reads do not wait."""

import contextlib
import sqlite3
import threading
import time

from functional_tests.lib.ledger import Ledger
from functional_tests.lib.patience import HANG_SECONDS, IN_TIME_SECONDS, SERVICE_SECONDS, eventually
from functional_tests.lib.rest import Rest
from functional_tests.metrics import scrape
from functional_tests.process.cases import case, check, equal, folder
from functional_tests.process.claims import HOSTS, POOL, claim, prepare
from functional_tests.process.placet_process import Placet


def consumer(number):
    return f"{number:08x}-0000-4000-8000-0000000000cc"


@contextlib.contextmanager
def write_lock(database):
    """Holds the write lock until the end, or until the function that it yields is called."""
    connection = sqlite3.connect(database, timeout=HANG_SECONDS, isolation_level=None)
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield connection.rollback
    finally:
        connection.rollback()
        connection.close()


class Claims:
    """Claims, each sent by a thread of its own: the answers, and the seconds that each took."""

    def __init__(self, placet, numbers, token="admin"):
        self.placet, self.rest, self.took, self.answers = placet, Rest(placet.port, token), {}, {}
        self.threads = [threading.Thread(target=self._claim, args=(n,)) for n in numbers]
        for thread in self.threads:
            thread.start()

    def _claim(self, number):
        began = time.monotonic()
        self.answers[number] = self.rest("PUT", f"/allocations/{consumer(number)}", claim(HOSTS[number % 4]))
        self.took[number] = time.monotonic() - began

    def are_waiting(self):
        """Waits until no claim is on its way: each waits, or is refused. No other client writes."""
        eventually("the claims wait", lambda: len(self.answers) + unanswered(self.placet) == len(self.threads))
        return self

    def wait(self):
        for thread in self.threads:
            thread.join(HANG_SECONDS)
        equal(len(self.answers), len(self.threads), "claims answered")
        return self

    def statuses(self):
        return sorted(answer.status for answer in self.answers.values())


def unanswered(placet):
    """The number of writes of all clients without an answer."""
    return scrape.read(placet.port).sum("placet_writer_queue_length")


def is_busy(answer):
    equal(answer.status, 503, answer)
    check(int(answer.headers["retry-after"]) >= 1, answer.headers)
    error = answer.json["errors"][0]
    equal(error["status"], 503)
    check("SQL" not in error["detail"] and error["detail"], error)


def check_reads(placet):
    """Reads are answered in a state that does not end by itself: one that waits for its end gets a 503."""
    for path in ("/", "/resource_providers", f"/resource_providers/{POOL}/usages", f"/allocations/{consumer(0)}",
                 "/allocation_candidates?resources=VCPU:1", "/traits"):
        equal(placet.rest("GET", path).status, 200, path)


def serving(**options):
    return {"placet": {name: str(value) for name, value in options.items()}}


def held(placet):
    ledger = Ledger(placet.database)
    equal(ledger.faults(), [])
    holders = set(ledger.holders(POOL))
    ledger.connection.close()
    return holders


@case("a lock held for less than commit_timeout: claims wait and are granted, and reads are served in between")
def a_short_lock():
    with folder() as here, Placet(here, serving(commit_timeout=SERVICE_SECONDS)) as placet:
        prepare(placet.rest)
        with write_lock(placet.database) as release:
            claims = Claims(placet, range(8)).are_waiting()
            check_reads(placet)
            time.sleep(1.5)
            equal(claims.answers, {}, "answers while another program held the lock")
            release()
            claims.wait()
        equal(claims.statuses(), [204] * 8)
        check(max(claims.took.values()) < IN_TIME_SECONDS, claims.took)
        equal(held(placet), {consumer(n) for n in range(8)})


@case("a lock held for longer than commit_timeout: claims are 503 with Retry-After in time, and are not stored later")
def a_long_lock():
    with folder() as here:
        with Placet(here, {}) as placet:
            prepare(placet.rest)
            placet.stop()
        with Placet(here, serving(commit_timeout=1)) as placet:
            refused_in_time(placet)
            for number in range(8):
                # On a busy machine a second may be too short.
                eventually(f"claim {number} is granted", lambda number=number: placet.rest(
                    "PUT", f"/allocations/{consumer(number)}", claim(HOSTS[number % 4])).status == 204)
            equal(held(placet), {consumer(n) for n in range(8)})


def refused_in_time(placet):
    with write_lock(placet.database):
        claims = Claims(placet, range(8))
        check_reads(placet)
        claims.wait()
        for answer in claims.answers.values():
            is_busy(answer)
        check_reads(placet)
    time.sleep(1)
    equal(held(placet), set(), "claims that were refused")
    late = max(claims.took.values())
    # Without the option they would wait for 10 s at least.
    check(late < 10, f"refused after {late:.1f} s, commit_timeout is 1 s")


@case("with a full queue further claims are refused at once with Retry-After, and queued ones are granted")
def a_full_queue():
    size = 4
    with folder() as here, Placet(here, serving(commit_timeout=SERVICE_SECONDS, queue_size=size)) as placet:
        prepare(placet.rest)
        with write_lock(placet.database) as release:
            claims = Claims(placet, range(40)).are_waiting()
            refused = dict(claims.answers)
            for answer in refused.values():
                is_busy(answer)
            check(max(claims.took[n] for n in refused) < IN_TIME_SECONDS, "refused late:", claims.took)
            # At most as many as may wait have left the queue for the first batch, which waits for the lock.
            check(size < len(claims.threads) - len(refused) <= 2 * size, len(refused), "claims were refused")
            check_reads(placet)
            release()
            claims.wait()
        granted = {n: answer for n, answer in claims.answers.items() if n not in refused}
        equal({answer.status for answer in granted.values()}, {204})
        equal(held(placet), {consumer(n) for n in granted})


@case("a start waits for a lock that another program holds")
def locked_at_start():
    with folder() as here:
        with Placet(here, {}) as placet:
            placet.stop()
        with sqlite3.connect(placet.database, isolation_level=None, check_same_thread=False) as other:
            other.execute("BEGIN IMMEDIATE")
            freed = []

            def free():
                freed.append(time.monotonic())
                other.rollback()

            timer = threading.Timer(1.5, free)
            timer.start()
            with Placet(here, {}) as again:
                check(freed, "the start did not wait")
                again.alive()
            timer.join(HANG_SECONDS)
        other.close()
