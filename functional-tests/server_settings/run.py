"""The settings of a database server, and the path to placet: refusals and warnings at start, in one line.

    python -m functional_tests.server_settings.run [--engine postgresql|mariadb] [--binary PATH]

With pgbouncer from Debian's package, and with a proxy that splits reads from writes.
"""

import contextlib
import time

from functional_tests.lib import command_line, engines, live
from functional_tests.lib.rest import Rest
from functional_tests.lib.servers import databases, machine, mariadb
from functional_tests.lib.servers.pgbouncer import Pooler
from functional_tests.lib.servers.splitting_proxy import SplittingProxy
from functional_tests.lib.test_counts import Skipped, TestCounts
from functional_tests.server_settings.tls import Tls


class Settings:
    """The steps; each starts placet on a database, and reads what it logs."""

    def __init__(self, engine, binary):
        self.engine, self.binary = engine, binary

    def lines(self, database):
        """What placet logs at start, after which it must serve a read and a write."""
        with live.Service("placet", binary=self.binary, database=database) as service:
            Rest(service.port).must("POST", "/resource_providers", {"name": "host"})
            Rest(service.port).must("GET", "/resource_providers")
            return [line for line in service.log().splitlines() if " WARN " in line or " ERROR " in line]

    def unexpected(self, lines):
        """The lines without those about the test's own server, which does not survive a crash of the machine."""
        return [line for line in lines if "fsync = off" not in line and "full_page_writes = off" not in line]

    def refusal(self, database):
        """The line with which placet refuses to start."""
        try:
            with live.Service("placet", binary=self.binary, database=database):
                pass
        except RuntimeError as error:
            lines = [line for line in str(error).splitlines() if line.startswith("placet: ")]
            assert len(lines) == 1, error
            return lines[0]
        raise AssertionError("placet serves")

    def refuses(self, database, *words):
        found = self.refusal(database)
        assert all(word in found for word in words), found

    def warns(self, database, *words):
        found = self.lines(database)
        matching = [line for line in found if all(word in line for word in words)]
        assert len(matching) == 1, "\n".join(found)

    def pooled(self, pool_mode):
        try:
            pooler = Pooler(self.engine.nodes[0], pool_mode)
        except machine.Missing as missing:
            raise Skipped(missing) from None
        try:
            database = pooler.start().database(self.engine.create().name)
            if pool_mode == "session":
                found = self.unexpected(self.lines(database))
                assert found == [], found
            else:
                self.refuses(database, "pgbouncer in transaction mode", "pool_mode = session")
        finally:
            pooler.remove()

    def several_hosts(self):
        name, port = self.engine.create().name, self.engine.nodes[0].port
        self.refuses(databases.postgresql(f"{port},{port}", name), "several hosts", "target_session_attrs=read-write")
        attributes = {"target_session_attrs": "read-write"}
        self.lines(databases.postgresql(f"{port},{port}", name, more=attributes))

    @contextlib.contextmanager
    def role(self, **settings):
        """A database whose role has settings in its own right."""
        database = self.engine.create()
        for setting, value in settings.items():
            database.run(f'ALTER ROLE "{databases.USER}" SET {setting} = {value}')
        try:
            yield database
        finally:
            for setting in settings:
                database.run(f'ALTER ROLE "{databases.USER}" RESET {setting}')

    def asynchronous_commit(self):
        with self.role(synchronous_commit="off") as database:
            self.warns(database, "synchronous_commit = off", "placet's sessions use on")

    def role_timeouts(self):
        """Every connection is idle for longer than the role allows, and serves all the same.

        Timeouts of statements and locks are in src/db/tests/servers/timeouts.rs.
        """
        half_a_second = dict.fromkeys(("idle_session_timeout", "idle_in_transaction_session_timeout"), 500)
        with self.role(**half_a_second) as database:
            with live.Service("placet", binary=self.binary, database=database) as service:
                rest = Rest(service.port)
                sessions = "SELECT array_agg(pid ORDER BY pid) FROM pg_stat_activity WHERE application_name = 'placet'"
                for name in ("one", "two"):
                    rest.must("POST", "/resource_providers", {"name": name})
                    rest.must("GET", "/resource_providers")
                    before = self.engine.nodes[0].database("postgres").query(sessions)
                    time.sleep(1)
                    assert before == self.engine.nodes[0].database("postgres").query(sessions), "a session was ended"

    def splitting_proxy(self):
        with engines.Engine("mariadb") as other:
            name = self.engine.create().name
            for node in (self.engine.nodes[0], other.nodes[0]):
                server = node.database("")
                server.run(f"CREATE DATABASE IF NOT EXISTS `{name}`")
                server.run("CREATE USER split@'%'")
                server.run("GRANT ALL ON *.* TO split@'%'")
            with SplittingProxy(self.engine.nodes[0].port, other.nodes[0].port) as proxy:
                database = databases.mariadb(proxy.port, name)
                database.url = f"mysql+pymysql://split@127.0.0.1:{proxy.port}/{name}"
                self.refuses(database, "several servers", str(self.engine.nodes[0].port), str(other.nodes[0].port),
                             "read/write splitting")

    def statement_format(self):
        server = mariadb.Server(settings={"log-bin": "binlog", "binlog-format": "STATEMENT"})
        try:
            server.make().start()
            self.refuses(server.create("placement"), "binlog_format = STATEMENT", "set binlog_format")
        finally:
            server.remove()


def main():
    parser = command_line.parser(__doc__, "--binary")
    parser.add_argument("--engine", choices=("postgresql", "mariadb"), default="postgresql")
    given = parser.parse_args()
    tests = TestCounts()
    with engines.Engine(given.engine) as engine:
        settings = Settings(engine, given.binary)
        if given.engine == "postgresql":
            tests.step("pgbouncer in transaction mode is refused", settings.pooled, "transaction")
            tests.step("pgbouncer in session mode is served", settings.pooled, "session")
            tests.step("several hosts need target_session_attrs", settings.several_hosts)
            tests.step("synchronous_commit = off is a warning", settings.asynchronous_commit)
            tests.step("idle timeouts of a role stop nothing", settings.role_timeouts)
            tests.step("fsync = off is a warning", settings.warns, engine.create(), "fsync = off", "set it to on")
        else:
            tests.step("a proxy that splits reads from writes is refused", settings.splitting_proxy)
            tests.step("binlog_format = STATEMENT is refused", settings.statement_format)
            tests.step("a log that is not flushed at COMMIT is a warning", settings.warns, engine.create(),
                       "innodb_flush_log_at_trx_commit = 2", "set it to 1")
            node = engine.nodes[0]
            several = databases.mariadb(node.port, engine.create().name, others=[node.port])
            tests.step("several hosts without Galera are a warning", settings.warns, several, "no Galera node")
            with Tls(given.binary) as tls:
                tests.step("found C2: the certificates of an option file hold", tls.option_file)
                tests.step("found C2: the certificates of the URL hold", tls.parameters)
                tests.step("found C2: the name in the server's certificate is checked", tls.names)
    tests.finish()


if __name__ == "__main__":
    main()
