"""A MariaDB server."""

import os

from functional_tests.lib import ports
from functional_tests.lib.servers import databases, machine
from functional_tests.lib.servers.node import Node

# A commit is in the kernel's page cache: it survives SIGKILL, and a power failure would lose it.
FAST = {"innodb-flush-log-at-trx-commit": 2, "innodb-doublewrite": 0}
DURABLE = {"innodb-flush-log-at-trx-commit": 1, "innodb-doublewrite": 1}


class Server(Node):
    users = ("mysql",)

    def __init__(self, name="mariadb", durable=False, settings=None):
        super().__init__(name, durable)
        self.more = settings or {}
        self.program = machine.program("mariadbd", "mariadb-server")
        self.data = self.folder / "data"
        (self.port,) = ports.free_ports(1)

    def make(self):
        """Makes a new, empty data directory, with a user that has all privileges from every address."""
        first = self.folder / "first.sql"
        first.write_text(
            "FLUSH PRIVILEGES;\n"  # until then no user can be created
            f"CREATE USER '{databases.USER}'@'%' IDENTIFIED BY '{databases.PASSWORD}';\n"
            f"GRANT ALL ON *.* TO '{databases.USER}'@'%' WITH GRANT OPTION;\n")
        self.tool(
            machine.program("mariadb-install-db", "mariadb-server"), "--no-defaults", f"--datadir={self.data}",
            "--auth-root-authentication-method=normal", "--skip-test-db", "--skip-name-resolve",
            f"--extra-file={first}", env={**os.environ, "TMPDIR": str(self.folder)})
        return self

    def settings(self):
        return {
            "datadir": self.data, "port": self.port, "bind-address": "127.0.0.1",
            "socket": self.folder / "s", "pid-file": self.folder / "pid", "tmpdir": self.folder,
            "character-set-server": "utf8mb4", "collation-server": "utf8mb4_general_ci", "max-connections": 500,
            "innodb-buffer-pool-size": "128M", "innodb-log-file-size": "64M",
            "skip-name-resolve": 1} | (DURABLE if self.durable else FAST) | self.more

    def command(self):
        return [self.program, "--no-defaults", *(f"--{name}={value}" for name, value in self.settings().items())]

    def answers(self):
        return bool(self.database("").query("SELECT 1"))

    def database(self, name):
        return databases.mariadb(self.port, name)

    def create(self, name, template=None):
        """Makes a database, as a copy of `template` if it is given."""
        server = self.database("")
        server.run(f"CREATE DATABASE `{name}`")
        if template:
            copy(server, template, name)
        return self.database(name)

    def drop(self, name):
        self.database("").run(f"DROP DATABASE IF EXISTS `{name}`")


def copy(server, template, name):
    """Copies a database with its tables, rows and foreign keys, for which MariaDB has no statement."""
    connection = server.connect()
    try:
        connection.execute("SET foreign_key_checks = 0, sql_mode = 'NO_AUTO_VALUE_ON_ZERO'")
        tables = [row[0] for row in connection.execute(f"SHOW TABLES FROM `{template}`").fetchall()]
        for table in tables:
            definition = connection.execute(f"SHOW CREATE TABLE `{template}`.`{table}`").fetchone()[1]
            connection.execute(f"USE `{name}`")
            connection.execute(definition)
            connection.execute(f"INSERT INTO `{name}`.`{table}` SELECT * FROM `{template}`.`{table}`")
    finally:
        connection.close()
