"""The database file is removed, replaced, truncated or overwritten while placet serves: nothing is written any more."""

import contextlib
import itertools
import os
import re
import shutil
import sqlite3
import time

from functional_tests.lib.patience import HANG_SECONDS, eventually
from functional_tests.process.backups import options
from functional_tests.process.cases import case, check, equal, folder
from functional_tests.process.claims import HOSTS, POOL, claim, prepare
from functional_tests.process.locked import consumer, is_busy, serving
from functional_tests.process.placet_process import Placet, refused, run
from functional_tests.process.read_only import database_variables

GRANTED = 4
COMMIT_TIMEOUT_SECONDS = 10  # placet's default


def log_of(database):
    return database.with_name(f"{database.name}-wal")


def put(placet, number):
    return placet.rest("PUT", f"/allocations/{consumer(number)}", claim(HOSTS[number % 4]))


def claims_are_refused(placet, numbers=range(10, 20)):
    for number in numbers:
        began = time.monotonic()
        is_busy(put(placet, number))
        check(time.monotonic() - began < COMMIT_TIMEOUT_SECONDS / 2, "refused late")


def errors(placet, text):
    return [line for line in placet.log().splitlines() if " ERROR [placet::db::file" in line and text in line]


def serve_and_lose(lose, then):
    """Serves a database with claims, calls `lose` with its path, and then `then` with the process."""
    with folder() as here, Placet(here, serving(comparison_interval=0)) as placet:
        prepare(placet.rest)
        for number in range(GRANTED):
            equal(put(placet, number).status, 204)
        # Opens a connection of the pool, which keeps the old file open.
        equal(placet.rest("GET", f"/resource_providers/{POOL}/usages").json["usages"], {"DISK_GB": GRANTED})
        lose(placet.database)
        then(placet)


def reads_show_no_mix(placet):
    """Rows are those of the served file or 503, and searches are answered from memory."""
    for _ in range(20):
        answer = placet.rest("GET", f"/resource_providers/{POOL}/usages")
        if answer.status != 503:
            equal(answer.json["usages"], {"DISK_GB": GRANTED})
        equal(len(placet.rest("GET", "/resource_providers").json["resource_providers"]), 5)


def is_lost(placet):
    claims_are_refused(placet)
    reads_show_no_mix(placet)
    is_busy(placet.rest("GET", f"/resource_providers/{POOL}/usages"))
    lines = errors(placet, "removed or replaced")
    equal(len(lines), 1, placet.log()[-3000:])
    return lines[0]


def every_claim_is_stored(here):
    with Placet(here, {}) as placet:
        used = placet.rest("GET", f"/resource_providers/{POOL}/usages").json["usages"]["DISK_GB"]
        # One more may have been committed before the loss was noticed. Its answer was 503 with an unknown outcome.
        check(used in (GRANTED, GRANTED + 1), f"{used} claims are stored, and {GRANTED} were acknowledged")
        equal(placet.rest("GET", f"/allocations/{consumer(GRANTED - 1)}").json["project_id"], "p")
        equal(put(placet, 50).status, 204)
        placet.stop()


def is_saved_by_hand(placet):
    """What the line of the log says: both files are copied from the process, and restored."""
    line = is_lost(placet)
    process, file, log = re.search(r"/proc/(\d+)/fd/(\d+) to NEW, and /proc/\1/fd/(\d+) to NEW-wal", line).groups()
    new = placet.folder / "new"
    shutil.copy(f"/proc/{process}/fd/{file}", new)
    shutil.copy(f"/proc/{process}/fd/{log}", log_of(new))
    placet.stop()
    equal(run(placet.folder, "db", "restore", new, extra=options(placet.database)).code, 0)
    every_claim_is_stored(placet.folder)


@case("files that are removed: no claim is granted any more, and a line of the log says how to save every row")
def removed():
    def remove(database):
        for each in database.parent.glob(f"{database.name}*"):
            each.unlink()
    serve_and_lose(remove, is_saved_by_hand)
    serve_and_lose(os.unlink, is_saved_by_hand)


@case("a log that is removed: its rows are copied into the file, no claim is granted any more, and a start has every row")
def log_removed():
    def then(placet):
        line = is_lost(placet)
        check(f"Every row is in {placet.database}. Stop placet" in line, line)
        placet.stop()
        every_claim_is_stored(placet.folder)
    serve_and_lose(lambda database: os.unlink(log_of(database)), then)


@case("a log that is removed while another program reads: its rows are copied into the file at the stop")
def log_removed_beside_a_reader():
    with folder() as here, Placet(here, serving(comparison_interval=0)) as placet:
        prepare(placet.rest)
        with contextlib.closing(sqlite3.connect(placet.database, isolation_level=None)) as other:
            other.execute("BEGIN")
            other.execute("SELECT COUNT(*) FROM allocations").fetchone()
            for number in range(GRANTED):
                equal(put(placet, number).status, 204)
            equal(placet.rest("GET", f"/resource_providers/{POOL}/usages").json["usages"], {"DISK_GB": GRANTED})
            os.unlink(log_of(placet.database))
            line = is_lost(placet)
            check("copy the files that it still has open" in line, line)
            other.execute("COMMIT")
        placet.stop()
        every_claim_is_stored(here)


@case("another database moved over the file: no claim is granted, no read shows it, and it stays as it was")
def replaced():
    with folder() as other:
        with Placet(other, {}) as placet:
            placet.rest.must("POST", "/resource_providers", {"name": "of the other database"})
            placet.stop()
        content = placet.database.read_bytes()
        path = placet.database

        def then(placet):
            check("restore a backup" in is_lost(placet), "it does not say what to do")
            placet.stop()
            equal(placet.database.read_bytes(), content, "the other database")
            # The log beside it is still the lost file's.
            line = refused(placet.folder, extra=database_variables(placet.database) | {"OS_API__AUTH_STRATEGY": "noauth2"})
            check("is not that of" in line, line)

        serve_and_lose(lambda database: os.rename(path, database), then)


@case("a replaced file is noticed even without a request")
def noticed_when_idle():
    def then(placet):
        eventually(lambda: f"it is noticed: {placet.log()[-2000:]}", lambda: errors(placet, "removed or replaced"))
    serve_and_lose(os.unlink, then)


def is_damaged(placet):
    """The damage is noticed, and then no claim is granted."""
    numbers = itertools.count(100)

    def is_noticed():
        put(placet, next(numbers))
        check(not errors(placet, "removed or replaced"), "it is taken for another file:", placet.log()[-2000:])
        return errors(placet, "is damaged")

    eventually(lambda: f"it is noticed: {placet.log()[-2000:]}", is_noticed, pause=0)
    claims_are_refused(placet)
    equal(len(errors(placet, "is damaged")), 1, placet.log()[-3000:])
    check("restore it from a backup" in errors(placet, "is damaged")[0], "it does not say what to do")
    reading = placet.rest("GET", f"/resource_providers/{POOL}/usages").status
    check(reading in (200, 503), reading)
    placet.stop()


@case("a file or a log that is truncated or overwritten: the damage is noticed, and no claim is granted after that")
def damaged():
    def garbage(path):
        with open(path, "r+b") as file:
            file.write(os.urandom(20_000))

    def cut_before_another_program_opens(database):
        os.truncate(database, 0)
        # SQLite removes the log of an empty file when a connection opens the file.
        with contextlib.closing(sqlite3.connect(database)) as other:
            equal(other.execute("SELECT COUNT(*) FROM sqlite_master").fetchone(), (0,))
        check(not log_of(database).exists(), "SQLite left the log")

    for damage in (lambda database: os.truncate(database, 0), cut_before_another_program_opens, garbage,
                   lambda database: os.truncate(log_of(database), 0),
                   lambda database: garbage(log_of(database)),
                   lambda database: (garbage(database), garbage(log_of(database)))):
        serve_and_lose(damage, is_damaged)


@case("a file that another program shortens by VACUUM is not taken for damaged")
def vacuumed():
    with folder() as here, Placet(here, {}) as placet:
        prepare(placet.rest)
        for number in range(40):
            placet.rest.must("POST", "/resource_providers", {"name": f"{number} {'x' * 180}"})
        other = sqlite3.connect(placet.database, isolation_level=None, timeout=HANG_SECONDS)
        for _ in range(5):
            other.execute("CREATE TABLE strangers (text BLOB)")
            other.execute("INSERT INTO strangers VALUES (zeroblob(8000000))")
            other.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            other.execute("DROP TABLE strangers")
            other.execute("VACUUM")
            other.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            time.sleep(0.5)
        other.close()
        time.sleep(2)
        equal(put(placet, 1).status, 204)
        equal([line for line in placet.log().splitlines() if " ERROR " in line], [])
        placet.stop()
