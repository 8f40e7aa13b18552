"""pgbouncer before a PostgreSQL server."""

from functional_tests.lib import ports
from functional_tests.lib.servers import databases, machine
from functional_tests.lib.servers.node import Node


class Pooler(Node):
    users = ("postgres",)

    def __init__(self, server, pool_mode):
        self.program = machine.program("pgbouncer", "pgbouncer")
        super().__init__(f"pgbouncer-{pool_mode}")
        self.server, self.pool_mode = server, pool_mode
        (self.port,) = ports.free_ports(1)

    def command(self):
        users = self.folder / "users.txt"
        users.write_text(f'"{databases.USER}" "{databases.PASSWORD}"\n')
        settings = {
            "listen_addr": "127.0.0.1", "listen_port": self.port, "unix_socket_dir": "", "auth_type": "scram-sha-256",
            "auth_file": users, "pool_mode": self.pool_mode, "default_pool_size": 100}
        file = self.folder / "pgbouncer.ini"
        file.write_text(
            f"[databases]\n* = host=127.0.0.1 port={self.server.port}\n[pgbouncer]\n"
            + "".join(f"{name} = {value}\n" for name, value in settings.items()))
        for path in (users, file):
            path.chmod(0o644)
        return [self.program, file]

    def answers(self):
        return bool(self.database("postgres").query("SELECT 1"))

    def database(self, name):
        return databases.postgresql(self.port, name)
