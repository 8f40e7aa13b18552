"""Tests that only the routes in `[placet] slave_routes` are read from `slave_connection`.

    python -m functional_tests.replica.run [--binary PATH] [--engine postgresql-pair|mariadb]

On PostgreSQL the replica is a real standby, which is paused, killed and started again. On MariaDB it is the same server
with another user.
"""

import pathlib
import subprocess
import tempfile
import time

from functional_tests.lib import command_line, engines, live
from functional_tests.lib.patience import HANG_SECONDS, becomes, eventually
from functional_tests.lib.rest import Rest
from functional_tests.lib.test_counts import TestCounts

HOST = "4e8e5957-649f-477b-9e5b-f1f75b21c03c"
CONSUMER = "11111111-1111-4111-8111-111111111111"
ROUTES = "GET /usages, GET  /allocations/{consumer_uuid} ,"
KNOWN = ("GET /usages", "GET /allocations/{consumer_uuid}", "GET /resource_providers/{uuid}/inventories")
FIELDS = {"{uuid}": HOST, "{consumer_uuid}": CONSUMER, "{resource_class}": "VCPU", "{class}": "VCPU",
          "{dimension}": "fault", "{path}": "az1",
          "{workload_uuid}": CONSUMER}


def options(replica, routes=ROUTES):
    return {"placement_database": {"slave_connection": replica, "retry_interval": "1"},
            "placet": {"slave_routes": routes}}


def claim(rest, amount, generation):
    rest.must("PUT", f"/allocations/{CONSUMER}", {
        "allocations": {HOST: {"resources": {"VCPU": amount}}}, "consumer_generation": generation,
        "consumer_type": "VM", "project_id": "p", "user_id": "u"})


def prepare(rest):
    rest.must("POST", "/resource_providers", {"name": "host", "uuid": HOST})
    rest.must("PUT", f"/resource_providers/{HOST}/inventories", {
        "resource_provider_generation": 0, "inventories": {"VCPU": {"total": 8}}})
    rest.must("PUT", "/v1/types/VCPU", {"generation": None, "properties": {}})
    rest.must("PUT", "/v1/domains/fault/az1", {"generation": None, "aggregate": HOST})
    rest.must("PUT", f"/v1/workloads/{CONSUMER}", {
        "generation": None, "name": "none", "project_id": "p", "user_id": "u",
        "roles": [{"name": "member", "count": 0, "query": "resources=VCPU:1"}]})
    claim(rest, 1, None)


def of_project(rest):
    return rest.must("GET", "/usages?project_id=p").json["usages"].get("VM", {}).get("VCPU")


def of_consumer(rest):
    found = rest.must("GET", f"/allocations/{CONSUMER}").json["allocations"]
    return found[HOST]["resources"]["VCPU"] if found else None


def of_host(rest):
    return rest.must("GET", f"/resource_providers/{HOST}/usages").json["usages"]["VCPU"]


def in_candidates(rest):
    found = rest.must("GET", "/allocation_candidates?resources=VCPU:1").json["provider_summaries"]
    return found[HOST]["resources"]["VCPU"]["used"]


def ends(binary, folder, database, more):
    """Starts a placet that must refuse these options; returns the last line of its error output."""
    path = live.write_config(folder, more, database)
    done = subprocess.run(
        [str(live.placet_binary(binary)), "--config-file", str(path), "--bind", "127.0.0.1:0"],
        capture_output=True, text=True, timeout=HANG_SECONDS, cwd=folder, env=live.clean_environment(), check=False)
    assert done.returncode == 1, f"exit {done.returncode}: {done.stderr}"
    return done.stderr.splitlines()[-1]


def refused(binary, database):
    with tempfile.TemporaryDirectory(prefix="placet-test-") as folder:
        folder = pathlib.Path(folder)
        for wrong in ("GET /nowhere", "PUT /allocations/{consumer_uuid}", "GET /allocation_candidates", "/usages"):
            line = ends(binary, folder, database, options(database.url, f"GET /usages, {wrong}"))
            assert f"'{wrong}'" in line and all(known in line for known in KNOWN), line
        line = ends(binary, folder, database, {"placet": {"slave_routes": "GET /usages"}})
        assert "slave_connection" in line, line


def warned(binary, database):
    """Without routes placet ignores `slave_connection`, even if it could not use the URL, and warns once."""
    more = {"placement_database": {"slave_connection": "oracle://somewhere/else"}}
    with live.Service("placet", more, binary, database) as service:
        warnings = [line for line in service.log().splitlines() if "slave_connection" in line and " WARN " in line]
        assert len(warnings) == 1, service.log()


def every_route(binary, database, replica, count):
    """Each route that may be named reads from the replica. Other routes do not."""
    with tempfile.TemporaryDirectory(prefix="placet-test-") as folder:
        line = ends(binary, pathlib.Path(folder), database, options(replica.url, "GET /nowhere"))
    routes = line.partition("the routes that can are ")[2]
    assert len(routes.split(",")) > 10, line
    with live.Service("placet", options(replica.url, routes), binary, database) as service:
        rest = Rest(service.port)
        rest.must("GET", "/usages?project_id=p")  # connects to the replica
        for route in [*routes.split(", "), "GET /resource_providers", "GET /allocation_candidates"]:
            path = route.removeprefix("GET ")
            path = path.replace("{name}", "CUSTOM_A" if path.startswith("/traits") else "VCPU")
            for field, value in FIELDS.items():
                path = path.replace(field, value)
            query = {"/usages": "?project_id=p", "/allocation_candidates": "?resources=VCPU:1"}.get(path, "")
            before = count()
            rest.must("GET", path + query)
            assert (count() > before) == (route in routes.split(", ")), f"{route}: {before}, then {count()}"


def lags(rest, standby):
    """The named routes answer what the replica has. All others answer what was acknowledged."""
    standby.query("SELECT pg_wal_replay_pause()")
    becomes("the replay", "paused", lambda: standby.query("SELECT pg_get_wal_replay_pause_state()")[0][0])
    claim(rest, 5, 1)
    assert (of_project(rest), of_consumer(rest)) == (1, 1), "not read from the replica"
    assert (of_host(rest), in_candidates(rest)) == (5, 5), "read from the replica"
    claim(rest, 6, 2)  # is decided on the primary
    standby.query("SELECT pg_wal_replay_resume()")
    becomes("the usage", (6, 6), lambda: (of_project(rest), of_consumer(rest)))


def unavailable(rest, service, node, standby):
    """Without the replica the primary answers. When the replica is back, it is used again."""
    node.kill()
    began = time.monotonic()
    assert (of_project(rest), of_consumer(rest)) == (6, 6)
    assert time.monotonic() - began < 15, "a request waited for the replica"
    assert "slave_connection is not read from" in service.log(), service.log()
    began = time.monotonic()
    assert of_project(rest) == 6 and time.monotonic() - began < 1.5, "the next request waited for the replica too"
    node.restart()

    def session():
        of_project(rest)
        return bool(standby.query(
            "SELECT 1 FROM pg_stat_activity WHERE application_name = 'placet' AND datname = ?", [standby.name]))
    eventually("a session of placet", session)


def other_database(binary, database, other, expected):
    """The database of another deployment is not used as a replica."""
    with live.Service("placet", {}, binary, other):
        pass
    with live.Service("placet", options(other.url), binary, database) as service:
        rest = Rest(service.port)
        assert (of_project(rest), of_consumer(rest)) == (expected, expected)
        assert "it is no copy of the database" in service.log(), service.log()


def on_postgresql(tests, binary, engine):
    database = engine.create()
    standby = engine.nodes[1].database(database.name)

    def count():
        """The time of the last statement on the standby, as a text that grows."""
        return str(standby.query(
            "SELECT max(query_start) FROM pg_stat_activity WHERE application_name = 'placet' AND datname = ?",
            [database.name])[0][0])
    with live.Service("placet", options(standby.url), binary, database) as service:
        rest = Rest(service.port)
        prepare(rest)
        rest.must("PUT", "/traits/CUSTOM_A")
        becomes("the usage", 1, lambda: of_project(rest))
        tests.step("the named routes lag with the standby, no others do", lags, rest, standby)
        tests.step("every route that may be named", every_route, binary, database, standby, count)
        tests.step("without the standby, and with it again", unavailable, rest, service, engine.nodes[1], standby)
    tests.step("a database that is not a replica", other_database, binary, database, engine.create(), 6)
    return database


def on_mariadb(tests, binary, engine):
    database = engine.create()
    server = engine.nodes[0].database("")
    server.run("SET GLOBAL userstat = 1")
    server.run("CREATE USER 'reader'@'%' IDENTIFIED BY 'reader'")
    server.run(f"GRANT SELECT ON `{database.name}`.* TO 'reader'@'%'")
    url = f"mysql+pymysql://reader:reader@127.0.0.1{database.url.partition('@127.0.0.1')[2]}"

    def count():
        rows = server.query("SELECT select_commands FROM information_schema.user_statistics WHERE user = 'reader'")
        return rows[0][0] if rows else 0

    class Replica:
        pass
    Replica.url = url
    with live.Service("placet", options(url), binary, database) as service:
        rest = Rest(service.port)
        prepare(rest)
        rest.must("PUT", "/traits/CUSTOM_A")
        tests.step("every route that may be named", every_route, binary, database, Replica, count)
    tests.step("a database that is not a replica", other_database, binary, database, engine.create(), 1)
    return database


def main():
    parser = command_line.parser(__doc__, "--binary")
    parser.add_argument("--engine", choices=("postgresql-pair", "mariadb"), default="postgresql-pair")
    arguments = parser.parse_args()
    tests = TestCounts()
    with engines.Engine(arguments.engine) as engine:
        run = on_mariadb if arguments.engine == "mariadb" else on_postgresql
        database = run(tests, arguments.binary, engine)
        tests.step("unknown routes and a missing slave_connection are refused", refused, arguments.binary, database)
        tests.step("slave_connection without slave_routes is warned about", warned, arguments.binary, database)
    tests.finish()


if __name__ == "__main__":
    main()
