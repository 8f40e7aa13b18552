"""Checks the plan of every statement that placet executes in a cloud of many providers. None may read needless rows.

    python -m functional_tests.query_plans.run [--engine sqlite|postgresql|mariadb] [--providers N] [--drop INDEX]
                                               [--binary PATH] [-v]

Two placet processes (one on SQLite) serve a database of N providers and three times as many allocations. They execute
every operation of the API. The hot operations are repeated, for 1, 2, 32 and 256 providers and consumers.

The statements come from the engine, so none can be forgotten: from auto_explain on PostgreSQL, and from the slow query
log on MariaDB. On SQLite placet's log has the statements, and they are planned and executed again. judge.py has the
rules. `--drop` drops an index first, to see the test fail.
"""

import contextlib
import json
import os
import subprocess
import time

from functional_tests.lib import command_line, engines, live
from functional_tests.lib.patience import HANG_SECONDS
from functional_tests.lib.test_counts import TestCounts
from functional_tests.query_plans import cloud, judge, mariadb_plans, postgresql_plans, sqlite_plans, workload
from functional_tests.reference import sample_cloud

CAPTURES = {"sqlite": sqlite_plans.Capture, "postgresql": postgresql_plans.Capture, "mariadb": mariadb_plans.Capture}
ENGINES = tuple(CAPTURES)
# The comparison with the tables has to finish a round within the test.
# Without optimization, a page of 100,000 hosts takes longer than commands may take by default.
OPTIONS = sample_cloud.OPTIONS | {"placet": {"comparison_interval": "10", "commit_timeout": "600"}}
TRACED = {"RUST_LOG": f"info,{sqlite_plans.LOGGER}=trace"}
HEARTBEAT_SECONDS = 62
# The rules must find these: the first reads a whole table, the second reads too many rows by an index.
BAD_STATEMENTS = ("SELECT uuid FROM resource_providers WHERE generation = 77",
                  "SELECT sum(used) FROM allocations WHERE resource_class_id = 1")


def prepare(engine, arguments):
    """Creates a database with the cloud."""
    database = engine.create()
    # The first start makes the standard classes and traits.
    with live.Service("placet", sample_cloud.OPTIONS, arguments.binary, database=database):
        pass
    cloud.load(database, arguments.providers)
    if arguments.drop:
        drop(database, arguments.drop)
    return database


def drop(database, index):
    if database.engine == "mariadb":
        (table,) = database.query("SELECT DISTINCT table_name FROM information_schema.statistics WHERE index_name = ? "
                                  "AND table_schema = database()", [index])[0]
        database.run(f"DROP INDEX {index} ON {table}")
    else:
        database.run(f"DROP INDEX {index}")


def executed(engine, database, arguments, tests):
    """Everything that the processes execute, with the phase."""
    capture = CAPTURES[database.engine](engine, database)
    several = 1 if database.engine == "sqlite" else 2
    with contextlib.ExitStack() as stack:
        started = time.monotonic()
        services = [stack.enter_context(live.Service("placet", OPTIONS, arguments.binary, database=database, environment=TRACED))
                    for _ in range(several)]
        capture.follow(services)
        yield from phase(capture, judge.SNAPSHOT_LOAD)
        done = workload.Workload(services, arguments.providers)
        for what, *how in (
                ("every operation", done.everything), ("claims", done.claims), ("reports", done.reports),
                ("trees", done.trees), *((f"{size} at once", done.many, size) for size in workload.REQUEST_SIZES)):
            tests.step(f"requests: {what}", *how)
        write_as_another_program(database)
        until = started + HEARTBEAT_SECONDS if arguments.heartbeat else 0
        end = time.monotonic() + HANG_SECONDS
        while time.monotonic() < until or (not found_foreign_writes(services) and time.monotonic() < end):
            done.ask("GET", f"/resource_providers/{done.host(1)}")
            time.sleep(0.5)
        tests.equal("the comparison with the tables finds the writes of another program", True,
                    found_foreign_writes(services))
        tests.equal("silent writers are pruned", [],
                    list(database.query("SELECT id FROM placet_writers WHERE id = 'silent-1'")))
        printed = subprocess.run([str(live.placet_binary(arguments.binary)), "openapi"], check=True, capture_output=True, text=True)
        tests.equal("every operation of the API succeeds", [], done.missing(json.loads(printed.stdout)))
        yield from phase(capture, "")
        database.run("UPDATE placet_epoch SET epoch = 'another'")
        for service in range(several):
            done.ask("GET", f"/resource_providers/{done.host(1)}", on=service)
            done.ask("PUT", f"/allocations/{done.consumer()}", workload.claim({done.host(5): {"VCPU": 1}}), on=service)
        yield from phase(capture, judge.SNAPSHOT_LOAD)
        yield from bad(capture, database)


def write_as_another_program(database):
    """Writes as a program other than placet does. The comparison with the tables has to find it."""
    one, other = (cloud.uuid("provider", n) for n in (2, 11))
    database.run("UPDATE resource_providers SET generation = generation + 1 WHERE uuid = ?", [one])
    database.run("DELETE FROM resource_provider_traits WHERE resource_provider_id = "
                 "(SELECT id FROM resource_providers WHERE uuid = ?)", [other])


def found_foreign_writes(services):
    """Whether a process logged the writes of another program."""
    line = "A program other than placet changed"
    return any(line in (service.folder / "log").read_text(errors="replace") for service in services)


def phase(capture, name):
    for one in capture.taken():
        one.phase = name
        yield one


def bad(capture, database):
    """Executes the test's own statements, in which the rules must find faults."""
    for statement in BAD_STATEMENTS:
        database.query(statement)
    missing, deadline = set(map(judge.shape, BAD_STATEMENTS)), time.monotonic() + HANG_SECONDS
    # MariaDB answers before it logs.
    while missing and time.monotonic() < deadline:
        for one in capture.taken(BAD_STATEMENTS):
            if judge.shape(one.sql) in map(judge.shape, BAD_STATEMENTS):
                missing.discard(judge.shape(one.sql))
                one.phase = "bad"
                yield one
        time.sleep(0.1)


def report(arguments, statements, tests):
    ours, bad_ones = [], []
    for one in statements:
        (bad_ones if one.phase == "bad" else ours).append(one)
    found = judge.worst(ours)
    if arguments.verbose:
        for one, times in sorted(found, key=lambda pair: pair[0].rows):
            print(f"{times:6} times, at most {one.rows:7} rows: {one.shape[:300]}")
    print(f"{len(ours)} statements of {len({one.shape for one in ours})} shapes were executed")
    tests.equal("the capture has statements of placet", True, bool(ours))
    noticed = {judge.shape(one.sql) for one in bad_ones if judge.complaints(one)}
    tests.equal("the rules find the faults of bad statements",
                sorted(map(judge.shape, BAD_STATEMENTS)), sorted(noticed))
    for one, times in found:
        wrong = judge.complaints(one)
        if wrong:
            tests.fail("; ".join(wrong), f"{times} times, {one.phase or 'requests'}: {one.sql[:1500]}")
        else:
            tests.ok(one.shape, show=False)


def main():
    parser = command_line.parser(__doc__, "--binary")
    full = os.environ.get("PLACET_TEST_SIZE") == "full"
    parser.add_argument("--engine", choices=ENGINES, default="sqlite")
    parser.add_argument("--providers", type=int, default=100_000 if full else 20_000)
    parser.add_argument("--heartbeat", action="store_true", default=full,
                        help="wait for the heartbeat and pruning statements, which writers execute once a minute")
    parser.add_argument("--drop", metavar="INDEX")
    parser.add_argument("-v", "--verbose", action="store_true", help="show every statement")
    arguments = parser.parse_args()
    if arguments.engine == "sqlite":
        sqlite_plans.preload()
    tests = TestCounts()
    with engines.Engine(arguments.engine) as engine:
        start = time.monotonic()
        database = prepare(engine, arguments)
        print(f"{arguments.providers} providers were loaded in {time.monotonic() - start:.0f} s", flush=True)
        report(arguments, executed(engine, database, arguments, tests), tests)
    tests.finish()


if __name__ == "__main__":
    main()
