"""What `[placet] slave_routes` names is read by `slave_connection`, and everything else is not.

    python -m functional_tests.replica.run [--binary PATH] [--engine postgresql-pair|mariadb]

On PostgreSQL the copy is a real standby, which is held back, killed and started again; on MariaDB it is the same server
under another user's name.
"""

import pathlib
import subprocess
import tempfile
import time

from functional_tests.lib import command_line, engines, live
from functional_tests.lib.rest import Rest
from functional_tests.lib.test_counts import TestCounts

HOST = "4e8e5957-649f-477b-9e5b-f1f75b21c03c"
CONSUMER = "11111111-1111-4111-8111-111111111111"
TIMEOUT_SECONDS = 20
ROUTES = "GET /usages, GET  /allocations/{consumer_uuid} ,"
KNOWN = ("GET /usages", "GET /allocations/{consumer_uuid}", "GET /resource_providers/{uuid}/inventories")
FIELDS = {"{uuid}": HOST, "{consumer_uuid}": CONSUMER, "{resource_class}": "VCPU"}


def options(copy, routes=ROUTES):
    return {"placement_database": {"slave_connection": copy, "retry_interval": "1"}, "placet": {"slave_routes": routes}}


def claim(rest, amount, generation):
    rest.must("PUT", f"/allocations/{CONSUMER}", {
        "allocations": {HOST: {"resources": {"VCPU": amount}}}, "consumer_generation": generation,
        "consumer_type": "VM", "project_id": "p", "user_id": "u"})


def prepare(rest):
    rest.must("POST", "/resource_providers", {"name": "host", "uuid": HOST})
    rest.must("PUT", f"/resource_providers/{HOST}/inventories", {
        "resource_provider_generation": 0, "inventories": {"VCPU": {"total": 8}}})
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


def eventually(expected, look):
    deadline = time.monotonic() + TIMEOUT_SECONDS
    while (seen := look()) != expected:
        assert time.monotonic() < deadline, f"{seen} after {TIMEOUT_SECONDS} s, expected {expected}"
        time.sleep(0.05)


def ends(binary, folder, database, more):
    """What a placet says that refuses to start with these options."""
    path = live.write_config(folder, more, database)
    done = subprocess.run(
        [str(live.placet_binary(binary)), "--config-file", str(path), "--bind", "127.0.0.1:0"],
        capture_output=True, text=True, timeout=60, cwd=folder, env=live.clean_environment(), check=False)
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
    """Without routes the URL may be whatever OpenStack Placement was given: it is not even read."""
    more = {"placement_database": {"slave_connection": "oracle://somewhere/else"}}
    with live.Service("placet", more, binary, database) as service:
        told = [line for line in service.log().splitlines() if "slave_connection" in line and " WARN " in line]
        assert len(told) == 1, service.log()


def every_route(binary, database, copy, count):
    """Of each route that can be named it is seen that the copy is asked, and of no other."""
    with tempfile.TemporaryDirectory(prefix="placet-test-") as folder:
        line = ends(binary, pathlib.Path(folder), database, options(copy.url, "GET /nowhere"))
    routes = line.partition("those are ")[2]
    assert len(routes.split(",")) > 10, line
    with live.Service("placet", options(copy.url, routes), binary, database) as service:
        rest = Rest(service.port)
        rest.must("GET", "/usages?project_id=p")  # the first look at the copy
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
    """What is read there shows what the copy has, all else what was acknowledged."""
    standby.query("SELECT pg_wal_replay_pause()")
    eventually("paused", lambda: standby.query("SELECT pg_get_wal_replay_pause_state()")[0][0])
    claim(rest, 5, 1)
    assert (of_project(rest), of_consumer(rest)) == (1, 1), "not read at the copy"
    assert (of_host(rest), in_candidates(rest)) == (5, 5), "read at the copy"
    claim(rest, 6, 2)  # decided on the database
    standby.query("SELECT pg_wal_replay_resume()")
    eventually((6, 6), lambda: (of_project(rest), of_consumer(rest)))


def away(rest, service, node, standby):
    """Without the copy the database itself answers, and it is found again."""
    node.kill()
    began = time.monotonic()
    assert (of_project(rest), of_consumer(rest)) == (6, 6)
    assert time.monotonic() - began < 15, "it kept a request waiting"
    assert "slave_connection is not read from" in service.log(), service.log()
    began = time.monotonic()
    assert of_project(rest) == 6 and time.monotonic() - began < 1.5, "asked again at once"
    node.restart()

    def session():
        of_project(rest)
        return bool(standby.query(
            "SELECT 1 FROM pg_stat_activity WHERE application_name = 'placet' AND datname = ?", [standby.name]))
    eventually(True, session)


def no_copy(binary, database, other, expected):
    """Another deployment's database is not asked for this one's rows."""
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
        """Statements begin there: when the last one did."""
        return str(standby.query(
            "SELECT max(query_start) FROM pg_stat_activity WHERE application_name = 'placet' AND datname = ?",
            [database.name])[0][0])
    with live.Service("placet", options(standby.url), binary, database) as service:
        rest = Rest(service.port)
        prepare(rest)
        rest.must("PUT", "/traits/CUSTOM_A")
        eventually(1, lambda: of_project(rest))
        tests.step("what is named lags with the standby, nothing else does", lags, rest, standby)
        tests.step("every route that can be named", every_route, binary, database, standby, count)
        tests.step("without the standby, and with it again", away, rest, service, engine.nodes[1], standby)
    tests.step("a database that is no copy", no_copy, binary, database, engine.create(), 6)
    return database


def on_mariadb(tests, binary, engine):
    database = engine.create()
    server = engine.nodes[0].database("")
    server.run("SET GLOBAL userstat = 1")
    server.run("CREATE USER 'reader'@'%' IDENTIFIED BY 'reader'")
    server.run(f"GRANT SELECT ON `{database.name}`.* TO 'reader'@'%'")
    copy = database.url.partition("@127.0.0.1")
    url = f"mysql+pymysql://reader:reader@127.0.0.1{copy[2]}"

    def count():
        rows = server.query("SELECT select_commands FROM information_schema.user_statistics WHERE user = 'reader'")
        return rows[0][0] if rows else 0

    class Copy:
        pass
    Copy.url = url
    with live.Service("placet", options(url), binary, database) as service:
        rest = Rest(service.port)
        prepare(rest)
        rest.must("PUT", "/traits/CUSTOM_A")
        tests.step("every route that can be named", every_route, binary, database, Copy, count)
    tests.step("a database that is no copy", no_copy, binary, database, engine.create(), 1)
    return database


def main():
    parser = command_line.parser(__doc__, "--binary")
    parser.add_argument("--engine", choices=("postgresql-pair", "mariadb"), default="postgresql-pair")
    arguments = parser.parse_args()
    tests = TestCounts()
    with engines.Engine(arguments.engine) as engine:
        run = on_mariadb if arguments.engine == "mariadb" else on_postgresql
        database = run(tests, arguments.binary, engine)
        tests.step("what is refused", refused, arguments.binary, database)
        tests.step("what is warned of", warned, arguments.binary, database)
    tests.finish()


if __name__ == "__main__":
    main()
