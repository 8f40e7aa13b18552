"""Tests that placet and OpenStack Placement take over a database from each other, in both directions.

    python -m functional_tests.adoption.run [--engine ENGINE] [--binary PATH]
"""

import contextlib
import pathlib
import tempfile

from functional_tests.conformance import topologies
from functional_tests.conformance.topology_builder import TopologyBuilder, new_uuid
from functional_tests.lib import command_line, engines, live
from functional_tests.lib.rest import Rest
from functional_tests.lib.servers import databases
from functional_tests.lib.tables import shapes, wrong_schemas
from functional_tests.lib.tables.contents import contents, unexplained
from functional_tests.lib.tables.workload import Workload
from functional_tests.lib.test_counts import TestCounts
from functional_tests.revisions.run import Tool

AGGREGATE = "e0000000-0000-4000-8000-0000000000a1"


def version(database):
    return rows(database, "SELECT version_num FROM alembic_version")


def rows(database, query):
    return [tuple(row) for row in database.query(query)]


def manage(program, database, *words):
    """Runs OpenStack Placement's own `placement-manage` or `placement-status` on the database."""
    run("upstream", None, database, *(words if program == "placement-manage" else ("status", *words)))


def placet(binary, database, *words):
    run("placet", binary, database, *words)


def run(kind, binary, database, *words):
    """Runs a command that must succeed."""
    with tempfile.TemporaryDirectory() as folder:
        code, out, err = Tool(kind, binary, folder).run(database, *words)
    assert code == 0, f"{words}: {out}\n{err}"


def same_schema(tests, ours, theirs):
    """Compares the schemas that two services made of empty databases. wrong_schemas.py then tests the comparison."""
    expected = shapes.shape(theirs)
    tests.equal("columns, keys, indexes and settings of every table", [],
                shapes.differences(expected, shapes.shape(ours)), show=True)
    tests.equal("the tables exist", True, {"allocations", "consumers", "alembic_version"} < expected.keys())
    tests.equal("version of the schema", version(theirs), version(ours))
    classes = "SELECT id, name FROM resource_classes ORDER BY id"
    tests.equal("standard resource classes and their ids", rows(theirs, classes),
                rows(ours, classes), show=True)

    import os_traits

    names = {row[0] for row in rows(ours, "SELECT name FROM traits")}
    tests.equal("standard traits missing", set(), set(os_traits.get_traits()) - names)
    tests.equal("traits that are not standard ones", set(), names - set(os_traits.get_traits()))
    known = []
    for name in wrong_schemas.each(theirs):
        found = shapes.differences(expected, shapes.shape(theirs))
        tests.equal(f"finds a wrong schema: {name}", True, any(each not in known for each in found), show=False)
        known = found


def same_character_sets(tests, binary, engine):
    """Both services make tables in the character set of the database."""
    for charset in ("latin1 COLLATE latin1_swedish_ci", "utf8mb3 COLLATE utf8mb3_unicode_ci"):
        ours, theirs = engine.create(), engine.create()
        for database in (ours, theirs):
            database.run(f"ALTER DATABASE CHARACTER SET {charset}")
        tests.step(f"both make tables in {charset}", placet, binary, ours, "db", "sync")
        manage("placement-manage", theirs, "db", "sync")
        found = shapes.shape(theirs)
        tests.equal(f"tables in {charset}", [], shapes.differences(found, shapes.shape(ours)))
        tests.equal(f"they are in {charset}", True, charset.split()[0] in found["traits"]["settings"])


def use(rest):
    """Creates a provider with inventories, traits, aggregates and a claim, and reads them."""
    provider, consumer = new_uuid(), new_uuid()
    rest.must("POST", "/resource_providers", {"name": provider, "uuid": provider})
    path = f"/resource_providers/{provider}"
    rest.must("PUT", f"{path}/inventories", {
        "resource_provider_generation": 0,
        "inventories": {"VCPU": {"total": 4}, "MEMORY_MB": {"total": 512}}})
    rest.must("PUT", f"{path}/traits", {
        "resource_provider_generation": 1, "traits": ["HW_CPU_X86_VMX"]})
    rest.must("PUT", f"{path}/aggregates", {
        "resource_provider_generation": 2, "aggregates": [AGGREGATE]})
    rest.must("PUT", f"/allocations/{consumer}", {
        "allocations": {provider: {"resources": {"VCPU": 3}}}, "project_id": "project",
        "user_id": "user", "consumer_generation": None, "consumer_type": "INSTANCE"})
    usages = rest.must("GET", f"{path}/usages").json["usages"]
    assert usages == {"VCPU": 3, "MEMORY_MB": 0}, usages
    names = [p["name"] for p in rest.must("GET", "/resource_providers").json["resource_providers"]]
    assert provider in names, names
    found = rest.must("GET", f"/allocation_candidates?resources=MEMORY_MB:512&in_tree={provider}")
    assert len(found.json["allocation_requests"]) == 1, found
    refused = rest("PUT", f"/allocations/{new_uuid()}", {
        "allocations": {provider: {"resources": {"VCPU": 2}}}, "project_id": "project",
        "user_id": "user", "consumer_generation": None, "consumer_type": "INSTANCE"})
    assert refused.status == 409, refused


def fill(world):
    world.uuids("RP_UUID", "RP_NAME", "PROJECT_ID", "USER_ID")
    topologies.three_claims(world)
    topologies.local_storage(world)
    world.rest.must("PUT", "/resource_classes/CUSTOM_LICENCE")
    host = world.provider("custom", "CUSTOM", None, [AGGREGATE], ["CUSTOM_QUIET"], {
        "CUSTOM_LICENCE": {"total": 5, "reserved": 1, "allocation_ratio": 1.1},
        "VCPU": {"total": 16, "allocation_ratio": 0.9}})
    child = world.provider("child", "CHILD", host, traits=["HW_NUMA_ROOT"])
    world.fill(child, inventories={"MEMORY_MB": {"total": 64, "min_unit": 2, "step_size": 2}})
    world.rest.must("PUT", f"/allocations/{new_uuid()}", {
        "allocations": {host: {"resources": {"CUSTOM_LICENCE": 4, "VCPU": 14}}},
        "project_id": "project", "user_id": "Übung", "consumer_generation": None,
        "consumer_type": "MIGRATION"})


def questions(rest, environ):
    """(version, path) of each GET that both services answer."""
    providers = [p["uuid"] for p in rest.must("GET", "/resource_providers").json[
        "resource_providers"]]
    asked = [("1.39", "/resource_providers"), ("1.0", "/resource_providers"),
             ("1.39", "/resource_classes"), ("1.39", "/traits"),
             ("1.39", "/traits?associated=true"), ("1.39", "/usages?project_id=project"),
             ("1.39", f"/usages?project_id={environ['PROJECT_ID']}"),
             ("1.37", "/usages?project_id=project"),
             ("1.39", f"/resource_providers?member_of={AGGREGATE}"),
             ("1.39", "/resource_providers?required=CUSTOM_QUIET"),
             ("1.39", "/resource_providers?resources=VCPU:1")]
    consumers = set()
    for uuid in providers:
        path = f"/resource_providers/{uuid}"
        asked += [("1.39", path + tail) for tail in (
            "", "/inventories", "/traits", "/aggregates", "/allocations", "/usages")]
        consumers |= set(rest.must("GET", f"{path}/allocations").json["allocations"])
    for uuid in consumers:
        asked += [(version, f"/allocations/{uuid}") for version in ("1.39", "1.12", "1.0")]
    for tree in providers:
        for resources in ("VCPU:1", "VCPU:1,MEMORY_MB:64,DISK_GB:10", "CUSTOM_LICENCE:1"):
            if tree not in (environ["CUSTOM"], environ["CHILD"]):
                for version in ("1.39", "1.31"):
                    asked.append((version, "/allocation_candidates?resources="
                                  f"{resources}&in_tree={tree}"))
    return asked


def unordered(value):
    """The value with its lists sorted: the API promises no order."""
    if isinstance(value, dict):
        return {k: unordered(v) for k, v in value.items()}
    if isinstance(value, list):
        return sorted((unordered(v) for v in value), key=repr)
    return value


def answers(port, asked):
    given = {}
    for version, path in asked:
        answer = Rest(port)("GET", path, version=version)
        given[version, path] = (answer.status, unordered(answer.json))
    return given


def from_placet(tests, binary, engine):
    """OpenStack Placement takes over a database that placet made."""
    ours, theirs = engine.create(), engine.create()
    with live.Service("placet", binary=binary, database=ours):
        pass
    with live.Service("upstream", database=theirs):
        pass
    same_schema(tests, ours, theirs)
    if engine.dialect == "mariadb":
        same_character_sets(tests, binary, engine)
    upstream_tools_change_nothing(tests, ours)
    with live.Service("placet", binary=binary, database=ours) as service:
        tests.step("placet uses its database", use, Rest(service.port))
    with live.Service("upstream", database=ours) as service:
        tests.step("OpenStack Placement uses placet's database", use, Rest(service.port))


def upstream_tools_change_nothing(tests, database):
    """OpenStack Placement's tools change nothing in a database that placet serves."""
    shape, rows_before = shapes.shape(database), contents(database)
    tests.step("placement-manage db sync on placet's database", manage, "placement-manage", database, "db", "sync")
    tests.step("placement-status upgrade check on placet's database", manage, "placement-status", database,
               "upgrade", "check")
    tests.equal("they change nothing", (shape, {}),
                (shapes.shape(database), unexplained(rows_before, contents(database))))


def from_upstream(tests, binary, engine):
    """placet takes over a database that OpenStack Placement made and filled. Switches back and again follow."""
    path = engine.create()
    with live.Service("upstream", database=path) as service:
        world = TopologyBuilder(service.port)
        fill(world)
        environ = world.environ
        asked = questions(world.rest, environ)
        first = answers(service.port, asked)
    shape, before = shapes.shape(path), contents(path)
    tests.step("placet db sync", placet, binary, path, "db", "sync")
    tests.equal("placet db sync changes only placet's own tables", [],
                shapes.differences(shape, shapes.shape(path)))
    with live.Service("placet", {"placement_database": {"sync_on_startup": "false"}}, binary, path) as service:
        tests.equal("placet's start changes no row", {}, unexplained(before, contents(path)))
        compare(tests, engine, path, "adopted", first, answers(service.port, asked))
        before = contents(path)
        work = Workload(Rest(service.port), new_uuid)
        tests.step("placet writes", work.do, environ["RP_UUID"], environ["CONSUMER_0"], environ["CONSUMER_ID"])
        tests.equal("only the rows that the workload touches differ", [],
                    work.unexpected_differences(before, contents(path)))
        tests.step("placet uses OpenStack Placement's database", use, Rest(service.port))
        asked = questions(Rest(service.port), environ)
        worked = answers(service.port, asked)
        tests.step("while placet serves, OpenStack Placement's tools change nothing", upstream_tools_change_nothing,
                   tests, path)
    with live.Service("upstream", database=path) as service:
        compare(tests, engine, path, "switched back", answers(service.port, asked), worked)
        work = Workload(Rest(service.port), new_uuid)
        tests.step("OpenStack Placement writes again", work.do, environ["RP_UUID"],
                   environ["ALT_CONSUMER_ID"], environ["CONSUMER_ID"])
        tests.step("OpenStack Placement uses its database again", use, Rest(service.port))
        asked = questions(Rest(service.port), environ)
        theirs = answers(service.port, asked)
    with live.Service("placet", binary=binary, database=path) as service:
        compare(tests, engine, path, "switched again", theirs, answers(service.port, asked))


def described(tests, binary, engine):
    """OpenStack Placement deletes a provider that placet described, and makes it again."""
    path, host = engine.create(), new_uuid()
    made = {"name": "described", "uuid": host}
    with live.Service("placet", binary=binary, database=path) as service:
        rest = Rest(service.port)
        rest.must("POST", "/resource_providers", made)
        rest.must("PUT", f"/v1/providers/{host}", {"generation": None, "state": "draining"})
    with live.Service("upstream", database=path) as service:
        rest = Rest(service.port)
        shown = rest("GET", f"/resource_providers/{host}/traits").json["traits"]
        tests.equal("OpenStack Placement sees the trait of a draining host", ["COMPUTE_STATUS_DISABLED"], shown)
        rest.must("DELETE", f"/resource_providers/{host}")
        rest.must("POST", "/resource_providers", made | {"uuid": new_uuid()})
        rest.must("POST", "/resource_providers", made | {"name": "again"})
    with live.Service("placet", binary=binary, database=path) as service:
        found = Rest(service.port)("GET", f"/v1/providers/{host}").json
        tests.equal("a provider that OpenStack Placement made again is not described", (None, "up"),
                    (found["generation"], found["state"]))


def compare(tests, engine, database, when, theirs, ours):
    """Both answer alike. If OpenStack Placement fails on PostgreSQL, placet answers what that answers on SQLite."""
    failed = [question for question, (status, _) in theirs.items() if status == 500]
    if engine.dialect == "postgresql":
        grouped = [q for q in theirs if q[1].startswith("/usages") and q[0] == "1.39"]
        tests.equal(f"{when}: OpenStack Placement fails on the requests of docs/differences.md", grouped, failed)
        tests.equal(f"{when}: it fails on a GROUP BY", True, all("GroupingError" in str(theirs[q]) for q in failed))
        theirs = theirs | answers_on_sqlite(engine, database, failed)
    for (version_, path), expected in theirs.items():
        tests.equal(f"{when}: {version_} GET {path}", expected, ours[version_, path], show=False)
    print(f"compared {len(theirs)} answers: {when}", flush=True)


def answers_on_sqlite(engine, database, asked):
    """The answers of OpenStack Placement from the same rows in SQLite."""
    with tempfile.TemporaryDirectory() as folder:
        copy = databases.sqlite(pathlib.Path(folder, "copy.sqlite"))
        manage("placement-manage", copy, "db", "sync")
        with contextlib.closing(copy.connect()) as connection:
            for table, found in contents(database).items():
                connection.execute(f"DELETE FROM {table}")
                for row in found:
                    connection.execute(f"INSERT INTO {table} ({', '.join(row)}) VALUES ({', '.join('?' * len(row))})",
                                       [str(v) if hasattr(v, "isoformat") else v for v in row.values()])
        with live.Service("upstream", database=copy) as service:
            return answers(service.port, asked)


def main():
    parser = command_line.parser(__doc__, "--binary", "--engine")
    arguments = parser.parse_args()
    tests = TestCounts()
    with engines.Engine(arguments.engine) as engine:
        for part in (from_placet, from_upstream, described):
            try:
                part(tests, arguments.binary, engine)
            except RuntimeError as error:
                tests.fail(part.__doc__, error)
    tests.finish()


if __name__ == "__main__":
    main()
