"""A PostgreSQL server, and a primary with a synchronous standby."""

import signal

from functional_tests.lib import ports
from functional_tests.lib.patience import eventually
from functional_tests.lib.servers import databases, machine
from functional_tests.lib.servers.node import Node

# A commit is in the kernel's page cache: it survives SIGKILL, and a power failure would lose it.
FAST = {"fsync": "off", "synchronous_commit": "on", "full_page_writes": "off"}
DURABLE = {"fsync": "on", "synchronous_commit": "on", "full_page_writes": "on"}


class Server(Node):
    users = ("postgres",)
    stop_signal = signal.SIGINT  # its "fast" shutdown, which waits for no client

    def __init__(self, name="postgresql", durable=False, settings=None):
        super().__init__(name, durable)
        self.program = machine.program("postgres", "postgresql")
        self.settings = (DURABLE if durable else FAST) | (settings or {})
        self.data = self.folder / "data"
        (self.port,) = ports.free_ports(1)

    def make(self):
        """Makes a new, empty data directory."""
        word = self.folder / "password"
        word.write_text(databases.PASSWORD)
        word.chmod(0o644)
        self.tool(
            machine.program("initdb", "postgresql"), "-D", self.data, "-U", databases.USER, f"--pwfile={word}",
            "--auth=scram-sha-256", "--encoding=UTF8", "--locale=C", "--no-sync")
        # The standby logs in as the same user.
        with open(self.data / "pg_hba.conf", "a") as lines:
            lines.write("host replication all 127.0.0.1/32 scram-sha-256\n")
        return self

    def command(self):
        settings = {
            "port": self.port, "listen_addresses": "127.0.0.1", "unix_socket_directories": "",
            "max_connections": 200, "shared_buffers": "64MB", "max_wal_size": "256MB",
            # In the data directory, where nothing remains of a server that is killed.
            "dynamic_shared_memory_type": "mmap"} | self.settings
        return [self.program, "-D", self.data, *(f"--{name}={value}" for name, value in settings.items())]

    def answers(self):
        return bool(self.database("postgres").query("SELECT 1"))

    def database(self, name):
        return databases.postgresql(self.port, name)

    def create(self, name, template=None):
        """Makes a database, as a copy of `template` if it is given, which must not be in use."""
        more = f' TEMPLATE "{template}"' if template else ""
        if template:  # PostgreSQL refuses to copy a database that has connections, such as idle ones of a pool
            self.database("postgres").query(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = ?", [template])
        self.database("postgres").run(f'CREATE DATABASE "{name}"{more}')
        return self.database(name)

    def drop(self, name):
        self.database("postgres").run(f'DROP DATABASE IF EXISTS "{name}" WITH (FORCE)')


class Standby(Server):
    """A standby, which replicates from a primary."""

    def __init__(self, primary, port=None):
        super().__init__("postgresql-standby", primary.durable)
        self.primary = primary
        self.port = port or self.port

    def make(self):
        source = (f"host=127.0.0.1 port={self.primary.port} user={databases.USER} "
                  f"password='{databases.PASSWORD}' application_name=standby")
        self.tool(machine.program("pg_basebackup", "postgresql"), "-D", self.data, "-d", source, "-R", "-X", "stream",
                  "--checkpoint=fast", "--no-sync")
        return self

    def promote(self):
        """Makes it a primary that waits for no standby, although its copied settings name one."""
        database = self.database("postgres")
        database.query("SELECT pg_promote(true)")
        database.run("ALTER SYSTEM RESET synchronous_standby_names")
        database.query("SELECT pg_reload_conf()")


class Pair:
    """A primary and its synchronous standby, in this order in `nodes`. The standby has every acknowledged commit."""

    def __init__(self, durable=False):
        # `remote_apply` instead of `on` would only matter for reads on the standby, and there are none.
        settings = {"synchronous_commit": "on"}
        self.nodes = [Server("postgresql-primary", durable, settings)]

    def start(self):
        self.nodes[0].make().start()
        self.attach(Standby(self.nodes[0]))
        return self

    def attach(self, standby):
        """Makes the standby and starts it. From then on the primary waits for it."""
        primary = self.nodes[0]
        self.nodes[1:] = [standby]
        standby.make().start()
        database = primary.database("postgres")
        database.run("ALTER SYSTEM SET synchronous_standby_names = 'standby'")
        database.query("SELECT pg_reload_conf()")
        eventually(lambda: f"the standby keeps up; its log ends with:\n{standby.log()}", lambda: database.query(
            "SELECT 1 FROM pg_stat_replication WHERE sync_state = 'sync'"))

    def promote(self):
        """Makes the standby the primary, after the primary has ended."""
        dead, standby = self.nodes
        standby.promote()
        self.nodes[:] = [standby, dead]

    def replace_dead(self):
        """Replaces a dead standby by a new one on its port."""
        primary, dead = self.nodes
        if not dead.alive:
            dead.remove()
            self.attach(Standby(primary, dead.port))

    def database(self, name):
        """A database, through the server that accepts writes."""
        return databases.postgresql(",".join(str(node.port) for node in self.nodes), name, more={
            "target_session_attrs": "read-write"})
