"""One database, two services: placet and OpenStack Placement take it over from each other.

    adoption.py [--engine ENGINE] [--binary PATH]
"""

import argparse
import contextlib
import pathlib
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE / "conformance"))

import engines  # noqa: E402
import live  # noqa: E402
import revisions  # noqa: E402
import topologies  # noqa: E402
from rest import Rest  # noqa: E402
from tally import Tally  # noqa: E402
from world import World, new_uuid  # noqa: E402

AGGREGATE = "e0000000-0000-4000-8000-0000000000a1"


def dump(database):
    """The schema, in SQLite its text, and the version."""
    if database.engine == "sqlite":
        schema = database.query("SELECT name, sql FROM sqlite_master ORDER BY type, name")
    else:
        schema = revisions.inspected(database).tables
    return schema, revisions.version(database)


def shape(database):
    """table -> what the engine knows of it, whatever the words it was made with."""
    if database.engine != "sqlite":
        return revisions.inspected(database).tables
    tables = {}
    with contextlib.closing(database.connect()) as db:
        names = [r[0] for r in db.execute(
            "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'")]
        for table in names:
            columns = [(name, kind.upper(), notnull, default, key) for _, name, kind, notnull,
                       default, key in db.execute(f"PRAGMA table_info({table})")]
            indexes = []
            for _, name, unique, origin, partial in db.execute(f"PRAGMA index_list({table})"):
                parts = [r[2] for r in db.execute(f"PRAGMA index_info({name})")]
                made = None if name.startswith("sqlite_autoindex") else name
                indexes.append((str(made), unique, origin, partial, parts))
            keys = [r[2:8] for r in db.execute(f"PRAGMA foreign_key_list({table})")]
            tables[table] = {"columns": columns, "indexes": sorted(indexes),
                             "foreign keys": sorted(keys, key=str)}
    return tables


def rows(database, query):
    return [tuple(row) for row in database.query(query)]


def manage(program, database, *command):
    """Runs OpenStack Placement's own `placement-manage` or `placement-status` on the database."""
    with tempfile.TemporaryDirectory() as folder:
        config = live.write_config(pathlib.Path(folder), database=database)
        done = subprocess.run(
            [str(pathlib.Path(sys.executable).parent / program), "--config-file", str(config),
             *command], capture_output=True, text=True, timeout=120, cwd=folder,
            env=live.clean_environment(), check=False)
    assert done.returncode == 0, f"{program} {command}: {done.stdout}\n{done.stderr}"
    return done.stdout


def same_schema(tally, ours, theirs):
    got, expected = shape(ours), shape(theirs)
    for table in sorted(expected):
        for part, value in expected[table].items():
            tally.equal(f"{part} of {table}", value, got.get(table, {}).get(part))
    extra = [t for t in got.keys() - expected.keys() if not t.startswith("placet_")]
    tally.equal("tables that are neither OpenStack Placement's nor placet_…", [], extra)
    tally.equal("version of the schema", dump(theirs)[1], dump(ours)[1])
    classes = "SELECT id, name FROM resource_classes ORDER BY id"
    tally.equal("standard resource classes and their ids", rows(theirs, classes),
                rows(ours, classes), show=True)

    import os_traits

    names = {row[0] for row in rows(ours, "SELECT name FROM traits")}
    tally.equal("standard traits missing", set(), set(os_traits.get_traits()) - names)
    tally.equal("traits that are no standard ones", set(), names - set(os_traits.get_traits()))


def use(rest):
    """A little of everything, on whatever is there already."""
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
    world.furnish(child, inventories={"MEMORY_MB": {"total": 64, "min_unit": 2, "step_size": 2}})
    world.rest.must("PUT", f"/allocations/{new_uuid()}", {
        "allocations": {host: {"resources": {"CUSTOM_LICENCE": 4, "VCPU": 14}}},
        "project_id": "project", "user_id": "Übung", "consumer_generation": None,
        "consumer_type": "MIGRATION"})


def questions(world):
    """(version, path) of everything that both are asked."""
    rest = world.rest
    providers = [p["uuid"] for p in rest.must("GET", "/resource_providers").json[
        "resource_providers"]]
    asked = [("1.39", "/resource_providers"), ("1.0", "/resource_providers"),
             ("1.39", "/resource_classes"), ("1.39", "/traits"),
             ("1.39", "/traits?associated=true"), ("1.39", "/usages?project_id=project"),
             ("1.39", f"/usages?project_id={world.environ['PROJECT_ID']}"),
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
            if tree not in (world.environ["CUSTOM"], world.environ["CHILD"]):
                for version in ("1.39", "1.31"):
                    asked.append((version, "/allocation_candidates?resources="
                                  f"{resources}&in_tree={tree}"))
    return asked


def unordered(value):
    """The value with its lists sorted: no order of them is promised."""
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


def from_placet(tally, binary, engine):
    """A database that placet made, in OpenStack Placement's hands and back."""
    ours, theirs = engine.create(), engine.create()
    with live.Service("placet", binary=binary, database=ours):
        pass
    with live.Service("upstream", database=theirs):
        pass
    same_schema(tally, ours, theirs)
    before = dump(ours)
    tally.step("placement-manage db sync on placet's file", manage, "placement-manage", ours,
               "db", "sync")
    tally.equal("it finds nothing to do", before, dump(ours))
    tally.step("placement-status upgrade check on placet's file", manage, "placement-status",
               ours, "upgrade", "check")
    with live.Service("placet", binary=binary, database=ours) as service:
        tally.step("placet uses its file", use, Rest(service.port))
    with live.Service("upstream", database=ours) as service:
        tally.step("OpenStack Placement uses placet's file", use, Rest(service.port))
    with live.Service("placet", binary=binary, database=ours) as service:
        tally.step("placet uses it again", use, Rest(service.port))


def from_upstream(tally, binary, engine):
    """A database that OpenStack Placement made and filled: placet answers as it did."""
    path = engine.create()
    with live.Service("upstream", database=path) as service:
        world = World(service.port)
        fill(world)
        asked = questions(world)
        expected = answers(service.port, asked)
    before = dump(path)[1]
    with live.Service("placet", binary=binary, database=path) as service:
        given = answers(service.port, asked)
        for version, question in asked:
            tally.equal(f"{version} GET {question}", expected[version, question],
                        given[version, question], show=False)
        print(f"compared {len(asked)} answers", flush=True)
        tally.step("placet uses OpenStack Placement's file", use, Rest(service.port))
    tally.equal("the schema's version stays", before, dump(path)[1])
    with live.Service("upstream", database=path) as service:
        tally.step("OpenStack Placement uses it again", use, Rest(service.port))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--binary", help="placet's binary, if not the one cargo built")
    engines.add_option(parser)
    arguments = parser.parse_args()
    tally = Tally()
    with engines.Engine(arguments.engine) as engine:
        for part in (from_placet, from_upstream):
            try:
                part(tally, arguments.binary, engine)
            except RuntimeError as error:
                tally.fail(part.__doc__, error)
    tally.finish()


if __name__ == "__main__":
    main()
