"""A Galera cluster of three MariaDB nodes on loopback, each with ports of its own."""

import contextlib
import os
import re
import shutil
import time

import pymysql

from functional_tests.lib import ports
from functional_tests.lib.patience import HANG_SECONDS
from functional_tests.lib.servers import machine, mariadb

LIBRARIES = ("/usr/lib/galera/libgalera_smm.so", "/usr/lib64/galera/libgalera_smm.so")
# A silent node is evicted after two seconds instead of five, so that tests wait less. With a shorter timeout a pause of
# a second, or a busy machine, splits the cluster into parts without a majority.
TIMES = ("evs.keepalive_period=PT0.5S;evs.inactive_check_period=PT0.5S;evs.suspect_timeout=PT2S;"
         "evs.inactive_timeout=PT6S;evs.install_timeout=PT6S;gcache.size=64M")
NODES = 3
GTID_DOMAIN = 100  # of the cluster's commits; a node's local transactions have a higher domain of their own
SETTLED_SECONDS = 3
STATE = ("wsrep_ready", "wsrep_local_state_comment", "wsrep_cluster_size")  # of a node
START_ATTEMPTS = 3  # of starting a node


def library():
    with contextlib.suppress(machine.Missing):
        machine.program("galera_new_cluster", "galera-4")  # comes with the library, and installs it
    found = next((path for path in LIBRARIES if os.path.exists(path)), None)
    if not found:
        raise machine.Missing("Galera's library is not installed: apt-get install galera-4 (as root)")
    return found


class Server(mariadb.Server):
    def __init__(self, number, durable, settings=None):
        super().__init__(f"galera-{number}", durable, settings)
        self.number = number
        machine.program("rsync", "rsync")
        self.library = library()
        self.group_port, self.ist_port, self.sst_port = ports.free_ports(3)
        self.peers = []
        self.log_archive = self.folder / "logged"

    def settings(self):
        address = f"127.0.0.1:{self.group_port}"
        return super().settings() | {
            "wsrep-on": "ON", "wsrep-provider": self.library, "wsrep-provider-options":
                f"base_host=127.0.0.1;base_port={self.group_port};gmcast.listen_addr=tcp://{address};"
                f"ist.recv_addr=127.0.0.1:{self.ist_port};{TIMES}",
            "wsrep-cluster-name": "placet-test", "wsrep-node-name": self.name, "wsrep-node-address": address,
            "wsrep-cluster-address": "gcomm://" + ",".join(f"127.0.0.1:{peer.group_port}" for peer in self.peers),
            "wsrep-sst-method": "rsync", "wsrep-sst-receive-address": f"127.0.0.1:{self.sst_port}",
            "wsrep-slave-threads": 4, "binlog-format": "ROW", "innodb-autoinc-lock-mode": 2,
            "default-storage-engine": "InnoDB",
            # galera/lost_writes.py reads each node's commits, which have the same GTID on all nodes.
            "log-bin": "binlog", "log-slave-updates": 1, "server-id": 1 + self.number, "wsrep-gtid-mode": 1,
            "wsrep-gtid-domain-id": GTID_DOMAIN, "gtid-domain-id": GTID_DOMAIN + 1 + self.number,
            "expire-logs-days": 0}

    def start(self, wait=True, arguments=()):
        self.keep_binary_logs()
        return super().start(wait, arguments)

    def keep_binary_logs(self):
        """Gives the binary logs a second name, because a full state transfer (SST) deletes a node's own logs."""
        self.log_archive.mkdir(exist_ok=True)
        for path in sorted(self.data.glob("binlog.[0-9]*")):
            name = self.log_archive / f"{path.stat().st_ino}-{path.name}"
            if not name.exists():
                os.link(path, name)

    def binary_logs(self):
        """All binary logs that the node ever wrote, in order, the current one included."""
        self.keep_binary_logs()
        return sorted(self.log_archive.iterdir(), key=lambda path: path.stat().st_mtime_ns)

    def answers(self):
        """Whether the node is synced and belongs to the primary component."""
        return self.members() > 0

    def status(self, name):
        rows = self.database("").query("SHOW GLOBAL STATUS LIKE ?", [name])
        return rows[0][1] if rows else None

    def members(self):
        """The number of nodes that it sees, including itself. 0 if it is not synced in the primary component."""
        rows = self.database("").query("SHOW GLOBAL STATUS WHERE Variable_name IN (?, ?, ?)", STATE)
        state = {name.lower(): value for name, value in rows}
        ready, comment, size = (state.get(name) for name in STATE)
        return int(size) if ready == "ON" and comment == "Synced" else 0

    def restart(self, wait=True):
        """Starts it again at the position of its data, so that it needs only an incremental state transfer (IST)."""
        self.stop()
        return self.join(wait)

    def join(self, wait=True):
        """Joins the cluster. Tried again if it fails, because another process may have taken a port."""
        for tries_left in reversed(range(START_ATTEMPTS)):
            history, number = self.position()
            known = [f"--wsrep-start-position={history}:{number}"] if number >= 0 else []
            self.ist_port, self.sst_port = ports.free_ports(2)
            try:
                return self.start(wait, known)
            except RuntimeError:
                if not tries_left:
                    raise
            self.stop()
        return self

    def position(self):
        """The last committed position of a stopped node: the uuid of the cluster's history, and a number."""
        log = self.folder / "recovery.err"
        log.unlink(missing_ok=True)
        self.tool(*self.command(), "--wsrep-recover", f"--log-error={log}")
        found = re.findall(r"Recovered position:? ?([0-9a-f-]{36}):(-?\d+)", log.read_text(errors="replace"))
        return (found[-1][0], int(found[-1][1])) if found else (None, -1)

    def isolate(self):
        """Cuts the node off from the cluster. Clients still reach it."""
        self.database("").run("SET GLOBAL wsrep_provider_options = 'gmcast.isolate=1'")

    def heal(self):
        self.database("").run("SET GLOBAL wsrep_provider_options = 'gmcast.isolate=0'")


class Cluster:
    def __init__(self, durable=False, settings=None):
        """`settings` are those of each node, added to the node's own."""
        self.nodes = [Server(n, durable, settings) for n in range(NODES)]
        for node in self.nodes:
            node.peers = self.nodes

    def start(self):
        first, *others = self.nodes
        # A copy of the data of a cluster that was stopped in order needs only an incremental state transfer.
        first.make().start(arguments=["--wsrep-new-cluster"]).stop()
        for node in others:
            shutil.copytree(first.data, node.data, ignore=shutil.ignore_patterns("galera.cache", "binlog.*"))
            for path in (node.data, *node.data.rglob("*")):
                if node.owner:
                    os.chown(path, node.owner["user"], node.owner["group"])
        first.start(arguments=["--wsrep-new-cluster"])
        for node in others:
            # One after the other: while the first node is a donor, another joiner finds none, and may wait for ever.
            node.join()
        promised = mariadb.DURABLE if first.durable else mariadb.FAST
        for node in self.nodes:
            found = node.database("").query("SELECT @@innodb_flush_log_at_trx_commit")
            if found != ((promised["innodb-flush-log-at-trx-commit"],),):
                raise RuntimeError(f"{node.name} has another durability than configured: {found}")
        return self

    def is_complete(self):
        """Whether every node is synced and sees all others."""
        return all(node.members() == len(self.nodes) for node in self.nodes)

    def settle(self, seconds=HANG_SECONDS):
        """Waits until the cluster is complete for SETTLED_SECONDS: it may evict a node seconds after a silence."""
        deadline, since = time.monotonic() + seconds, None
        while time.monotonic() < deadline:
            try:
                complete = self.is_complete()
            except pymysql.err.MySQLError:  # from a node that is not synced
                complete = False
            since = (since or time.monotonic()) if complete else None
            if since and time.monotonic() > since + SETTLED_SECONDS:
                return
            time.sleep(0.2)
        raise RuntimeError(f"the cluster is not complete after {seconds} s")

    def restart(self):
        """Restarts a cluster whose nodes have all ended: the most advanced node bootstraps it."""
        for node in self.nodes:
            node.stop()
        first = max(self.nodes, key=lambda node: node.position()[1])
        state = first.data / "grastate.dat"
        state.write_text(state.read_text().replace("safe_to_bootstrap: 0", "safe_to_bootstrap: 1"))
        first.start(arguments=["--wsrep-new-cluster"])
        for node in self.nodes:
            if node is not first:
                node.restart()
