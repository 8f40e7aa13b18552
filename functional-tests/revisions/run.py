"""Databases of every revision, with rows in them: what the tools do with them, and that no row is lost.

    python -m functional_tests.revisions.run [--tool placet|upstream] [--engine ENGINE] [--binary PATH]

Each database is made by OpenStack Placement's own migrations. With `--tool upstream` its placement-manage and
placement-status do all the work, which proves what is expected here of placet. Where a refused upgrade
leaves the database differs: placet undoes all steps, OpenStack Placement does on PostgreSQL alone, and keeps
those before the refused one elsewhere.
"""

import pathlib
import subprocess
import sys
import tempfile

from functional_tests.lib import command_line, engines, live
from functional_tests.lib.rest import Rest
from functional_tests.lib.tables.contents import changed, contents, unexplained
from functional_tests.lib.tables.shapes import differences, shape
from functional_tests.lib.test_counts import TestCounts

REVISIONS = ["b4ed3a175331", "611cd6dffd7b", "b5c396305c25", "422ece571366", "a082b8bb98d0"]
HEAD, TYPES = REVISIONS[-1], REVISIONS[3:]  # the latter know consumers' types
NULL_ROOT = "There is at least one resource provider table record which is missing its root provider id."
NO_CONSUMER = "There is at least one allocation record which is missing a consumer record."
UPGRADE = """
import sys
from oslo_config import cfg
from placement import conf, db_api
from placement.db.sqlalchemy import migration
config = cfg.ConfigOpts()
conf.register_opts(config)
config(["--config-file", sys.argv[1]], project="placement", default_config_files=None)
db_api.configure(config)
migration.upgrade(sys.argv[2])
"""
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
        self.hint = "placement-manage db online_data_migrations" if kind == "upstream" else "placet db online_data_migrations"

    def command(self, config, *words):
        if self.kind == "placet":
            return [str(live.placet_binary(self.binary)), "--config-file", str(config), *words]
        program = "placement-manage" if words[0] == "db" else "placement-status"
        return [str(pathlib.Path(sys.executable).parent / program), "--config-file", str(config),
                *(words if words[0] == "db" else words[1:])]

    def run(self, database, *words):
        """Its exit code, and what it said."""
        process = self.start(database, *words)
        out, err = process.communicate(timeout=120)
        return process.returncode, out, err

    def start(self, database, *words, python=None):
        folder = pathlib.Path(tempfile.mkdtemp(dir=self.folder))
        config = live.write_config(folder, database=database)
        command = [sys.executable, "-c", python, str(config), *words] if python else self.command(config, *words)
        return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=folder,
                                env=live.clean_environment())


def fill(database, revision, null_roots=False, missing=False):
    """Rows as an old deployment has them."""
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
    run("UPDATE resource_providers SET root_provider_id = ? WHERE uuid = ?", [None if null_roots else ids[OTHER], OTHER])
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
    run("INSERT INTO consumers (uuid, project_id, user_id, generation) SELECT ?, p.id, u.id, 3 FROM projects p, users u",
        [ONE])
    if revision in TYPES:
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
        """A filled database of that revision, and its rows."""
        if revision not in self.empty:
            made = self.engine.create()
            process = self.tool.start(made, revision, python=UPGRADE)
            _, err = process.communicate(timeout=120)
            assert process.returncode == 0, err
            self.empty[revision] = made
        database = self.engine.create(self.empty[revision])
        fill(database, revision, **variant)
        return database, contents(database)

    def whole(self, database, before, standard=()):
        """It is at head as OpenStack Placement makes it, and has the same rows; `standard` names may have come."""
        assert version(database) == [HEAD], version(database)
        wrong = differences(shape(self.empty[HEAD]), shape(database))
        assert not wrong, wrong
        wrong = unexplained(before, contents(database), standard)
        assert not wrong, wrong

    def run(self):
        self.at(HEAD)
        for revision in REVISIONS:
            self.tests.step(f"db sync from {revision}", self.sync, revision)
        for revision in REVISIONS[:2]:
            self.tests.step(f"two syncs at once from {revision}", self.two_syncs, revision)
        self.tests.step("null roots", self.refused, NULL_ROOT, 2, {"null_roots": True}, REVISIONS[0])
        self.tests.step("missing consumers", self.refused, NO_CONSUMER, 1, {"missing": True},
                        REVISIONS[0] if self.tool.kind == "placet" or self.engine.dialect == "postgresql" else REVISIONS[1])
        self.tests.step("both", self.refused, NULL_ROOT, 2, {"null_roots": True, "missing": True}, REVISIONS[0])
        self.tests.step("missing consumers at head", self.missing_at_head)
        self.tests.step("online_data_migrations, step by step", self.step_by_step)
        self.tests.step("db stamp", self.stamp)
        if self.tool.kind == "placet":
            self.tests.step("a revision that is not known", self.unknown)

    def sync(self, revision):
        database, before = self.at(revision)
        if self.tool.kind == "placet" and revision != HEAD:
            self.unserved(database, before, revision, HEAD, "`placet db sync`")
        code, out, err = self.tool.run(database, "db", "sync")
        assert code == 0, out + err
        self.whole(database, before)
        now = contents(database)
        assert self.tool.run(database, "db", "sync")[0] == 0
        assert not changed(now, contents(database)), "a second sync changed rows"
        assert self.tool.run(database, "db", "version")[1].split()[0] == HEAD
        self.alike(database)

    def unserved(self, database, before, *words, sync="false"):
        """placet does not serve it, says why in one line, and touches nothing."""
        folder = pathlib.Path(tempfile.mkdtemp(dir=self.engine.folder))
        config = live.write_config(folder, {"placement_database": {"sync_on_startup": sync}}, database)
        done = subprocess.run(
            [str(live.placet_binary(self.tool.binary)), "--config-file", str(config), "--bind", "127.0.0.1:0"],
            capture_output=True, text=True, timeout=60, cwd=folder, env=live.clean_environment(), check=False)
        told = [line for line in done.stderr.splitlines() if line.startswith("placet: ")]
        assert done.returncode == 1 and len(told) == 1, f"{done.returncode} {done.stdout} {done.stderr}"
        assert all(word in told[0] for word in words), told
        assert not changed(before, contents(database)), "rows are others"

    def unknown(self):
        """A database of a newer OpenStack Placement is left alone, by whatever command."""
        database, _ = self.at(HEAD)
        newer = "0123456789ab"
        database.run("UPDATE alembic_version SET version_num = ?", [newer])
        before, tables = contents(database), shape(database)
        for sync in ("false", "true"):
            self.unserved(database, before, newer, HEAD, sync=sync)
        code, _, err = self.tool.run(database, "db", "sync")
        assert code == 1 and newer in err and HEAD in err, f"{code} {err}"
        assert self.tool.run(database, "db", "version")[1].split()[0] == newer
        assert not changed(before, contents(database)) and shape(database) == tables, "it was touched"

    def alike(self, database):
        """The tool's own service answers from it, then the other one does, and both say the same."""
        said = {}
        for kind in (("placet", "upstream") if self.tool.kind == "placet" else ("upstream",)):
            with live.Service(kind, binary=self.tool.binary, database=database) as service:
                said[kind] = [(path, answer.status, sorted_lists(answer.json)) for path in QUESTIONS
                              if not (path.startswith("/usages") and self.engine.dialect == "postgresql")
                              for answer in [Rest(service.port, version="1.39")("GET", path)]]
        assert all(status == 200 for _, status, _ in said["upstream"]), said["upstream"]
        for theirs, ours in zip(said["upstream"], said.get("placet", said["upstream"])):
            assert theirs == ours, f"{theirs}\n{ours}"

    def two_syncs(self, revision):
        """placet's are safe; of OpenStack Placement's, one may fail."""
        database, before = self.at(revision)
        both = [self.tool.start(database, "db", "sync") for _ in range(2)]
        ended = [(process.communicate(timeout=120), process.returncode) for process in both]
        codes = sorted(code for _, code in ended)
        assert codes == [0, 0] or self.tool.kind == "upstream" and codes == [0, 1], ended
        self.whole(database, before)

    def refused(self, sentence, check, variant, stays):
        """sync refuses, and says what to do; done, it goes on. Nothing is lost on the way."""
        database, before = self.at(REVISIONS[0], **variant)
        copy = self.engine.create(database) if self.tool.kind == "placet" else None
        code, out, _ = self.tool.run(database, "status", "upgrade", "check")
        assert code == check, f"{code} {out}"
        code, _, err = self.tool.run(database, "db", "sync")
        assert code == 1 and sentence in err and self.tool.hint in err, f"{code} {err}"
        assert version(database) == [stays], version(database)
        assert not unexplained(before, contents(database)), "rows are others"
        code, out, err = self.tool.run(database, "db", "online_data_migrations")
        assert code == 0 and "Running batches of 50 until complete" in out, f"{code} {out} {err}"
        for name, count in (("set_root_provider_ids", 2 if "null_roots" in variant else 0),
                            ("create_incomplete_consumers", 2 if "missing" in variant else 0)):
            assert (f"{count} rows matched query {name}, {count} migrated" in out) == bool(count), out
            assert any(line.split() == ["|", name, "|", str(count), "|", str(count), "|"] for line in out.splitlines()), out
        self.migrated(database, variant)
        mended = contents(database)
        if copy:
            theirs = Tool("upstream", None, self.tool.folder)
            assert theirs.run(copy, "db", "online_data_migrations")[0] == 0
            assert not changed(timeless(contents(copy)), timeless(mended)), changed(timeless(contents(copy)), timeless(mended))
        code, out, err = self.tool.run(database, "db", "sync")
        assert code == 0, out + err
        self.whole(database, mended)
        assert self.tool.run(database, "status", "upgrade", "check")[0] == 0
        self.alike(database)

    def migrated(self, database, variant):
        """What the data migrations have made."""
        assert database.query("SELECT COUNT(*) FROM resource_providers WHERE root_provider_id IS NULL")[0][0] == 0
        if "missing" in variant:
            nobody = "00000000-0000-0000-0000-000000000000"
            found = database.query(
                "SELECT c.uuid, c.generation, p.external_id, u.external_id FROM consumers c"
                " JOIN projects p ON p.id = c.project_id JOIN users u ON u.id = c.user_id WHERE c.uuid <> ? ORDER BY c.uuid",
                [ONE])
            assert [tuple(row) for row in found] == [(LOST, 0, nobody, nobody), (GONE, 0, nobody, nobody)], found

    def missing_at_head(self):
        """At head nothing blocks: the check warns, and the migrations mend it."""
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
        assert not any(gone for gone, _ in touched.values()), touched

    def step_by_step(self):
        """With --max-count: 1 while something was done, then 0; other exit codes for what makes no sense."""
        database, _ = self.at(REVISIONS[0], null_roots=True, missing=True)
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
    """Whether times are there, not which."""
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
