"""The servers that tests run on do what is asked of them: databases, kills, pauses, partitions, power cuts' aftermath.

    python -m functional_tests.lib.engines_test [ENGINE…]
"""

import argparse
import subprocess
import sys
import time

from functional_tests.lib import engines
from functional_tests.lib.servers import machine
from functional_tests.lib.test_counts import TestCounts

ODD = "Übung? 100% _ ''"


def databases(engine):
    """A template with rows and foreign keys, and a copy of it that is a database of its own."""
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
        raise AssertionError("it answers after SIGKILL")
    node.restart()
    if engine.kind == "galera":
        engine.several.settle()
    assert list(here.query("SELECT id FROM kept")) == [(1,)]
    here.run("DROP TABLE kept")


def paused(engine, node, database):
    """A server that stands still answers nobody until it goes on, and then as before."""
    here = node.database(database.name)
    command = [sys.executable, "-c", "from functional_tests.lib.servers import databases as d; "
               f"d.{here.engine}({node.port}, {here.name!r}).query('SELECT 1')"]
    asking = subprocess.Popen(command, stderr=subprocess.PIPE)
    assert asking.wait(20) == 0, asking.stderr.read()
    node.pause()
    try:
        asking = subprocess.Popen(command, stderr=subprocess.PIPE)
        time.sleep(1)
        assert asking.poll() is None, "it answers while it is paused"
    finally:
        node.resume()
    assert asking.wait(20) == 0, asking.stderr.read()


def replicated(engine, database):
    """What the primary acknowledges the standby has, with SIGKILL to the primary at once."""
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
    """A node that is cut off serves no more, the others do; healed it has what it missed."""
    cut, others = engine.nodes[2], engine.nodes[:2]
    database.run("CREATE TABLE partitioned (id INTEGER PRIMARY KEY)")
    cut.isolate()
    try:
        until(lambda: others[0].members() == 2 and others[0].answers(), "the others do not go on as two")
        until(lambda: cut.status("wsrep_cluster_status") == "non-Primary", "the lone node believes in itself")
        database.run("INSERT INTO partitioned VALUES (1)")
        try:
            cut.database(database.name).query("SELECT * FROM partitioned")
        except Exception as error:  # the driver's own
            assert error.args[0] == 1047, error
        else:
            raise AssertionError("a node without a majority answers")
    finally:
        cut.heal()
    engine.several.settle()
    found = cut.database(database.name).query("SELECT * FROM partitioned")
    assert found == ((1,),), found


def all_killed(engine, database):
    """After the end of all nodes the cluster begins again with what was acknowledged."""
    database.run("CREATE TABLE survives (id INTEGER PRIMARY KEY)")
    database.run("INSERT INTO survives VALUES (1)")
    for node in engine.nodes:
        node.kill()
    engine.several.restart()
    engine.several.settle()
    for node in engine.nodes:
        assert node.database(database.name).query("SELECT * FROM survives") == ((1,),)


def until(holds, sentence, seconds=60):
    deadline = time.monotonic() + seconds
    problem = None
    while time.monotonic() < deadline:
        try:
            if holds():
                return
        except Exception as error:  # a server in between says so by its driver's error
            problem = error
        time.sleep(0.1)
    raise AssertionError(f"{sentence} within {seconds} s {problem!r}")


def nothing_left(folders):
    """Neither a folder nor a process."""
    for folder in folders:
        assert not folder.exists(), folder
        found = subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True, check=True).stdout
        assert str(folder) not in found, found


def test(tests, kind):
    began = time.monotonic()
    with engines.Engine(kind) as engine:
        print(f"{kind} starts within {time.monotonic() - began:.1f} s", flush=True)
        tests.step(f"{kind}: databases and copies", databases, engine)
        if engine.nodes:
            database = engine.create()
            node = engine.nodes[0 if kind != "galera" else 1]
            tests.step(f"{kind}: a pause", paused, engine, node, database)
            tests.step(f"{kind}: SIGKILL", killed, engine, node, database)
        if kind == "galera":
            tests.step(f"{kind}: a partition", partitioned, engine, database)
            tests.step(f"{kind}: SIGKILL to all", all_killed, engine, database)
        if kind == "postgresql-pair":
            tests.step(f"{kind}: a standby takes over", replicated, engine, database)
        folders = [engine.folder, *(node.folder for node in engine.nodes)]
    tests.step(f"{kind}: nothing is left", nothing_left, folders)


def swept(tests, kind):
    """A test that was killed leaves servers; the next one takes them away."""
    owner = subprocess.Popen(
        [sys.executable, "-m", "functional_tests.lib.engines", "run", kind, "--", "sh", "-c",
         "echo ready; exec sleep 1000"], stdout=subprocess.PIPE, text=True)
    assert owner.stdout.readline() == "ready\n"
    folders = [f for f in machine.folders() if (f / "owner").read_text().startswith(f"{owner.pid} ")]
    assert folders, "it has no folder"
    for pid in reversed(machine.family(owner.pid)[:2]):  # it and its `sleep`; not the server
        subprocess.run(["kill", "-9", str(pid)], check=False)
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
            tests.step("what a killed test leaves is taken away", swept, tests, kind)
    tests.finish()


if __name__ == "__main__":
    main()
