"""At an upgrade the package restarts the service if and only if the new program can serve the present database.

systemd is a small program that writes down its calls, and knows the number of the serving process.
"""

import re
import sqlite3

from functional_tests.lib.patience import HANG_SECONDS
from functional_tests.lib.root import ROOT
from functional_tests.packaging.private_root import INSTALL, served

CONF = "etc/placet/placement.conf"
DATABASE = "var/lib/placet/placet.sqlite"
CALLS = "run/systemctl.calls"
SYSTEMCTL = """#!/bin/sh
echo "$*" >>/run/systemctl.calls
[ "$1" != show ] || echo {process}
"""
RESTART = "systemctl restart placet"


def before_migration():
    """SQL that undoes the newest migration, which thereby is a migration that the new version brings."""
    newest = (ROOT / "migrations/placet.sql").read_text().rpartition("\n-- migration ")[2]
    newest = re.sub(r"/\*M?!.*?\*/ ", "", newest)
    tables = [f"DROP TABLE {table};" for table in re.findall(r"^CREATE TABLE (\w+)", newest, re.MULTILINE)]
    columns = [f"ALTER TABLE {table} DROP COLUMN {column};"
               for table, column in re.findall(r"^ALTER TABLE (\w+) ADD COLUMN (\w+)", newest, re.MULTILINE)]
    assert tables or columns, newest
    return "".join([*tables, *columns, f"DELETE FROM placet_migrations WHERE version = '{newest[:4]}';"])


def with_systemd(root, process):
    """Makes the scripts of the package believe that systemd runs, with this process as the service."""
    (root.path / "run/systemd/system").mkdir(parents=True, exist_ok=True)
    program = root.path / "usr/bin/systemctl"
    program.unlink(missing_ok=True)
    program.write_text(SYSTEMCTL.format(process=process))
    program.chmod(0o755)


def upgrade(root):
    """What an upgrade says, and whether it restarts the service."""
    (root.path / CALLS).unlink(missing_ok=True)
    said = root.run(*INSTALL)
    calls = (root.path / CALLS).read_text().splitlines()
    assert "daemon-reload" in calls, calls
    return said, any(re.fullmatch(r"(try-)?restart placet(\.service)?", call) for call in calls)


def without_restart(root, rest, *reasons):
    """An upgrade that leaves the old process alone, says why, and which commands lead on; returns these."""
    said, restarted = upgrade(root)
    assert not restarted, f"it has restarted the service:\n{said}"
    for reason in reasons:
        assert reason in said, f"{reason!r} is not in:\n{said}"
    rest.must("GET", "/resource_providers")
    return [line.strip() for line in said.splitlines() if line.startswith("    ")]


def check(root, host):
    with served(root) as rest:
        with_systemd(root, rest.process)
        said, restarted = upgrade(root)
        assert restarted and "db sync" not in said, said

        kept = (root.path / CONF).read_text()
        assert "sync_on_startup = true" in kept
        (root.path / CONF).write_text(kept.replace("sync_on_startup = true", "sync_on_startup = false"))
        with sqlite3.connect(root.path / DATABASE, timeout=HANG_SECONDS) as connection:
            connection.executescript(before_migration())
        connection.close()
        commands = without_restart(root, rest, "the database lacks tables")
        assert commands == [f"placet --config-file=/{CONF} db sync", RESTART], commands
        rest.must("GET", f"/resource_providers/{host}")
        root.run("sh", "-c", commands[0])
        said, restarted = upgrade(root)
        assert restarted, f"after its own command it does not restart the service:\n{said}"
        assert root.mode(DATABASE).startswith("placet placet"), root.mode(DATABASE)

        (root.path / CONF).write_text(kept + "no_number = 1\nworkers = many\n")
        commands = without_restart(root, rest, "workers")
        assert commands[-1] == RESTART, commands
        (root.path / CONF).write_text(kept)
    with_systemd(root, 0)
    said, restarted = upgrade(root)
    assert not restarted and RESTART not in said, f"a service that does not run:\n{said}"
