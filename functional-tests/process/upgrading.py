"""A database migrated by a newer placet: work that goes on, refusals, and the way back of docs/upgrading.md."""

import sqlite3

from functional_tests.lib.patience import HANG_SECONDS
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


def tables(placet):
    """The names of all tables: placet's own, and all others."""
    with sqlite3.connect(placet.database) as connection:
        names = [name for name, in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
    connection.close()
    own = {name for name in names if name.startswith("placet_")}
    return own, set(names) - own


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
        equal(run(here, "--config-file", config, "db", "drop").code, 0)
        equal(run(here, "--config-file", config, "db", "sync").code, 0)
        with Placet(here, serving()) as placet:
            equal(held(placet), {consumer(0)})
            equal(placet.rest("PUT", f"/allocations/{consumer(1)}", claim(HOSTS[0])).status, 204)
            equal(placet.rest("PUT", f"/allocations/{consumer(0)}", claim(HOSTS[0])).status, 409, "the claim once more")
            placet.stop()


@case("`db drop` drops every table of placet's own and no other, and is refused while placet serves")
def own_tables_dropped():
    with folder() as here:
        with Placet(here, serving()) as placet:
            own, others = tables(placet)
            check(own and others, own, others)
            line = refused(here, "--config-file", here / "placement.conf", "db", "drop")
            check("another placet serves the database" in line, line)
            equal(tables(placet), (own, others))
            placet.stop()
        dropped = run(here, "--config-file", here / "placement.conf", "db", "drop")
        equal((dropped.code, f"{len(own)} tables" in dropped.out), (0, True), dropped)
        equal(tables(placet), (set(), others))
