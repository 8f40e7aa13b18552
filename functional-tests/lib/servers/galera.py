"""A Galera cluster of three MariaDB nodes on loopback, each with ports of its own."""

import contextlib
import os
import re
import shutil
import time

import pymysql

from functional_tests.lib.servers import machine, mariadb

LIBRARIES = ("/usr/lib/galera/libgalera_smm.so", "/usr/lib64/galera/libgalera_smm.so")
# Who is silent is put out after two seconds instead of five, so that tests need not wait. With less than that a
# pause of a second, or a busy machine, breaks the cluster into pieces without a majority.
TIMES = ("evs.keepalive_period=PT0.5S;evs.inactive_check_period=PT0.5S;evs.suspect_timeout=PT2S;"
         "evs.inactive_timeout=PT6S;evs.install_timeout=PT6S;gcache.size=64M")
NODES = 3
GTID_DOMAIN = 100  # of the cluster's commits; what a node does by itself has a domain of its own above it
SETTLED_SECONDS = 3
TRIES = 3  # to start a node again


def library():
    with contextlib.suppress(machine.Missing):
        machine.program("galera_new_cluster", "galera-4")  # comes with the library, and installs it
    found = next((path for path in LIBRARIES if os.path.exists(path)), None)
    if not found:
        raise machine.Missing("Galera's library is not installed: apt-get install galera-4 (as root)")
    return found


class Server(mariadb.Server):
    def __init__(self, number, durable):
        super().__init__(f"galera-{number}", durable)
        self.number = number
        machine.program("rsync", "rsync")
        self.library = library()
        self.group, self.transfer, self.everything = machine.free_ports(3)
        self.peers = []
        self.kept = self.folder / "logged"

    def settings(self):
        address = f"127.0.0.1:{self.group}"
        return super().settings() | {
            "wsrep-on": "ON", "wsrep-provider": self.library, "wsrep-provider-options":
                f"base_host=127.0.0.1;base_port={self.group};gmcast.listen_addr=tcp://{address};"
                f"ist.recv_addr=127.0.0.1:{self.transfer};{TIMES}",
            "wsrep-cluster-name": "placet-test", "wsrep-node-name": self.name, "wsrep-node-address": address,
            "wsrep-cluster-address": "gcomm://" + ",".join(f"127.0.0.1:{peer.group}" for peer in self.peers),
            "wsrep-sst-method": "rsync", "wsrep-sst-receive-address": f"127.0.0.1:{self.everything}",
            "wsrep-slave-threads": 4, "binlog-format": "ROW", "innodb-autoinc-lock-mode": 2,
            "default-storage-engine": "InnoDB",
            # What each node committed, by one numbering of the whole cluster: galera/lost_writes.py reads it.
            "log-bin": "binlog", "log-slave-updates": 1, "server-id": 1 + self.number, "wsrep-gtid-mode": 1,
            "wsrep-gtid-domain-id": GTID_DOMAIN, "gtid-domain-id": GTID_DOMAIN + 1 + self.number,
            "expire-logs-days": 0}

    def start(self, wait=True, arguments=()):
        self.keep_binary_logs()
        return super().start(wait, arguments)

    def keep_binary_logs(self):
        """Gives what it logged so far a second name: a node that is sent everything loses its own logs."""
        self.kept.mkdir(exist_ok=True)
        for path in sorted(self.data.glob("binlog.[0-9]*")):
            name = self.kept / f"{path.stat().st_ino}-{path.name}"
            if not name.exists():
                os.link(path, name)

    def binary_logs(self):
        """Everything that it ever logged, in order; what is under way too."""
        self.keep_binary_logs()
        return sorted(self.kept.iterdir(), key=lambda path: path.stat().st_mtime_ns)

    def answers(self):
        """Whether it takes part: it has what the others have, and is of the majority."""
        return self.status("wsrep_ready") == "ON" and self.status("wsrep_local_state_comment") == "Synced"

    def status(self, name):
        rows = self.database("").query("SHOW GLOBAL STATUS LIKE ?", [name])
        return rows[0][1] if rows else None

    def members(self):
        """How many nodes it sees, itself among them."""
        return int(self.status("wsrep_cluster_size") or 0)

    def restart(self, wait=True):
        """After a kill it says where its data ends, so that it is sent what it missed and not everything."""
        self.stop()
        return self.join(wait)

    def join(self, wait=True):
        """Takes part in the cluster. Tried again, as a service manager does: who took its ports may keep it from that."""
        for tries_left in reversed(range(TRIES)):
            history, number = self.position()
            known = [f"--wsrep-start-position={history}:{number}"] if number >= 0 else []
            self.transfer, self.everything = machine.free_ports(2)
            try:
                return self.start(wait, known)
            except RuntimeError:
                if not tries_left:
                    raise
            self.stop()
        return self

    def position(self):
        """Where the data ends while it does not run: the uuid of the cluster's history, and a number."""
        log = self.folder / "recovery.err"
        log.unlink(missing_ok=True)
        self.tool(*self.command(), "--wsrep-recover", f"--log-error={log}")
        found = re.findall(r"Recovered position:? ?([0-9a-f-]{36}):(-?\d+)", log.read_text(errors="replace"))
        return (found[-1][0], int(found[-1][1])) if found else (None, -1)

    def isolate(self):
        """It hears nobody of the cluster and nobody hears it; clients still reach it."""
        self.database("").run("SET GLOBAL wsrep_provider_options = 'gmcast.isolate=1'")

    def heal(self):
        self.database("").run("SET GLOBAL wsrep_provider_options = 'gmcast.isolate=0'")


class Cluster:
    def __init__(self, durable=False):
        self.nodes = [Server(n, durable) for n in range(NODES)]
        for node in self.nodes:
            node.peers = self.nodes

    def start(self):
        first, *others = self.nodes
        # What has the data of a cluster that ended in order is sent what came since, and not everything.
        first.make().start(arguments=["--wsrep-new-cluster"]).stop()
        for node in others:
            shutil.copytree(first.data, node.data, ignore=shutil.ignore_patterns("galera.cache", "binlog.*"))
            for path in (node.data, *node.data.rglob("*")):
                if node.owner:
                    os.chown(path, node.owner["user"], node.owner["group"])
        first.start(arguments=["--wsrep-new-cluster"])
        for node in others:
            # One after the other: while the first one sends a node what it lacks, another finds no donor, and may wait for ever.
            node.join()
        promised = mariadb.DURABLE if first.durable else mariadb.FAST
        for node in self.nodes:
            found = node.database("").query("SELECT @@innodb_flush_log_at_trx_commit")
            if found != ((promised["innodb-flush-log-at-trx-commit"],),):
                raise RuntimeError(f"{node.name} does not keep commits as it was told: {found}")
        return self

    def whole(self):
        """Whether every node takes part and sees all others."""
        return all(node.answers() and node.members() == len(self.nodes) for node in self.nodes)

    def settle(self, seconds=90):
        """Waits until it is whole and stays so: what follows a silence comes seconds after it."""
        deadline, since = time.monotonic() + seconds, None
        while time.monotonic() < deadline:
            try:
                whole = self.whole()
            except pymysql.err.MySQLError:  # of a node that does not take part
                whole = False
            since = (since or time.monotonic()) if whole else None
            if since and time.monotonic() > since + SETTLED_SECONDS:
                return
            time.sleep(0.2)
        raise RuntimeError(f"the cluster is not whole after {seconds} s")

    def restart(self):
        """After the end of all nodes: the one that knows most begins the cluster anew."""
        for node in self.nodes:
            node.stop()
        first = max(self.nodes, key=lambda node: node.position()[1])
        state = first.data / "grastate.dat"
        state.write_text(state.read_text().replace("safe_to_bootstrap: 0", "safe_to_bootstrap: 1"))
        first.start(arguments=["--wsrep-new-cluster"])
        for node in self.nodes:
            if node is not first:
                node.restart()
