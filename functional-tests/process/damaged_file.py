"""A database file with overwritten pages: placet says what is wrong, and does no further damage."""

import os
import sqlite3
import time

from functional_tests.lib.patience import IN_TIME_SECONDS, SERVICE_SECONDS
from functional_tests.process.backups import options
from functional_tests.process.cases import case, check, equal, folder
from functional_tests.process.claims import HOSTS, claim
from functional_tests.process.locked import consumer, is_busy, serving
from functional_tests.process.placet_process import Placet, refused
from functional_tests.process.read_only import database_with_claims

ADVICE = "restore it from a backup"


def readable_rows(path):
    """The rows of the tables that clients write; for an unreadable table, the error."""
    found = {}
    connection = sqlite3.connect(path)
    for table in ("allocations", "consumers", "projects", "users", "inventories"):
        try:
            found[table] = connection.execute(f"SELECT * FROM {table}").fetchall()
        except sqlite3.DatabaseError as error:
            found[table] = str(error)
    connection.close()
    return found


def root_page(path, name):
    """The number of the first page of a table or index, and the page size in bytes."""
    connection = sqlite3.connect(path)
    (page,) = connection.execute("SELECT rootpage FROM sqlite_master WHERE name = ?", [name]).fetchone()
    (length,) = connection.execute("PRAGMA page_size").fetchone()
    connection.close()
    return page, length


def overwrite(path, name):
    page, length = root_page(path, name)
    overwrite_page(path, page, length)


def overwrite_page(path, page, length):
    with open(path, "r+b") as file:
        file.seek((page - 1) * length)
        file.write(b"\xa5" * length)


def is_refused(here, path):
    """`serve` refuses the file in one line that says what to do, and the readable rows stay as they were."""
    before = readable_rows(path)
    line = refused(here, extra=options(path), is_mistake=False)
    check(ADVICE in line, "it does not say what to do:", line)
    check("malformed" in line or "not a database" in line, line)
    equal(readable_rows(path), before, "readable rows")


@case("a truncated file, or one with an overwritten page, is refused in one line that says what to do")
def damaged_at_start():
    with folder() as here:
        whole = database_with_claims(here).read_bytes()
        path = here / "damaged.sqlite"
        for damage in (
                lambda: overwrite_page(path, 1, 4096),
                lambda: overwrite(path, "resource_providers"),
                lambda: overwrite(path, "inventories"),
                lambda: overwrite(path, "placet_writers"),
                lambda: os.truncate(path, len(whole) // 4096 // 2 * 4096)):
            path.write_bytes(whole)
            damage()
            is_refused(here, path)


@case("a page overwritten while placet serves: requests that need it are 503 and logged, all others are served")
def damaged_while_serving():
    with folder() as here:
        path = database_with_claims(here)
        with Placet(here, serving(commit_timeout=SERVICE_SECONDS)) as placet:
            # This table is not read at the start, so no connection has its page in its cache.
            overwrite(path, "consumers")
            is_busy(placet.rest("GET", f"/allocations/{consumer(0)}"))
            for number in range(20, 24):
                began = time.monotonic()
                answer = placet.rest("PUT", f"/allocations/{consumer(number)}", claim(HOSTS[0]))
                is_busy(answer)
                check("Nothing was changed" in str(answer), answer)
                check(time.monotonic() - began < IN_TIME_SECONDS, "refused late")
            for unaffected in ("/resource_providers", "/allocation_candidates?resources=VCPU:1", "/traits",
                               f"/resource_providers/{HOSTS[0]}/usages"):
                equal(placet.rest("GET", unaffected).status, 200, unaffected)
            lines = [line for line in placet.log().splitlines() if " ERROR " in line and ADVICE in line]
            check(len(lines) >= 5, "the log does not say what to do:", placet.log()[-3000:])
            placet.stop()
        connection = sqlite3.connect(path)
        equal(connection.execute("SELECT COUNT(*), SUM(used) FROM allocations").fetchone(), (16, 16), "allocations")
        connection.close()
