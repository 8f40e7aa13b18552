"""Concurrent syncs of one database by several programs; and placet's status check compared with OpenStack Placement's.

    python -m functional_tests.syncs.run [--engine ENGINE] [--binary PATH]
"""

import contextlib
import pathlib
import re
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor

import os_resource_classes
import os_traits

from functional_tests.lib import command_line, engines, forked, live
from functional_tests.lib.patience import HANG_SECONDS
from functional_tests.lib.rest import Rest
from functional_tests.lib.tables.contents import contents
from functional_tests.lib.tables.shapes import shape
from functional_tests.lib.test_counts import TestCounts
from functional_tests.revisions.run import HEAD, SCHEMA_REVISIONS, Suite, Tool



class Concurrent(Suite):
    def run(self):
        self.theirs = Tool("upstream", None, self.tool.folder)
        self.at(HEAD)
        self.at(SCHEMA_REVISIONS[0])
        for start in ("nothing", SCHEMA_REVISIONS[0]):
            self.tests.step(f"two services sync concurrently at start, from {start}", self.services, start)
            for pause in (0.0, 0.3, 1.0):
                self.tests.step(f"placet's sync {pause} s after the begin of OpenStack Placement's, from {start}",
                                self.both_tools, start, pause)
        if self.engine.dialect == "mariadb":
            self.tests.step("placet's sync accepts tables that OpenStack Placement made concurrently",
                            self.made_concurrently)
        self.tests.step("a database with several schema revisions is refused until it is stamped",
                        self.several_revisions)
        self.tests.step("status upgrade check: success", self.status, 0, {})
        self.tests.step("status upgrade check: missing consumers", self.status, 1, {"missing": True})
        self.tests.step("status upgrade check: null roots", self.status, 2, {"null_roots": True, "missing": True})
        self.tests.step("status upgrade check: a policy file in JSON", self.status, 2, {}, "{}")
        self.tests.step("status upgrade check: a database without tables", self.status_of_nothing)

    def begin(self, start):
        """A new database, empty or of the schema revision `start`, and its rows."""
        return (self.engine.create(), {}) if start == "nothing" else self.at(start)

    def services(self, start):
        """Both services sync the same database. On SQLite one serves it, and the other is refused."""
        database, before = self.begin(start)
        services = [live.Service("placet", binary=self.tool.binary, database=database) for _ in range(2)]
        with contextlib.ExitStack() as stack, ThreadPoolExecutor() as pool:
            futures = [pool.submit(stack.enter_context, service) for service in services]
            refused = [str(future.exception()) for future in futures if future.exception()]
            assert len(refused) == (1 if self.engine.kind == "sqlite" else 0), refused
            assert all("another placet serves the database" in line for line in refused), refused
            statuses = [Rest(service.port)("GET", "/resource_classes").status
                        for service in services if service.process]
            assert statuses == [200] * (2 - len(refused)), statuses
        self.check_upgraded(database, before, set(os_traits.get_traits()) | set(os_resource_classes.STANDARDS))

    def both_tools(self, start, pause):
        """If one of the tools fails, the database is complete, or the next sync completes it."""
        database, before = self.begin(start)
        config = self.theirs.config(database)
        with open(config.parent / "output", "w+b") as output:
            theirs = forked.start(forked.OPENSTACK_PLACEMENT, "functional_tests.revisions.upgrade:slow",
                                  ["upgrade", config, "head"], output, output, config.parent, live.clean_environment())
            wait_for(lambda: theirs.poll() is not None or self.begun(database, start))
            time.sleep(pause)
            ours = self.tool.run(database, "db", "sync")
            theirs.wait(HANG_SECONDS)
            errors = (config.parent / "output").read_text()
        print(f"        placet ended with {ours[0]}, OpenStack Placement with {theirs.returncode}", flush=True)
        assert "panicked" not in ours[2] and ours[0] in (0, 1), ours
        assert ours[0] == 0 or ours[2].count("placet: ") == 1, ours
        code, out, err = self.tool.run(database, "db", "sync")
        assert code == 0, f"{out} {err}\nbefore: {ours}\nOpenStack Placement: {errors[-1000:]}"
        self.check_upgraded(database, before)

    def begun(self, database, start):
        """Whether OpenStack Placement's tool has begun to alter the schema."""
        if self.engine.dialect == "postgresql":  # what it alters is invisible before it is committed
            return database.query("SELECT COUNT(*) FROM pg_stat_activity WHERE datname = current_database()"
                                  " AND backend_xid IS NOT NULL")[0][0] > 0
        tables = shape(database)
        return bool(tables) if start == "nothing" else "consumer_types" in tables

    def made_concurrently(self):
        """The state in which OpenStack Placement's tool was faster with some tables, and then failed."""
        database = self.engine.create(self.empty[SCHEMA_REVISIONS[0]])
        for sql in ("DELETE FROM alembic_version", "DROP TABLE inventories", "DROP TABLE resource_provider_aggregates",
                    # placet makes this table first.
                    "CREATE TABLE placet_migrations (version VARCHAR(50) NOT NULL, run_at DATETIME(6) NOT NULL,"
                    " PRIMARY KEY (version))"):
            database.run(sql)
        code, out, err = self.tool.run(database, "db", "sync")
        assert code == 0, out + err
        self.check_upgraded(database, {})

    def several_revisions(self):
        """Every command refuses several schema revisions, and names `db stamp`, which removes all but one."""
        database, before = self.at(HEAD)
        database.run("INSERT INTO alembic_version (version_num) VALUES (?)", [SCHEMA_REVISIONS[2]])
        for words in (("db", "sync"), ("db", "version")):
            code, _, err = self.tool.run(database, *words)
            assert code == 1, f"{code} {err}"
            hint = rf"{re.escape(self.tool.command('X')[0])} --config-file /\S+/placement\.conf db stamp REVISION"
            assert HEAD in err and SCHEMA_REVISIONS[2] in err and re.search(hint, err), err
        self.check_not_served(database, contents(database), HEAD, SCHEMA_REVISIONS[2])
        for words in (("db", "stamp", "head"), ("db", "sync")):
            code, out, err = self.tool.run(database, *words)
            assert code == 0, out + err
        self.check_upgraded(database, before)

    def status(self, code, variant, policy=None):
        database, _ = self.at(SCHEMA_REVISIONS[0] if "null_roots" in variant else HEAD, **variant)
        self.compare(database, code, policy)

    def status_of_nothing(self):
        """Neither tool can make its checks."""
        self.compare(self.engine.create(), 255)

    def compare(self, database, code, policy=None):
        """Compares exit codes and tables. Each tool names its own command, and wraps lines accordingly."""
        folder = pathlib.Path(tempfile.mkdtemp(dir=self.engine.folder))
        options = {"oslo_policy": {"policy_file": str(folder / "policy")}}
        if policy:
            (folder / "policy").write_text(policy)
        config = live.write_config(folder, options, database)
        ours, theirs = (tool.run_command(config, "status", "upgrade", "check") for tool in (self.tool, self.theirs))
        assert (ours.returncode, theirs.returncode) == (code, code), f"{ours}\n{theirs}"
        if code == 255:
            return
        if "placement-manage" not in theirs.stdout:
            assert ours.stdout == theirs.stdout, f"{ours.stdout}\n{theirs.stdout}"
        assert flat(ours.stdout) == flat(theirs.stdout).replace("placement-manage db", "placet db"), ours.stdout
        assert len({len(line) for line in ours.stdout.splitlines()}) == 1, f"lines differ in length:\n{ours.stdout}"


def flat(table):
    """The words of a table, in order."""
    return " ".join(word for word in table.replace("|", " ").split() if not word.startswith("+-"))


def wait_for(holds):
    end = time.monotonic() + HANG_SECONDS
    while not holds():
        assert time.monotonic() < end, "the condition did not become true in time"
        time.sleep(0.01)


def main():
    parser = command_line.parser(__doc__, "--binary", "--engine")
    arguments = parser.parse_args()
    tests = TestCounts()
    with engines.Engine(arguments.engine) as engine:
        Concurrent(tests, Tool("placet", arguments.binary, engine.folder), engine).run()
    tests.finish()


if __name__ == "__main__":
    main()
