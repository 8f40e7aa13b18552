"""Looks at the plan of every statement that placet executes in a cloud of many providers; none may read what it need not.

    python -m functional_tests.query_plans.run [--engine sqlite|postgresql|mariadb] [--providers N] [--drop INDEX]
                                               [--binary PATH] [-v]

Two placet processes (one on SQLite) serve a database of N providers and three times as many allocations, and do every
operation of the API, the hot ones over and over and for 1, 2, 32 and 256 providers and consumers. What is judged is
what the engine itself says that it executed, so no statement can be forgotten: PostgreSQL by auto_explain, MariaDB by its
log of slow statements; on SQLite placet's log has the statements, and they are planned and executed again. judge.py
has the rules. `--drop` takes an index away first, to see the test fail.
"""

import contextlib
import json
import os
import subprocess
import time

from functional_tests.lib import command_line, engines, live
from functional_tests.lib.test_counts import TestCounts
from functional_tests.query_plans import cloud, judge, mariadb_plans, postgresql_plans, sqlite_plans, workload
from functional_tests.reference import sample_cloud

CAPTURES = {"sqlite": sqlite_plans.Capture, "postgresql": postgresql_plans.Capture, "mariadb": mariadb_plans.Capture}
ENGINES = tuple(CAPTURES)
# A round of the comparison with the tables, slice by slice.
OPTIONS = sample_cloud.OPTIONS | {"placet": {"comparison_interval": "10"}}
TRACED = {"RUST_LOG": f"info,{sqlite_plans.LOGGER}=trace"}
HOUSEKEEPING_SECONDS = 62
TIMEOUT_SECONDS = 120
# A start reads everything.
live.START_SECONDS = 300
# What the rules must find: all of a table, and too much of one by an index.
BAD = ("SELECT uuid FROM resource_providers WHERE generation = 77", "SELECT sum(used) FROM allocations WHERE resource_class_id = 1")


def prepare(engine, arguments):
    """A database with the cloud in it."""
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
    """Everything that the processes executed, and in which phase."""
    capture = CAPTURES[database.engine](engine, database)
    several = 1 if database.engine == "sqlite" else 2
    with contextlib.ExitStack() as stack:
        started = time.monotonic()
        services = [stack.enter_context(live.Service("placet", OPTIONS, arguments.binary, database=database, environment=TRACED))
                    for _ in range(several)]
        capture.follow(services)
        yield from phase(capture, judge.WHOLE)
        done = workload.Workload(services, arguments.providers)
        for what, *how in (
                ("every operation", done.everything), ("claims", done.claims), ("reports", done.reports),
                ("trees", done.trees), *((f"{size} at once", done.many, size) for size in workload.SIZES)):
            tests.step(f"work: {what}", *how)
        change_as_another_program(database)
        until = started + HOUSEKEEPING_SECONDS if arguments.housekeeping else 0
        end = time.monotonic() + TIMEOUT_SECONDS
        while time.monotonic() < until or (not found_foreign_changes(services) and time.monotonic() < end):
            done.ask("GET", f"/resource_providers/{done.host(1)}")
            time.sleep(0.5)
        tests.equal("the comparison with the tables met what another program changed", True, found_foreign_changes(services))
        tests.equal("silent writers were cleared away", [], list(database.query("SELECT id FROM placet_writers WHERE id = 'silent-1'")))
        printed = subprocess.run([str(live.placet_binary(arguments.binary)), "openapi"], check=True, capture_output=True, text=True)
        tests.equal("every operation of the API was answered well", [], done.missing(json.loads(printed.stdout)))
        yield from phase(capture, "")
        database.run("UPDATE placet_epoch SET epoch = 'another'")
        for service in range(several):
            done.ask("GET", f"/resource_providers/{done.host(1)}", on=service)
            done.ask("PUT", f"/allocations/{done.consumer()}", workload.claim({done.host(5): {"VCPU": 1}}), on=service)
        yield from phase(capture, judge.WHOLE)
        yield from bad(capture, database)


def change_as_another_program(database):
    """What programs that are not placet do: the comparison with the tables finds it."""
    one, other = (cloud.uuid("provider", n) for n in (2, 11))
    database.run("UPDATE resource_providers SET generation = generation + 1 WHERE uuid = ?", [one])
    database.run("DELETE FROM resource_provider_traits WHERE resource_provider_id = "
                 "(SELECT id FROM resource_providers WHERE uuid = ?)", [other])


def found_foreign_changes(services):
    """Whether a process found what they did."""
    said = "A program other than placet changed"
    return any(said in (service.folder / "log").read_text(errors="replace") for service in services)


def phase(capture, name):
    for one in capture.taken():
        one.phase = name
        yield one


def bad(capture, database):
    """Statements of the test's own, which must be found bad."""
    for statement in BAD:
        database.query(statement)
    missing, deadline = set(map(judge.shape, BAD)), time.monotonic() + TIMEOUT_SECONDS
    # MariaDB answers first, and writes it down then.
    while missing and time.monotonic() < deadline:
        for one in capture.taken(BAD):
            if judge.shape(one.sql) in map(judge.shape, BAD):
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
    tests.equal("the engine's account has statements of placet", True, bool(ours))
    noticed = {judge.shape(one.sql) for one in bad_ones if judge.complaints(one)}
    tests.equal("what is bad is noticed", sorted(map(judge.shape, BAD)), sorted(noticed))
    for one, times in found:
        wrong = judge.complaints(one)
        if wrong:
            tests.fail("; ".join(wrong), f"{times} times, {one.phase or 'at work'}: {one.sql[:1500]}")
        else:
            tests.ok(one.shape, show=False)


def main():
    parser = command_line.parser(__doc__, "--binary")
    full = os.environ.get("PLACET_TEST_SIZE") == "full"
    parser.add_argument("--engine", choices=ENGINES, default="sqlite")
    parser.add_argument("--providers", type=int, default=100_000 if full else 20_000)
    parser.add_argument("--housekeeping", action="store_true", default=full, help="wait for what writers do once a minute")
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
