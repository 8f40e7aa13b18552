"""Upgrades of databases of every schema revision: the tools upgrade each to the newest schema, and no row is lost.

    python -m functional_tests.revisions.run [--tool placet|upstream] [--engine ENGINE] [--binary PATH]

Each database is made by OpenStack Placement's own migrations. With `--tool upstream` its placement-manage and
placement-status are tested instead of placet, which shows that the expectations are right. The state after a refused
upgrade differs: placet undoes all steps. OpenStack Placement does so on PostgreSQL only, and elsewhere keeps the steps
before the refused one.
"""

import pathlib
import re
import subprocess
import sys
import tempfile

from functional_tests.lib import command_line, engines, forked, live
from functional_tests.lib.patience import HANG_SECONDS
from functional_tests.lib.rest import Rest
from functional_tests.lib.tables.contents import changed, contents, unexplained
from functional_tests.lib.tables.shapes import differences, shape
from functional_tests.lib.test_counts import TestCounts

SCHEMA_REVISIONS = ["b4ed3a175331", "611cd6dffd7b", "b5c396305c25", "422ece571366", "a082b8bb98d0"]
HEAD = SCHEMA_REVISIONS[-1]
REVISIONS_WITH_TYPES = SCHEMA_REVISIONS[3:]  # of consumers
NULL_ROOT = "There is at least one resource provider table record which is missing its root provider id."
NO_CONSUMER = "There is at least one allocation record which is missing a consumer record."
HOST, CHILD, OTHER = (f"a0000000-0000-4000-8000-00000000000{n}" for n in (1, 2, 3))
ONE, LOST, GONE = (f"c0000000-0000-4000-8000-00000000000{n}" for n in (1, 2, 3))
QUESTIONS = ["/resource_providers", "/usages?project_id=red", f"/resource_providers?in_tree={HOST}"] + [
    f"/resource_providers/{p}{tail}" for p in (HOST, CHILD, OTHER)
    for tail in ("", "/inventories", "/usages", "/allocations", "/traits", "/aggregates")] + [
    f"/allocations/{c}" for c in (ONE, LOST, GONE)]


class Tool:
    """placet's command line, or OpenStack Placement's two programs."""

    def __init__(self, kind, binary, folder):
        self.kind, self.binary, self.folder = kind, binary, folder
        # placet's command can be pasted: it names the program and the configuration file.
        program = "placement-manage" if kind == "upstream" else (
            rf"{re.escape(str(live.placet_binary(binary)))} --config-file /\S+/placement\.conf")
        self.hint = re.compile(f"{program} db online_data_migrations")

    def command(self, config, *words):
        if self.kind == "placet":
            return [str(live.placet_binary(self.binary)), "--config-file", str(config), *words]
        program = "placement-manage" if words[0] == "db" else "placement-status"
        return [str(pathlib.Path(sys.executable).parent / program), "--config-file", str(config),
                *(words if words[0] == "db" else words[1:])]

    def run(self, database, *words):
        """Runs a command; returns its exit code, stdout and stderr."""
        config = self.config(database)
        done = self.run_command(config, *words)
        return done.returncode, done.stdout, done.stderr

    def run_command(self, config, *words):
        command, environment = self.command(config, *words), live.clean_environment()
        if self.kind == "upstream":
            module = pathlib.Path(command[0]).name.removeprefix("placement-")
            return forked.run(forked.OPENSTACK_PLACEMENT, f"placement.cmd.{module}:main", command, config.parent,
                              environment)
        return subprocess.run(command, capture_output=True, text=True, timeout=HANG_SECONDS, cwd=config.parent, env=environment,
                              check=False)

    def start(self, database, *words):
        config = self.config(database)
        return subprocess.Popen(self.command(config, *words), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                cwd=config.parent, env=live.clean_environment())

    def config(self, database):
        """A configuration file in a new folder."""
        return live.write_config(pathlib.Path(tempfile.mkdtemp(dir=self.folder)), database=database)


def fill(database, revision, null_roots=False, missing=False):
    """Inserts rows as an old deployment has them."""
    connection = database.connect()
    run = connection.execute
    if database.engine == "mariadb":
        run("SET sql_mode = 'NO_AUTO_VALUE_ON_ZERO'")
    for number, name in ((0, "VCPU"), (1, "MEMORY_MB"), (10000, "CUSTOM_GOLD")):
        run("INSERT INTO resource_classes (id, name, created_at) VALUES (?, ?, '2019-05-09 13:57:04')", [number, name])
    run("INSERT INTO projects (external_id) VALUES ('red')")
    run("INSERT INTO users (external_id) VALUES ('Übung')")
    for uuid, name in ((HOST, "host"), (CHILD, "child"), (OTHER, "other")):
        run("INSERT INTO resource_providers (uuid, name, generation, created_at)"
            " VALUES (?, ?, 7, '2019-05-09 13:57:04')", [uuid, name])
    ids = dict(run("SELECT uuid, id FROM resource_providers").fetchall())
    run("UPDATE resource_providers SET root_provider_id = ?", [ids[HOST]])
    run("UPDATE resource_providers SET parent_provider_id = ? WHERE uuid = ?", [ids[HOST], CHILD])
    root = None if null_roots else ids[OTHER]
    run("UPDATE resource_providers SET root_provider_id = ? WHERE uuid = ?", [root, OTHER])
    if null_roots:
        run("UPDATE resource_providers SET root_provider_id = NULL WHERE uuid = ?", [HOST])
    for provider, number, ratio in ((HOST, 0, 16.0), (HOST, 10000, 1.1), (CHILD, 1, 0.9)):
        run("INSERT INTO inventories (resource_provider_id, resource_class_id, total, reserved, min_unit, max_unit,"
            " step_size, allocation_ratio) VALUES (?, ?, 64, 1, 1, 64, 1, ?)", [ids[provider], number, ratio])
    run("INSERT INTO placement_aggregates (uuid) VALUES ('e0000000-0000-4000-8000-000000000001')")
    run("INSERT INTO resource_provider_aggregates (resource_provider_id, aggregate_id)"
        " SELECT ?, id FROM placement_aggregates", [ids[HOST]])
    run("INSERT INTO traits (name) VALUES ('CUSTOM_QUIET')")
    run("INSERT INTO resource_provider_traits (trait_id, resource_provider_id) SELECT id, ? FROM traits", [ids[HOST]])
    run("INSERT INTO consumers (uuid, project_id, user_id, generation)"
        " SELECT ?, p.id, u.id, 3 FROM projects p, users u", [ONE])
    if revision in REVISIONS_WITH_TYPES:
        run("INSERT INTO consumer_types (name) VALUES ('INSTANCE')")
        run("UPDATE consumers SET consumer_type_id = (SELECT id FROM consumer_types)")
    for consumer, provider, number in ((ONE, HOST, 0), (ONE, CHILD, 1), *(
            ((LOST, HOST, 0), (LOST, HOST, 10000), (GONE, CHILD, 1)) if missing else ())):
        run("INSERT INTO allocations (resource_provider_id, consumer_id, resource_class_id, used) VALUES (?, ?, ?, 2)",
            [ids[provider], consumer, number])
    connection.close()


def version(database):
    return [row[0] for row in database.query("SELECT version_num FROM alembic_version")]


class Suite:
    def __init__(self, tests, tool, engine):
        self.tests, self.tool, self.engine = tests, tool, engine
        self.empty = {}

    def at(self, revision, **variant):
        """A new database of this schema revision with rows, and these rows."""
        if revision not in self.empty:
            made = self.engine.create()
            config = self.tool.config(made)
            done = forked.run(forked.OPENSTACK_PLACEMENT, "functional_tests.revisions.upgrade:main",
                              ["upgrade", config, revision], config.parent, live.clean_environment())
            assert done.returncode == 0, done.stderr
            self.empty[revision] = made
        database = self.engine.create(self.empty[revision])
        fill(database, revision, **variant)
        return database, contents(database)

    def check_upgraded(self, database, before, standard=()):
        """Checks that the schema is OpenStack Placement's at head, and only `standard` names were added to the rows."""
        assert version(database) == [HEAD], version(database)
        wrong = differences(shape(self.empty[HEAD]), shape(database))
        assert not wrong, wrong
        wrong = unexplained(before, contents(database), standard)
        assert not wrong, wrong

    def run(self):
        self.at(HEAD)
        for revision in SCHEMA_REVISIONS:
            self.tests.step(f"db sync from {revision}", self.sync, revision)
        for revision in SCHEMA_REVISIONS[:2]:
            self.tests.step(f"two concurrent syncs from {revision}", self.two_syncs, revision)
        undone = self.tool.kind == "placet" or self.engine.dialect == "postgresql"
        for name, sentence, check, variant, stays in (
                ("providers without a root", NULL_ROOT, 2, {"null_roots": True}, SCHEMA_REVISIONS[0]),
                ("allocations without consumers", NO_CONSUMER, 1, {"missing": True},
                 SCHEMA_REVISIONS[0 if undone else 1]),
                ("both of them", NULL_ROOT, 2, {"null_roots": True, "missing": True}, SCHEMA_REVISIONS[0])):
            self.tests.step(f"an upgrade with {name} is refused until they are migrated",
                            self.refused, sentence, check, variant, stays)
        self.tests.step("at head allocations without consumers cause a warning", self.missing_at_head)
        self.tests.step("online_data_migrations with --max-count works step by step", self.step_by_step)
        self.tests.step("db stamp sets the schema revision and nothing else", self.stamp)
        if self.tool.kind == "placet":
            self.tests.step("a database of an unknown schema revision is refused", self.unknown)

    def sync(self, revision):
        database, before = self.at(revision)
        if self.tool.kind == "placet" and revision != HEAD:
            self.check_not_served(database, before, revision, HEAD, " db sync`")
        code, out, err = self.tool.run(database, "db", "sync")
        assert code == 0, out + err
        self.check_upgraded(database, before)
        now = contents(database)
        assert self.tool.run(database, "db", "sync")[0] == 0
        assert not changed(now, contents(database)), "a second sync changed rows"
        assert self.tool.run(database, "db", "version")[1].split()[0] == HEAD
        self.compare_answers(database)

    def check_not_served(self, database, before, *words, sync="false"):
        """Checks that placet does not serve the database, says why in one line, and changes no row."""
        folder = pathlib.Path(tempfile.mkdtemp(dir=self.engine.folder))
        config = live.write_config(folder, {"placement_database": {"sync_on_startup": sync}}, database)
        done = subprocess.run(
            [str(live.placet_binary(self.tool.binary)), "--config-file", str(config), "--bind", "127.0.0.1:0"],
            capture_output=True, text=True, timeout=HANG_SECONDS, cwd=folder, env=live.clean_environment(), check=False)
        lines = [line for line in done.stderr.splitlines() if line.startswith("placet: ")]
        assert done.returncode == 1 and len(lines) == 1, f"{done.returncode} {done.stdout} {done.stderr}"
        assert all(word in lines[0] for word in words), lines
        assert not changed(before, contents(database)), "rows have changed"

    def unknown(self):
        """No command changes a database of a newer OpenStack Placement."""
        database, _ = self.at(HEAD)
        newer = "0123456789ab"
        database.run("UPDATE alembic_version SET version_num = ?", [newer])
        before, tables = contents(database), shape(database)
        for sync in ("false", "true"):
            self.check_not_served(database, before, newer, HEAD, sync=sync)
        code, _, err = self.tool.run(database, "db", "sync")
        assert code == 1 and newer in err and HEAD in err, f"{code} {err}"
        assert self.tool.run(database, "db", "version")[1].split()[0] == newer
        assert not changed(before, contents(database)) and shape(database) == tables, "the database has changed"

    def compare_answers(self, database):
        """Checks that the tool's own service and then the other one give the same answers from the database."""
        answers = {}
        for kind in (("placet", "upstream") if self.tool.kind == "placet" else ("upstream",)):
            with live.Service(kind, binary=self.tool.binary, database=database) as service:
                answers[kind] = [(path, answer.status, sorted_lists(answer.json)) for path in QUESTIONS
                                 if not (path.startswith("/usages") and self.engine.dialect == "postgresql")
                                 for answer in [Rest(service.port, version="1.39")("GET", path)]]
        assert all(status == 200 for _, status, _ in answers["upstream"]), answers["upstream"]
        for theirs, ours in zip(answers["upstream"], answers.get("placet", answers["upstream"])):
            assert theirs == ours, f"{theirs}\n{ours}"

    def two_syncs(self, revision):
        """Two concurrent syncs of placet both succeed; of OpenStack Placement's, one may fail."""
        database, before = self.at(revision)
        both = [self.tool.start(database, "db", "sync") for _ in range(2)]
        ended = [(process.communicate(timeout=HANG_SECONDS), process.returncode) for process in both]
        codes = sorted(code for _, code in ended)
        assert codes == [0, 0] or self.tool.kind == "upstream" and codes == [0, 1], ended
        self.check_upgraded(database, before)

    def refused(self, sentence, check, variant, stays):
        """sync is refused with the command to run. After that command it succeeds, and no row is lost."""
        database, before = self.at(SCHEMA_REVISIONS[0], **variant)
        copy = self.engine.create(database) if self.tool.kind == "placet" else None
        code, out, _ = self.tool.run(database, "status", "upgrade", "check")
        assert code == check, f"{code} {out}"
        code, _, err = self.tool.run(database, "db", "sync")
        assert code == 1 and sentence in err and self.tool.hint.search(err), f"{code} {err}"
        assert version(database) == [stays], version(database)
        assert not unexplained(before, contents(database)), "rows have changed"
        code, out, err = self.tool.run(database, "db", "online_data_migrations")
        assert code == 0 and "Running batches of 50 until complete" in out, f"{code} {out} {err}"
        for name, count in (("set_root_provider_ids", 2 if "null_roots" in variant else 0),
                            ("create_incomplete_consumers", 2 if "missing" in variant else 0)):
            assert (f"{count} rows matched query {name}, {count} migrated" in out) == bool(count), out
            row = ["|", name, "|", str(count), "|", str(count), "|"]
            assert any(line.split() == row for line in out.splitlines()), out
        self.check_migrated(database, variant)
        migrated = contents(database)
        if copy:
            theirs = Tool("upstream", None, self.tool.folder)
            assert theirs.run(copy, "db", "online_data_migrations")[0] == 0
            different = changed(timeless(contents(copy)), timeless(migrated))
            assert not different, different
        code, out, err = self.tool.run(database, "db", "sync")
        assert code == 0, out + err
        self.check_upgraded(database, migrated)
        assert self.tool.run(database, "status", "upgrade", "check")[0] == 0
        self.compare_answers(database)

    def check_migrated(self, database, variant):
        """Checks the rows that the data migrations have made."""
        assert database.query("SELECT COUNT(*) FROM resource_providers WHERE root_provider_id IS NULL")[0][0] == 0
        if "missing" in variant:
            incomplete = "00000000-0000-0000-0000-000000000000"
            found = database.query(
                "SELECT c.uuid, c.generation, p.external_id, u.external_id FROM consumers c"
                " JOIN projects p ON p.id = c.project_id JOIN users u ON u.id = c.user_id"
                " WHERE c.uuid <> ? ORDER BY c.uuid", [ONE])
            expected = [(uuid, 0, incomplete, incomplete) for uuid in (LOST, GONE)]
            assert [tuple(row) for row in found] == expected, found

    def missing_at_head(self):
        """At head the status check only warns, and the data migrations insert the consumers."""
        database, before = self.at(HEAD, missing=True)
        code, out, _ = self.tool.run(database, "status", "upgrade", "check")
        flat = " ".join(out.replace("|", " ").split())
        assert code == 1 and "There are 2 incomplete consumers table records for existing allocations." in flat, out
        assert "Check: Incomplete Consumers Result: Warning" in flat, out
        assert self.tool.run(database, "db", "sync")[0] == 0
        assert self.tool.run(database, "db", "online_data_migrations")[0] == 0
        assert self.tool.run(database, "status", "upgrade", "check")[0] == 0
        touched = changed(before, contents(database))
        assert touched.keys() == {"consumers", "projects", "users"}, touched
        assert not any(removed for removed, _ in touched.values()), touched

    def step_by_step(self):
        """With --max-count the exit code is 1 while rows were migrated, and then 0. An invalid count is 127."""
        database, _ = self.at(SCHEMA_REVISIONS[0], null_roots=True, missing=True)
        codes = [self.tool.run(database, "db", "online_data_migrations", "--max-count", "1")[0] for _ in range(5)]
        assert codes == [1, 1, 1, 1, 0], codes
        for wrong in ("0", "-1", "many"):
            words = ["db", "online_data_migrations", f"--max-count={wrong}"]
            code, out, _ = self.tool.run(database, *words)
            assert (code, out) == (127, "Must supply a positive value for max_count\n"), (code, out)

    def stamp(self):
        database, before = self.at(HEAD)
        for revision, becomes in (("422ece571366", ["422ece571366"]), ("head", [HEAD]), ("base", [])):
            code, out, err = self.tool.run(database, "db", "stamp", revision)
            assert code == 0 and version(database) == becomes, f"{revision}: {code} {out} {err} {version(database)}"
        assert self.tool.run(database, "db", "stamp", "head")[0] == 0
        code, _, err = self.tool.run(database, "db", "stamp", "nonsense")
        assert code == 1 and "Can't locate revision identified by 'nonsense'" in err, f"{code} {err}"
        assert self.tool.run(database, "db", "stamp")[0] == 2
        assert version(database) == [HEAD] and not changed(before, contents(database))
        new = self.engine.create()
        assert self.tool.run(new, "db", "stamp", "422ece571366")[0] == 0 and version(new) == ["422ece571366"]


def timeless(found):
    """The rows with each time replaced by whether it is set."""
    return {table: [{name: value is not None if name.endswith("_at") else value for name, value in row.items()}
                    for row in rows] for table, rows in found.items()}


def sorted_lists(value):
    if isinstance(value, dict):
        return {k: sorted_lists(v) for k, v in value.items()}
    return sorted((sorted_lists(v) for v in value), key=repr) if isinstance(value, list) else value


def main():
    parser = command_line.parser(__doc__, "--binary", "--engine")
    parser.add_argument("--tool", choices=("placet", "upstream"), default="placet")
    arguments = parser.parse_args()
    tests = TestCounts()
    with engines.Engine(arguments.engine) as engine:
        Suite(tests, Tool(arguments.tool, arguments.binary, engine.folder), engine).run()
    tests.finish()


if __name__ == "__main__":
    main()
