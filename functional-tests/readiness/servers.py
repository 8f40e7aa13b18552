"""A database server that is read-only, away, silent or without a free connection."""

import contextlib
import time
import uuid

from functional_tests.lib import live
from functional_tests.lib.patience import eventually
from functional_tests.lib.rest import Rest
from functional_tests.lib.servers import databases
from functional_tests.readiness.states import ALL_READY, NONE_READY, becomes, degraded, reason, state, stays

SEARCH = "/allocation_candidates?resources=VCPU:1"
LIMIT_SECONDS = 3
OPTIONS = {"commit_timeout": "3", "ready_timeout": str(LIMIT_SECONDS)}
# May do all but write on a server that is read-only, as the user of a cloud.
PLAIN_USER = "plain"


def service(binary, database, **options):
    return live.Service("placet", {"placet": OPTIONS | options}, binary, database)


def write(rest):
    """Sends a write; returns the status."""
    return rest("POST", "/resource_providers", {"name": str(uuid.uuid4())}).status


def searches(rest, expected=200):
    answer = rest("GET", SEARCH)
    assert answer.status == expected, answer


def of_plain_user(engine, database):
    """The database, for a user that a read-only server refuses: on MariaDB it is a privilege to write there."""
    if engine.dialect != "mariadb":
        return database
    server = engine.nodes[0].database("")
    server.run(f"CREATE OR REPLACE USER '{PLAIN_USER}'@'%' IDENTIFIED BY 'word'")
    server.run(f"GRANT ALL ON `{database.name}`.* TO '{PLAIN_USER}'@'%'")
    user = f"{databases.USER}:{databases.QUOTED}@"
    plain = databases.mariadb(engine.nodes[0].port, database.name)
    plain.url = database.url.replace(user, f"{PLAIN_USER}:word@")
    return plain


@contextlib.contextmanager
def read_only(engine):
    """The server is read-only: MariaDB by its variable, PostgreSQL as a standby, until it is promoted."""
    node = engine.nodes[0]
    if engine.dialect == "mariadb":
        node.database("").run("SET GLOBAL read_only = 1")
        yield
        node.database("").run("SET GLOBAL read_only = 0")
        return
    node.stop()
    signal = node.data / "standby.signal"
    signal.touch()
    signal.chmod(0o666)
    node.start()
    yield
    node.database("postgres").query("SELECT pg_promote(true)")


def a_read_only_server_leaves_searches(binary, engine):
    with service(binary, of_plain_user(engine, engine.create())) as placet:
        rest = Rest(placet.port)
        assert write(rest) == 200
        becomes(placet.port, ALL_READY)
        with read_only(engine):
            assert write(rest) == 503
            becomes(placet.port, degraded("read_only"))
            for _ in range(3):
                searches(rest)
                assert write(rest) == 503
            stays(placet.port, degraded("read_only"))
        # No client writes: a balancer that asks for writes sends none.
        becomes(placet.port, ALL_READY)
        assert write(rest) == 200
        stays(placet.port, ALL_READY)
        log = placet.log()
        assert log.count("and refuses writes: it is read-only") == 1, log[-3000:]
        assert log.count("The database accepts writes again") == 1, log[-3000:]


def sessions_that_are_read_only_by_default_change_nothing(binary, engine):
    database = engine.create()
    with service(binary, database) as placet:
        database.run(f'ALTER DATABASE "{database.name}" SET default_transaction_read_only = on')
        database.query("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = ? "
                       "AND pid != pg_backend_pid()", [database.name])
        eventually("a write", lambda: write(Rest(placet.port)) == 200)
        becomes(placet.port, ALL_READY)


@contextlib.contextmanager
def stopped(engine):
    engine.nodes[0].stop()
    try:
        yield
    finally:
        engine.nodes[0].start()


@contextlib.contextmanager
def silent(engine):
    engine.nodes[0].pause()
    try:
        yield
    finally:
        engine.nodes[0].resume()


def a_server_that_is_away_leaves_nothing(binary, engine):
    away(binary, engine, stopped)


def a_silent_server_leaves_nothing(binary, engine):
    away(binary, engine, silent)


def away(binary, engine, kind):
    with service(binary, engine.create()) as placet:
        becomes(placet.port, ALL_READY)
        with kind(engine):
            becomes(placet.port, NONE_READY)
            assert reason(placet.port).startswith("the database has not answered for "), reason(placet.port)
            searches(Rest(placet.port), 503)
            stays(placet.port, NONE_READY)
        becomes(placet.port, ALL_READY)


def a_server_that_is_away_leaves_stale_reads(binary, engine):
    away_with_stale_reads(binary, engine, stopped)


def a_silent_server_leaves_stale_reads(binary, engine):
    away_with_stale_reads(binary, engine, silent)


def away_with_stale_reads(binary, engine, kind):
    with service(binary, engine.create(), stale_reads_seconds="600") as placet:
        rest = Rest(placet.port)
        searches(rest)
        with kind(engine):
            becomes(placet.port, degraded("stale_reads"))
            searches(rest)
            assert write(rest) == 503
            stays(placet.port, degraded("stale_reads"))
        becomes(placet.port, ALL_READY)


def stale_reads_end(binary, engine):
    """Searches of a memory that is too old are refused: the process is not ready any more."""
    with service(binary, engine.create(), stale_reads_seconds="20") as placet:
        searches(Rest(placet.port))
        with stopped(engine):
            becomes(placet.port, degraded("stale_reads"))
            becomes(placet.port, NONE_READY)
            searches(Rest(placet.port), 503)


def a_server_without_a_free_connection(binary, engine):
    """The connections of the follower and of the writer are enough for searches and writes."""
    database = engine.create()
    # A census would use the connection of the follower, too.
    with service(binary, database, census_interval="0") as placet, contextlib.ExitStack() as others:
        rest, holder = Rest(placet.port), others.enter_context(contextlib.closing(database.connect()))
        taken = set()
        searches(rest)
        time.sleep(IDLE_SECONDS)
        own = sessions(holder, database)
        reader = sessions(holder, database, RECENT[database.engine])
        assert len(reader) == 1 and len(own) == 3, (reader, own)

        def take_all():
            with contextlib.suppress(Exception):  # the two drivers have no class in common
                while True:
                    other = database.connect()
                    others.callback(other.close)
                    taken.add(own_session(other))

        take_all()
        end(holder, reader[0])
        take_all()
        # The first look is at the silence from before.
        stays(placet.port, ALL_READY, looks=10 * (LIMIT_SECONDS + 3))
        searches(rest)
        assert write(rest) == 200

        def is_unready():
            # placet may connect again before this test has taken the connection that became free.
            for session in set(sessions(holder, database)) - taken:
                end(holder, session)
            take_all()
            return state(placet.port) == NONE_READY

        eventually("the process is not ready", is_unready, pause=0.3)
        others.close()
        becomes(placet.port, ALL_READY)


def end(holder, session):
    if holder.engine == "postgresql":
        holder.execute("SELECT pg_terminate_backend(?)", [session])
    else:
        with contextlib.suppress(Exception):  # the session may have ended
            holder.execute(f"KILL {session}")


# Only placet's probe, on the connection of a reader, has sent a statement within this time.
RECENT = {"postgresql": " AND state_change > now() - interval '2 s'", "mariadb": " AND time < 2"}
IDLE_SECONDS = 5


OWN_SESSION = {"postgresql": "pg_backend_pid()", "mariadb": "connection_id()"}


def own_session(connection):
    return connection.execute(f"SELECT {OWN_SESSION[connection.engine]}", []).fetchone()[0]


def sessions(holder, database, more=""):
    """The sessions of placet, as their ids."""
    sql = {"postgresql": "SELECT pid FROM pg_stat_activity WHERE datname = ? AND pid != pg_backend_pid()",
           "mariadb": "SELECT id FROM information_schema.processlist WHERE db = ? AND id != connection_id()"}
    return [row[0] for row in holder.execute(sql[database.engine] + more, [database.name]).fetchall()]


CASES = [
    a_read_only_server_leaves_searches, a_server_that_is_away_leaves_nothing, a_silent_server_leaves_nothing,
    a_server_that_is_away_leaves_stale_reads, a_silent_server_leaves_stale_reads, stale_reads_end,
    a_server_without_a_free_connection,
]
POSTGRESQL_CASES = [sessions_that_are_read_only_by_default_change_nothing]
