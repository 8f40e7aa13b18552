"""Tests of lost_writes.py, which attributes a lost write to the cluster or to placet, by cases whose cause is known.

For each case rows are deleted as if a node had never had them, or all nodes are killed while they may lose acknowledged
commits.
"""

import random
import time

from functional_tests.chaos import topology
from functional_tests.chaos.history import OK, History
from functional_tests.galera import lost_writes
from functional_tests.lib.patience import HANG_SECONDS

HOLDS = {topology.HOSTS[0]: {"VCPU": 2}, topology.POOL: {"DISK_GB": 3}}
UNREPLICATED = "SET SESSION wsrep_on = OFF, sql_log_bin = OFF"


class Case:
    def __init__(self, engine, database, members):
        self.engine, self.database, self.members = engine, database, members
        self.chance, self.history = random.Random(5), History()
        topology.prepare(members[0].rest)

    def claim(self, member=0):
        """Makes an acknowledged claim; returns its consumer."""
        consumer = topology.new_consumer(self.chance)
        op = self.history.begin("claim", sets={consumer: HOLDS}, expects={consumer: None})
        self.members[member].rest.must("PUT", f"/allocations/{consumer}", topology.body(HOLDS, None))
        op.end(OK)
        return consumer

    def remove(self, consumer, nodes):
        """Deletes the consumer's transaction from these nodes' tables, without a trace in the logs."""
        log = lost_writes.BinaryLogs(self.engine, self.database)
        commit = next(c for c in log.logged[self.engine.nodes[0].name] if consumer in c.allocations)
        for node in nodes:
            connection = node.database(self.database.name).connect()
            connection.execute(UNREPLICATED)
            connection.execute("DELETE FROM allocations WHERE consumer_id = ?", [consumer])
            connection.execute("DELETE FROM consumers WHERE uuid = ?", [consumer])
            connection.execute("DELETE FROM placet_changes WHERE token = ?", [commit.token])
            connection.close()
        return commit

    def explained(self, consumer):
        return lost_writes.explain(
            self.engine, self.database, self.history.operations, [f"no order explains consumer {consumer}"])

    # --- the cases --------------------------------------------------------------------------------

    def nothing_lost(self):
        consumer, deadline = self.claim(1), time.monotonic() + HANG_SECONDS
        everywhere, logged = {node.name for node in self.engine.nodes}, ()
        while set(logged) != everywhere:
            assert time.monotonic() < deadline, f"not in every node's log after {HANG_SECONDS} s: {logged}"
            (logged,) = lost_writes.BinaryLogs(self.engine, self.database).of(consumer, HOLDS).values() or [()]
        lines = self.explained(consumer)
        assert lines == ["nothing was lost by the cluster: all of these commits are in all nodes' tables"], lines

    def lost_by_all(self):
        consumer = self.claim()
        commit = self.remove(consumer, self.engine.nodes)
        (lines,) = self.explained(consumer)
        for word in ("lost by the engine", "galera-1 committed it", commit.gtid, commit.writer,
                     "not in the tables of galera-0, galera-1, galera-2: the cluster lost it"):
            assert word in lines, (word, lines)

    def lost_by_one(self):
        consumer = self.claim()
        self.remove(consumer, self.engine.nodes[2:])
        (lines,) = self.explained(consumer)
        assert "not in the tables of galera-2: the cluster lost it" in lines, lines

    def never_committed(self):
        consumer = topology.new_consumer(self.chance)
        self.history.begin("claim", sets={consumer: HOLDS}).end(OK)
        (lines,) = self.explained(consumer)
        assert "lost by placet" in lines and "no node's binary log has a commit" in lines, lines

    def other_amount(self):
        """A commit that wrote other allocations than those that were acknowledged."""
        consumer = self.claim()
        self.history.operations[-1].sets = {consumer: {topology.HOSTS[0]: {"VCPU": 3}}}
        (lines,) = self.explained(consumer)
        assert "lost by placet" in lines, lines

    def replaced_in_part(self):
        """One allocation of the consumer changes, the other stays: placet deletes and inserts both rows."""
        consumer = self.claim()
        changed = HOLDS | {topology.HOSTS[0]: {"VCPU": 1}}
        op = self.history.begin("claim", sets={consumer: changed}, expects={consumer: 1})
        self.members[0].rest.must("PUT", f"/allocations/{consumer}", topology.body(changed, 1))
        op.end(OK)
        lines = self.explained(consumer)
        assert lines == ["nothing was lost by the cluster: all of these commits are in all nodes' tables"], lines

    def overwritten(self):
        """A provider's generation that continues from an old value, as in the logs after a lost update."""
        consumer = self.claim()
        node = self.engine.nodes[0]
        connection = node.database(self.database.name).connect()
        connection.execute(UNREPLICATED)
        connection.execute("UPDATE resource_providers SET generation = generation - 1 WHERE uuid = ?", [topology.POOL])
        connection.execute("SET SESSION sql_log_bin = ON")
        connection.execute("START TRANSACTION")
        connection.execute("UPDATE resource_providers SET generation = generation + 1 WHERE uuid = ?", [topology.POOL])
        connection.execute("INSERT INTO placet_changes VALUES ('made', 1, 'made', NOW(6), '')")
        connection.execute("COMMIT")
        connection.close()
        lines = self.explained(consumer)
        assert any("was overwritten by a commit that had seen" in line for line in lines), lines

    def killed(self):
        """SIGKILL to all nodes, whose logs are rarely flushed: the engine loses acknowledged commits."""
        for node in self.engine.nodes:
            node.database("").run("SET GLOBAL innodb_flush_log_at_trx_commit = 0, innodb_flush_log_at_timeout = 600")
        time.sleep(2)  # a flush may be in progress
        end, consumers = time.monotonic() + 4.5, []
        while time.monotonic() < end:
            consumers.append(self.claim(len(consumers) % len(self.members)))
            if len(consumers) > 8:
                self.members[0].rest.must("DELETE", f"/allocations/{consumers.pop(0)}")
        for node in self.engine.nodes:
            node.pause()
        for node in self.engine.nodes:
            node.kill()
        self.engine.cluster.restart()
        self.engine.cluster.settle()
        there = {row[0] for row in self.database.query("SELECT uuid FROM consumers")}
        gone = [consumer for consumer in consumers if consumer not in there]
        print(f"        {len(gone)} of {len(consumers)} acknowledged claims are lost")
        assert gone, "no claim was lost, so the case proves nothing"
        for consumer in gone:
            lines = self.explained(consumer)
            assert any("lost by the engine" in line and consumer in line for line in lines), lines


def check(tests, engine, database, members, kill_all):
    """Runs all cases. The last one damages the cluster."""
    case = Case(engine, database, members)
    tests.step("a commit in all nodes' tables is not lost", case.nothing_lost)
    tests.step("a commit that every node logged and no node has was lost by the cluster", case.lost_by_all)
    tests.step("a commit that one node lacks was lost by the cluster", case.lost_by_one)
    tests.step("a write that no node logged was never committed by placet", case.never_committed)
    tests.step("a commit of another amount is not the acknowledged write", case.other_amount)
    tests.step("a write that changes one of two allocations is found", case.replaced_in_part)
    if kill_all:
        tests.step("commits that are lost when all nodes are killed were lost by the engine", case.killed)
    else:
        tests.step("a commit on top of an old generation has overwritten an update", case.overwritten)
