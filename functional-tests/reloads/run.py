"""Reloads of the snapshot: what needs none, what does not wait for one, and a database that was restored.

    python -m functional_tests.reloads.run [--engine sqlite|postgresql|mariadb] [--binary PATH] [--providers N]

With `--providers` the cloud is larger, and the latencies say more: PLACET_TEST_SIZE=full has 60,000.
"""

import contextlib
import os
import time

from functional_tests.lib import command_line, engines, live
from functional_tests.lib.rest import Rest
from functional_tests.lib.test_counts import Skipped, TestCounts
from functional_tests.query_plans import cloud
from functional_tests.reloads import latencies, restored

HOST = "00000000-0000-4000-8000-000000000001"
SESSIONS = {
    "postgresql": "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = ? AND pid != pg_backend_pid()",
    "mariadb": "SELECT id FROM information_schema.processlist WHERE db = ? AND id != connection_id()",
}
OPTIONS = {"placet": {"commit_timeout": "5"}}
CUTS = 5


def reloads(service):
    """How often the process has read everything again, by its log."""
    return (service.folder / "log").read_text(errors="replace").count("The snapshot was reloaded")


def claim(rest, number, amount=1):
    return rest("PUT", f"/allocations/00000000-0000-4000-8000-{number:012d}", {
        "allocations": {HOST: {"resources": {"VCPU": amount}}}, "project_id": "p", "user_id": "u",
        "consumer_generation": None, "consumer_type": "VM"})


def used(rest):
    """What the process shows from its memory."""
    found = rest.must("GET", "/allocation_candidates?resources=VCPU:1").json
    return found["provider_summaries"][HOST]["resources"]["VCPU"]["used"]


def add_host(rest):
    rest.must("POST", "/resource_providers", {"name": "host", "uuid": HOST})
    rest.must("PUT", f"/resource_providers/{HOST}/inventories", {
        "resource_provider_generation": 0, "inventories": {"VCPU": {"total": 1000}}})


def needs_server(database):
    if database.engine == "sqlite":
        raise Skipped("SQLite is served by one process, over no connection that could be cut")


def a_restart_reloads_nothing(binary, database):
    """A process stops and starts again; an hour later its old writer is pruned."""
    needs_server(database)

    def writers():
        return {row[0] for row in database.query("SELECT id FROM placet_writers")}

    with live.Service("placet", OPTIONS, binary, database) as stays:
        rest, others = Rest(stays.port), writers()
        add_host(rest)
        for number in (1, 2, 3):
            before = writers()
            with live.Service("placet", OPTIONS, binary, database) as restarted:
                assert claim(Rest(restarted.port), number).status == 204
                assert used(rest) == number, "the peer does not show the claim"
                mine = writers() - before
            # As an hour later. The next process that starts prunes the row.
            for writer in mine:
                database.run("UPDATE placet_writers SET seen_at = '2001-01-01 00:00:00' WHERE id = ?", [writer])
        with live.Service("placet", OPTIONS, binary, database):
            assert used(rest) == 3 and claim(rest, 4).status == 204
            assert len(writers() - others) == 1, "the old writers were not pruned"
        assert reloads(stays) == 0, f"{reloads(stays)} reloads"


def a_cut_connection_reloads_nothing(binary, database):
    """All idle connections are cut, as by a proxy or by the server's idle timeout."""
    needs_server(database)
    with live.Service("placet", OPTIONS, binary, database) as service:
        rest = Rest(service.port)
        add_host(rest)
        for number in range(1, CUTS + 1):
            for row in database.query(SESSIONS[database.engine], [database.name]):
                if database.engine == "mariadb":
                    with contextlib.suppress(Exception):  # it may have ended by itself
                        database.run(f"KILL {row[0]}")
            assert claim(rest, number).status == 204
            assert used(rest) == number
        assert reloads(service) == 0, f"{reloads(service)} reloads after {CUTS} cuts"


def claims_go_on_while_a_reload_hangs(binary, database):
    """Another program has locked a table that only a reload of everything reads."""
    needs_server(database)
    with live.Service("placet", OPTIONS, binary, database) as service:
        rest = Rest(service.port)
        add_host(rest)
        assert claim(rest, 1).status == 204 and used(rest) == 1
        with contextlib.closing(database.connect()) as holder:
            lock = {"postgresql": ("BEGIN", "LOCK TABLE traits IN ACCESS EXCLUSIVE MODE"),
                    "mariadb": ("LOCK TABLES traits WRITE",)}[database.engine]
            database.run("UPDATE placet_epoch SET epoch = 'another'")
            for statement in lock:
                holder.execute(statement)
            search = rest("GET", "/allocation_candidates?resources=VCPU:1")
            assert search.status == 503, f"nothing says what is used: {search}"
            statuses = [claim(rest, number).status for number in range(2, 20)]
            assert statuses == [204] * 18, statuses
            assert reloads(service) == 0
        assert used(rest) == 19
        assert reloads(service) == 1


def claims_during_reloads(binary, database, providers):
    """Claims and searches, ten of each a second, while everything is read again."""
    with live.Service("placet", OPTIONS, binary, database):
        pass  # the schema
    cloud.load(database, providers)
    began = time.monotonic()
    with live.Service("placet", OPTIONS, binary, database) as service:
        started = time.monotonic() - began
        latencies.check(service, database, started, reloads)


def main():
    parser = command_line.parser(__doc__, "--binary")
    parser.add_argument("--engine", choices=("sqlite", "postgresql", "mariadb"), default="sqlite")
    full = os.environ.get("PLACET_TEST_SIZE") == "full"
    parser.add_argument("--providers", type=int, default=60_000 if full else 5_000)
    given = parser.parse_args()
    tests = TestCounts()
    with engines.Engine(given.engine) as engine:
        for name, test in (
                ("a restart of one process reloads nothing in another", a_restart_reloads_nothing),
                ("a cut connection reloads nothing", a_cut_connection_reloads_nothing),
                ("claims go on while a reload hangs", claims_go_on_while_a_reload_hangs),
                ("each process finds that the database was restored", restored.check)):
            tests.step(name, test, given.binary, engine.create())
        tests.step(f"claims during a reload of {given.providers} providers are granted",
                   claims_during_reloads, given.binary, engine.create(), given.providers)
    tests.finish()


if __name__ == "__main__":
    main()
