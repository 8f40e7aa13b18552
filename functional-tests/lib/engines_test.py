"""The tests' database servers work: databases and copies, kills, pauses, partitions, fail-over, recovery.

    python -m functional_tests.lib.engines_test [ENGINE…]
"""

import argparse
import os
import signal
import subprocess
import sys
import time

from functional_tests.lib import engines
from functional_tests.lib.patience import HANG_SECONDS, succeeds
from functional_tests.lib.servers import machine
from functional_tests.lib.test_counts import TestCounts

ODD = "Übung? 100% _ ''"


def databases(engine):
    """A copy of a template has its rows and foreign keys, and changes independently of it."""
    first = engine.create()
    first.run("CREATE TABLE one (id INTEGER PRIMARY KEY, name VARCHAR(50))")
    first.run("CREATE TABLE two (id INTEGER PRIMARY KEY, one_id INTEGER REFERENCES one (id))")
    first.run("INSERT INTO one VALUES (0, ?)", [ODD])
    first.run("INSERT INTO two VALUES (1, 0)")
    second = engine.create(first)
    second.run("INSERT INTO one VALUES (7, '')")
    assert first.query("SELECT * FROM one") == [(0, ODD)] or first.query("SELECT * FROM one") == ((0, ODD),)
    assert sorted(second.query("SELECT id FROM one")) == [(0,), (7,)], "the copy lacks rows"
    assert len(second.query("SELECT name FROM one WHERE name LIKE '%100%'")) == 1, "SQL with % does not arrive"
    engine.drop(second)
    try:
        second.query("SELECT id FROM one")
    except Exception:  # the driver's own
        return
    raise AssertionError("a database that was dropped is still there")


def killed(engine, node, database):
    """What was committed before SIGKILL is there after the restart."""
    here = node.database(database.name)
    here.run("CREATE TABLE kept (id INTEGER PRIMARY KEY)")
    here.run("INSERT INTO kept VALUES (1)")
    node.kill()
    assert not node.alive
    try:
        here.query("SELECT 1")
    except Exception:  # the driver's own
        pass
    else:
        raise AssertionError("the server answers after SIGKILL")
    node.restart()
    if engine.kind == "galera":
        engine.cluster.settle()
    assert list(here.query("SELECT id FROM kept")) == [(1,)]
    here.run("DROP TABLE kept")


def paused(engine, node, database):
    """A paused server answers no query until it is resumed, and then answers the waiting one."""
    here = node.database(database.name)
    command = [sys.executable, "-c", "from functional_tests.lib.servers import databases as d; "
               f"d.{here.engine}({node.port}, {here.name!r}).query('SELECT 1')"]
    asking = subprocess.Popen(command, stderr=subprocess.PIPE)
    assert asking.wait(HANG_SECONDS) == 0, asking.stderr.read()
    node.pause()
    try:
        asking = subprocess.Popen(command, stderr=subprocess.PIPE)
        time.sleep(1)
        assert asking.poll() is None, "the server answers while it is paused"
    finally:
        node.resume()
    assert asking.wait(HANG_SECONDS) == 0, asking.stderr.read()


def replicated(engine, database):
    """The standby has what the primary acknowledged immediately before SIGKILL."""
    primary, standby = engine.nodes
    connection = database.connect()
    connection.execute("CREATE TABLE acknowledged (id INTEGER PRIMARY KEY)")
    for n in range(50):
        connection.execute("INSERT INTO acknowledged VALUES (?)", [n])
    primary.kill()
    standby.promote()
    assert standby.database(database.name).query("SELECT COUNT(*) FROM acknowledged") == [(50,)]
    standby.database(database.name).run("INSERT INTO acknowledged VALUES (50)")


def partitioned(engine, database):
    """An isolated node refuses queries and the others serve; after healing it has what it missed."""
    cut, others = engine.nodes[2], engine.nodes[:2]

    def form_a_cluster():
        assert others[0].members() == 2 and others[0].answers()

    def is_alone():
        assert cut.status("wsrep_cluster_status") == "non-Primary"

    database.run("CREATE TABLE partitioned (id INTEGER PRIMARY KEY)")
    cut.isolate()
    try:
        succeeds("the two others form a cluster", form_a_cluster)
        succeeds("the isolated node is non-Primary", is_alone)
        database.run("INSERT INTO partitioned VALUES (1)")
        try:
            cut.database(database.name).query("SELECT * FROM partitioned")
        except Exception as error:  # the driver's own
            assert error.args[0] == 1047, error
        else:
            raise AssertionError("a node without a majority answers")
    finally:
        cut.heal()
    engine.cluster.settle()
    found = cut.database(database.name).query("SELECT * FROM partitioned")
    assert found == ((1,),), found


def all_killed(engine, database):
    """After SIGKILL to all nodes the cluster restarts with what was acknowledged."""
    database.run("CREATE TABLE survives (id INTEGER PRIMARY KEY)")
    database.run("INSERT INTO survives VALUES (1)")
    for node in engine.nodes:
        node.kill()
    engine.cluster.restart()
    engine.cluster.settle()
    for node in engine.nodes:
        assert node.database(database.name).query("SELECT * FROM survives") == ((1,),)


def nothing_left(folders):
    """Checks that these folders are gone, and that no process names them."""
    for folder in folders:
        assert not folder.exists(), folder
        found = subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True, check=True).stdout
        assert str(folder) not in found, found


def test(tests, kind):
    began = time.monotonic()
    with engines.Engine(kind) as engine:
        print(f"{kind} started within {time.monotonic() - began:.1f} s", flush=True)
        tests.step(f"{kind}: a copy of a database has its rows and is independent", databases, engine)
        if engine.nodes:
            database = engine.create()
            node = engine.nodes[0 if kind != "galera" else 1]
            tests.step(f"{kind}: a paused server answers once it is resumed", paused, engine, node, database)
            tests.step(f"{kind}: commits survive SIGKILL", killed, engine, node, database)
        if kind == "galera":
            tests.step(f"{kind}: an isolated node refuses queries, and catches up", partitioned, engine, database)
            tests.step(f"{kind}: commits survive SIGKILL to all nodes", all_killed, engine, database)
        if kind == "postgresql-pair":
            tests.step(f"{kind}: the promoted standby has every acknowledged commit", replicated, engine, database)
        folders = [engine.folder, *(node.folder for node in engine.nodes)]
    tests.step(f"{kind}: no folder and no process is left", nothing_left, folders)


def swept(tests, kind):
    """The next test removes the servers of a test that was killed."""
    owner = subprocess.Popen(
        [sys.executable, "-m", "functional_tests.lib.engines", "run", kind, "--", "sh", "-c",
         "echo $$; exec sleep 1000"], stdout=subprocess.PIPE, text=True)
    sleeper = int(owner.stdout.readline())
    folders = [f for f in machine.folders() if (f / "owner").read_text().startswith(f"{owner.pid} ")]
    assert folders, "it has no folder"
    for pid in (sleeper, owner.pid):  # not the server
        os.kill(pid, signal.SIGKILL)
    owner.wait()
    machine.sweep()
    nothing_left(folders)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("engines", nargs="*", default=list(engines.ENGINES), metavar="ENGINE")
    tests = TestCounts()
    for kind in parser.parse_args().engines:
        try:
            test(tests, kind)
        except machine.Missing as missing:
            tests.skip(kind, missing)
        if kind == "postgresql":
            tests.step("the servers of a killed test are removed", swept, tests, kind)
    tests.finish()


if __name__ == "__main__":
    main()
