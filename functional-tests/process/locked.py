"""Another program holds the database's write lock: claims wait as long as they may, and reads do not."""

import contextlib
import sqlite3
import threading
import time

from functional_tests.lib.ledger import Ledger
from functional_tests.process.cases import case, check, equal, folder
from functional_tests.process.claims import HOSTS, POOL, claim, prepare
from functional_tests.process.placet_process import Placet

SLACK_SECONDS = 1.0


def consumer(number):
    return f"{number:08x}-0000-4000-8000-0000000000cc"


@contextlib.contextmanager
def write_lock(database):
    """Held until `release` is called or the end."""
    connection = sqlite3.connect(database, timeout=10, isolation_level=None)
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield connection.rollback
    finally:
        connection.rollback()
        connection.close()


class Claims:
    """Claims of their own threads: answers and how long each took."""

    def __init__(self, placet, numbers):
        self.placet, self.took, self.answers = placet, {}, {}
        self.threads = [threading.Thread(target=self._claim, args=(n,)) for n in numbers]
        for thread in self.threads:
            thread.start()

    def _claim(self, number):
        began = time.monotonic()
        self.answers[number] = self.placet.rest("PUT", f"/allocations/{consumer(number)}", claim(HOSTS[number % 4]))
        self.took[number] = time.monotonic() - began

    def wait(self):
        for thread in self.threads:
            thread.join(40)
        equal(len(self.answers), len(self.threads), "claims answered")
        return self

    def statuses(self):
        return sorted(answer.status for answer in self.answers.values())


def is_busy(answer):
    equal(answer.status, 503, answer)
    check(int(answer.headers["retry-after"]) >= 1, answer.headers)
    error = answer.json["errors"][0]
    equal(error["status"], 503)
    check("SQL" not in error["detail"] and error["detail"], error)


def reads_go_on(placet):
    for path in ("/", "/resource_providers", f"/resource_providers/{POOL}/usages", f"/allocations/{consumer(0)}",
                 "/allocation_candidates?resources=VCPU:1", "/traits"):
        began = time.monotonic()
        equal(placet.rest("GET", path).status, 200, path)
        check(time.monotonic() - began < 1, f"GET {path} took {time.monotonic() - began:.1f} s")


def serving(**options):
    return {"placet": {name: str(value) for name, value in options.items()}}


def held(placet):
    ledger = Ledger(placet.database)
    equal(ledger.faults(), [])
    holders = set(ledger.holders(POOL))
    ledger.connection.close()
    return holders


@case("a lock held for less than commit_timeout: claims wait and are granted, reads go on meanwhile")
def a_short_lock():
    with folder() as here, Placet(here, serving(commit_timeout=10)) as placet:
        prepare(placet.rest)
        with write_lock(placet.database) as release:
            claims = Claims(placet, range(8))
            time.sleep(0.3)
            reads_go_on(placet)
            time.sleep(1.5)
            equal(claims.answers, {}, "answered while another one held the lock:")
            release()
            claims.wait()
        equal(claims.statuses(), [204] * 8)
        check(min(claims.took.values()) > 1.5 and max(claims.took.values()) < 2.5 + SLACK_SECONDS, claims.took)
        equal(held(placet), {consumer(n) for n in range(8)})


@case("a lock held for longer than commit_timeout: 503 with Retry-After in time, and nothing of it comes later")
def a_long_lock():
    with folder() as here, Placet(here, serving(commit_timeout=2)) as placet:
        prepare(placet.rest)
        with write_lock(placet.database):
            claims = Claims(placet, range(8))
            time.sleep(1)
            reads_go_on(placet)
            claims.wait()
            for answer in claims.answers.values():
                is_busy(answer)
            reads_go_on(placet)
        time.sleep(1)
        equal(held(placet), set(), "claims that were refused")
        late = max(claims.took.values())
        # commit_timeout bounds the wait for one's turn, and then the tries to commit.
        check(late < 2 * 2 + SLACK_SECONDS, f"refused after {late:.1f} s, commit_timeout is 2 s")
        equal(Claims(placet, range(8)).wait().statuses(), [204] * 8)
        equal(held(placet), {consumer(n) for n in range(8)})


@case("a full queue refuses at once with Retry-After, and what waits in it is carried out")
def a_full_queue():
    size = 4
    with folder() as here, Placet(here, serving(commit_timeout=10, queue_size=size)) as placet:
        prepare(placet.rest)
        with write_lock(placet.database) as release:
            first = Claims(placet, [0])
            time.sleep(0.3)  # the writer has taken it, and waits for the lock
            waiting = Claims(placet, range(1, 1 + size))
            time.sleep(0.3)
            excess = Claims(placet, range(20, 40)).wait()
            for answer in excess.answers.values():
                is_busy(answer)
            check(max(excess.took.values()) < 1, "not at once:", excess.took)
            reads_go_on(placet)
            release()
            equal(first.wait().statuses() + waiting.wait().statuses(), [204] * (1 + size))
        equal(held(placet), {consumer(n) for n in range(1 + size)})


@case("a lock held at the start is waited for")
def locked_at_start():
    with folder() as here:
        with Placet(here, {}) as placet:
            placet.stop()
        with sqlite3.connect(placet.database, isolation_level=None, check_same_thread=False) as other:
            other.execute("BEGIN IMMEDIATE")
            timer = threading.Timer(1.5, other.rollback)
            timer.start()
            began = time.monotonic()
            with Placet(here, {}) as again:
                check(time.monotonic() - began > 1, "it did not wait, and nothing was proven")
                again.alive()
            timer.join(10)
        other.close()
