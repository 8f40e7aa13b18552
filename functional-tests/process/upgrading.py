"""A database migrated by a newer placet: work that goes on, refusals, and the way back of docs/upgrading.md."""

import re
import sqlite3

from functional_tests.lib.patience import HANG_SECONDS
from functional_tests.lib.root import ROOT
from functional_tests.process.cases import case, check, equal, folder
from functional_tests.process.claims import HOSTS, claim, prepare
from functional_tests.process.locked import consumer, held, serving
from functional_tests.process.placet_process import Placet, refused, run

FUTURE = """
CREATE TABLE placet_future (id INTEGER NOT NULL PRIMARY KEY);
INSERT INTO placet_migrations (version, run_at) VALUES ('9999', '2036-01-01 00:00:00');
"""


def execute(placet, script):
    with sqlite3.connect(placet.database, timeout=HANG_SECONDS) as connection:
        connection.executescript(script)
    connection.close()


def dropped_tables():
    """The tables that the page's way back removes."""
    page = (ROOT / "docs/upgrading.md").read_text()
    return re.split(r",\s+", re.search(r"^    DROP TABLE ([^;]*);$", page, re.MULTILINE)[1])


@case("a process goes on while a newer placet migrates; the older one is then refused at start, until its way back is gone")
def way_back():
    with folder() as here:
        with Placet(here, serving()) as placet:
            prepare(placet.rest)
            execute(placet, FUTURE)
            answer = placet.rest("PUT", f"/allocations/{consumer(0)}", claim(HOSTS[0]))
            equal(answer.status, 204, "a claim after the migration", answer)
            placet.stop()
        config = here / "placement.conf"
        for command in (("serve", "--bind", "127.0.0.1:0"), ("db", "sync")):
            line = refused(here, "--config-file", config, *command)
            check("a newer placet has migrated the database: migration 9999" in line, line)
        execute(placet, "".join(f"DROP TABLE {name};" for name in [*dropped_tables(), "placet_future"]))
        equal(run(here, "--config-file", config, "db", "sync").code, 0)
        with Placet(here, serving()) as placet:
            equal(held(placet), {consumer(0)})
            equal(placet.rest("PUT", f"/allocations/{consumer(1)}", claim(HOSTS[0])).status, 204)
            equal(placet.rest("PUT", f"/allocations/{consumer(0)}", claim(HOSTS[0])).status, 409, "the claim once more")
            placet.stop()


@case("docs/upgrading.md drops every table of placet's own that this version makes")
def all_tables():
    with folder() as here, Placet(here, serving()) as placet:
        with sqlite3.connect(placet.database) as connection:
            rows = connection.execute("SELECT name FROM sqlite_master WHERE type = 'table' AND name LIKE 'placet_%'")
            equal(sorted(name for name, in rows), sorted(dropped_tables()))
        placet.stop()
