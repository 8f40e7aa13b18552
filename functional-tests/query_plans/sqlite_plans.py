"""Captures placet's statements for SQLite from the log. Each statement is executed again, and rolled back.

Versions of SQLite may plan differently. So run.py starts itself again with the version in placet (`preload`).
"""

import contextlib
import glob
import os
import pathlib
import re
import sqlite3
import subprocess
import sys
import tempfile

from functional_tests.lib.root import TARGET
from functional_tests.query_plans.judge import Access, Executed
from functional_tests.query_plans.log_tail import Tail

LOGGER = "placet::statements"  # the log target of each statement that placet sends
LINE = re.compile(rf" TRACE \[{LOGGER}\] (.*?)(?: -- binds: (\[.*\]))?$", re.M)
PLANNED = ("SELECT", "INSERT", "UPDATE", "DELETE", "WITH")
# SQLite's virtual machine takes about 10 steps for a row that it looks up, and at least 2 for a row of a table scan. It
# reports every hundredth step.
STEPS_OF_A_ROW, STEPS_OF_A_SCAN, REPORTED_STEPS = 10, 2, 100
BIND = re.compile(r'"((?:[^"\\]|\\.)*)"|(-?\d+(?:\.\d+)?(?:e-?\d+)?)(?=[,\])]|$)|(\d{4}-\d\d-\d\dT[\d:.]+)|(None)')


class Capture:
    """Captures everything that is sent from now on."""

    def __init__(self, _, database):
        self.database = database
        print(f"SQLite {sqlite3.sqlite_version} plans the statements", flush=True)

    def follow(self, services):
        (service,) = services
        self.log = Tail(service.folder / "log")

    def taken(self, more=()):
        """The statements since the last call, and those in `more`."""
        sent = [(sql, binds) for sql, binds in LINE.findall(self.log.read()) if sql.startswith(PLANNED)]
        with contextlib.closing(self.database.connect()) as connection:
            for sql, binds in dict.fromkeys([*sent, *((sql, "") for sql in more)]):
                yield Executed(sql, *explain(connection.inner, sql, values(binds)))


def values(binds):
    """The values of a statement, as diesel writes them."""
    found = []
    for text, number, time, none in BIND.findall(binds):
        if none:
            found.append(None)
        elif number:
            found.append(float(number) if "." in number or "e" in number else int(number))
        else:
            found.append(time.replace("T", " ") or re.sub(r"\\(.)", r"\1", text))
    return found


def explain(connection, sql, binds):
    """How a statement reads its tables, and about how many rows it examines."""
    plan = [row[3] for row in connection.execute(f"EXPLAIN QUERY PLAN {sql}", binds)]
    steps = 0

    def count_steps():
        nonlocal steps
        steps += REPORTED_STEPS

    connection.execute("BEGIN")
    connection.set_progress_handler(count_steps, REPORTED_STEPS)
    try:
        connection.execute(sql, binds).fetchall()
    except sqlite3.IntegrityError:
        pass  # placet has executed it before
    finally:
        connection.set_progress_handler(None, 0)
        connection.execute("ROLLBACK")
    read = [access for step in plan for access in accesses(connection, sql, step, steps // STEPS_OF_A_SCAN)]
    return read, steps // STEPS_OF_A_ROW


def accesses(connection, sql, step, rows):
    match = re.match(r"(SCAN|SEARCH) (\w+)", step)
    if not match:
        return
    named = re.search(rf"\b(?:FROM|JOIN)\s+[`\"]?(\w+)[`\"]?\s+{match[2]}\b", sql)
    table = named[1] if named else match[2]
    there = connection.execute("SELECT 1 FROM sqlite_master WHERE name = ? AND type = 'table'", [table]).fetchone()
    if there:
        (size,) = connection.execute(f"SELECT count(*) FROM {table}").fetchone()
        # A scan that ends early, or never begins, examines fewer rows.
        yield Access(table, match[1] == "SCAN", min(size, rows) if match[1] == "SCAN" else 0)


def preload():
    """Starts this program again with the SQLite that was built into placet, if its library is in the target folder."""
    if os.environ.pop("LD_PRELOAD", None):
        return
    libraries = sorted(glob.glob(f"{TARGET}/debug/build/libsqlite3-sys-*/out/libsqlite3.a"), key=os.path.getmtime)
    if libraries:
        made = pathlib.Path(tempfile.gettempdir(), f"placet-sqlite-{os.getpid()}.so")
        subprocess.run(["cc", "-shared", "-o", made, "-Wl,--whole-archive", libraries[-1], "-Wl,--no-whole-archive", "-lm"],
                       check=True)
        environment = os.environ | {"LD_PRELOAD": str(made)}
        try:
            sys.exit(subprocess.call([sys.executable, "-m", "functional_tests.query_plans.run", *sys.argv[1:]], env=environment))
        finally:
            made.unlink()
