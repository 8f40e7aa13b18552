"""Reloads of the snapshot: work without a reload, work during a reload, and a restored database.

    python -m functional_tests.reloads.run [--engine sqlite|postgresql|mariadb] [--binary PATH] [--providers N]

With `--providers` the cloud is larger, and the latencies of claims and searches are judged: `./tox.sh long` has 60,000,
while nothing else runs. Without it the suite runs beside others, whose load the latencies would show.
"""

import contextlib
import time

from functional_tests.lib import command_line, engines, live
from functional_tests.lib.patience import HANG_SECONDS, OPTIONS
from functional_tests.lib.rest import Rest
from functional_tests.lib.servers.proxy import ANSWERED, BEFORE, SENT, Moment, Proxy
from functional_tests.lib.test_counts import TestCounts
from functional_tests.query_plans import cloud
from functional_tests.reloads import hanging, latencies, restored
from functional_tests.reloads.host import add_host, claim, needs_server, reloads, used

SESSIONS = {
    "postgresql": "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = ? AND pid != pg_backend_pid()",
    "mariadb": "SELECT id FROM information_schema.processlist WHERE db = ? AND id != connection_id()",
}
CUTS = 5
FEW_PROVIDERS = 5_000


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


def a_broken_commit_reloads_nothing(binary, database):
    """The connection is cut before COMMIT, after it was sent, and after it was answered: the fence finds the
    outcome.
    """
    needs_server(database)
    with Proxy(database) as proxy, live.Service("placet", OPTIONS, binary, proxy.database) as service:
        rest = Rest(service.port)
        add_host(rest)
        for number, when in enumerate((BEFORE, SENT, ANSWERED), 1):
            cut = proxy.intercept(
                when, lambda moment: moment.link.writes and moment.request.starts("COMMIT"), Moment.cut)
            assert claim(rest, number).status == 204
            assert cut.done.wait(HANG_SECONDS), f"no COMMIT was cut: {when}"
            assert used(rest) == number
        assert claim(rest, 10).status == 204 and used(rest) == 4
        assert reloads(service) == 0, f"{reloads(service)} reloads"


def claims_during_reloads(binary, database, providers, cause):
    """Claims and searches, ten of each a second, while everything is read again. None of them fails."""
    with live.Service("placet", OPTIONS, binary, database):
        pass  # the schema
    cloud.load(database, providers or FEW_PROVIDERS)
    began = time.monotonic()
    with live.Service("placet", OPTIONS, binary, database) as service:
        started = time.monotonic() - began
        clients, lasted = latencies.reload_beside_clients(service, database, reloads, cause)
        if providers:
            latencies.judge(clients, lasted, started)


def main():
    parser = command_line.parser(__doc__, "--binary")
    parser.add_argument("--engine", choices=("sqlite", "postgresql", "mariadb"), default="sqlite")
    parser.add_argument("--providers", type=int, help=f"of the latencies (default: {FEW_PROVIDERS}, not judged)")
    given = parser.parse_args()
    tests = TestCounts()
    with engines.Engine(given.engine) as engine:
        for name, test in (
                ("a restart of one process reloads nothing in another", a_restart_reloads_nothing),
                ("a cut connection reloads nothing", a_cut_connection_reloads_nothing),
                ("a COMMIT whose connection is cut reloads nothing", a_broken_commit_reloads_nothing),
                ("searches may be stale while a reload hangs", hanging.searches_may_be_stale),
                ("claims go on while a reload hangs", hanging.claims_go_on),
                ("each process finds that the database was restored", restored.check)):
            tests.step(name, test, given.binary, engine.create())
        number = given.providers or FEW_PROVIDERS
        for reason, cause in latencies.CAUSES[given.engine].items():
            tests.step(f"claims and searches while {number} providers are read again, because {reason}",
                       claims_during_reloads, given.binary, engine.create(), given.providers, cause)
    tests.finish()


if __name__ == "__main__":
    main()
