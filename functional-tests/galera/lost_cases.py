"""The tool that tells whose fault it is that an acknowledged write is not there (lost.py), tried where that is known.

Each case is made: rows are taken away as if a node had never had them, or all nodes are killed while they may lose
what they acknowledged.
"""

import random
import time

import lost
import world
from history import OK, History

HOLDS = {world.HOSTS[0]: {"VCPU": 2}, world.POOL: {"DISK_GB": 3}}
LOST = "SET SESSION wsrep_on = OFF, sql_log_bin = OFF"


class Case:
    def __init__(self, engine, database, members):
        self.engine, self.database, self.members = engine, database, members
        self.chance, self.history = random.Random(5), History()
        world.prepare(members[0].rest)

    def claimed(self, member=0):
        """An acknowledged claim."""
        consumer = world.new_consumer(self.chance)
        op = self.history.begin("claim", sets={consumer: HOLDS}, expects={consumer: None})
        self.members[member].rest.must("PUT", f"/allocations/{consumer}", world.body(HOLDS, None))
        op.end(OK)
        return consumer

    def taken(self, consumer, nodes):
        """Nodes forget the transaction with which the consumer came, as if they had never had it; no log tells."""
        log = lost.Logs(self.engine, self.database)
        commit = next(c for c in log.logged[self.engine.nodes[0].name] if consumer in c.gave)
        for node in nodes:
            connection = node.database(self.database.name).connect()
            connection.execute(LOST)
            connection.execute("DELETE FROM allocations WHERE consumer_id = ?", [consumer])
            connection.execute("DELETE FROM consumers WHERE uuid = ?", [consumer])
            connection.execute("DELETE FROM placet_changes WHERE token = ?", [commit.token])
            connection.close()
        return commit

    def told(self, consumer):
        return lost.explain(
            self.engine, self.database, self.history.operations, [f"no order explains consumer {consumer}"])

    # --- the cases ----------------------------------------------------------------------------------

    def nothing_lost(self):
        consumer = self.claimed(1)
        logs = lost.Logs(self.engine, self.database)
        (logged,) = logs.of(consumer, HOLDS).values()
        assert set(logged) == {node.name for node in self.engine.nodes}, f"not in every node's log: {logged}"
        told = self.told(consumer)
        assert told == ["nothing was lost by the cluster: all of these commits are in all nodes' tables"], told

    def lost_by_all(self):
        consumer = self.claimed()
        commit = self.taken(consumer, self.engine.nodes)
        (told,) = self.told(consumer)
        for word in ("lost by the engine", "galera-1 committed it", commit.gtid, commit.writer,
                     "not in the tables of galera-0, galera-1, galera-2: the cluster lost it"):
            assert word in told, (word, told)

    def lost_by_one(self):
        consumer = self.claimed()
        self.taken(consumer, self.engine.nodes[2:])
        (told,) = self.told(consumer)
        assert "not in the tables of galera-2: the cluster lost it" in told, told

    def never_committed(self):
        consumer = world.new_consumer(self.chance)
        self.history.begin("claim", sets={consumer: HOLDS}).end(OK)
        (told,) = self.told(consumer)
        assert "lost by placet" in told and "no node's binary log has a commit" in told, told

    def other_amount(self):
        """A commit that wrote something else than what was acknowledged is not that commit."""
        consumer = self.claimed()
        self.history.operations[-1].sets = {consumer: {world.HOSTS[0]: {"VCPU": 3}}}
        (told,) = self.told(consumer)
        assert "lost by placet" in told, told

    def overwritten(self):
        """A provider's generation that goes on from an old value: what a lost update leaves in the logs."""
        consumer = self.claimed()
        node = self.engine.nodes[0]
        connection = node.database(self.database.name).connect()
        connection.execute("SET SESSION wsrep_on = OFF, sql_log_bin = OFF")
        connection.execute("UPDATE resource_providers SET generation = generation - 1 WHERE uuid = ?", [world.POOL])
        connection.execute("SET SESSION sql_log_bin = ON")
        connection.execute("START TRANSACTION")
        connection.execute("UPDATE resource_providers SET generation = generation + 1 WHERE uuid = ?", [world.POOL])
        connection.execute("INSERT INTO placet_changes VALUES ('made', 1, 'made', NOW(6), '')")
        connection.execute("COMMIT")
        connection.close()
        told = self.told(consumer)
        assert any("was overwritten by a commit that had seen" in line for line in told), told

    def killed(self):
        """All nodes at once, with logs that are rarely written: what is lost is the engine's, all of it."""
        for node in self.engine.nodes:
            node.database("").run("SET GLOBAL innodb_flush_log_at_trx_commit = 0, innodb_flush_log_at_timeout = 600")
        time.sleep(2)  # a flush may be under way
        end, consumers = time.monotonic() + 4.5, []
        while time.monotonic() < end:
            consumers.append(self.claimed(len(consumers) % len(self.members)))
            if len(consumers) > 8:
                self.members[0].rest.must("DELETE", f"/allocations/{consumers.pop(0)}")
        for node in self.engine.nodes:
            node.pause()
        for node in self.engine.nodes:
            node.kill()
        self.engine.several.restart()
        self.engine.several.settle()
        there = {row[0] for row in self.database.query("SELECT uuid FROM consumers")}
        gone = [consumer for consumer in consumers if consumer not in there]
        print(f"        {len(gone)} of {len(consumers)} acknowledged claims are gone")
        assert gone, "nothing was lost: the case shows nothing"
        for consumer in gone:
            told = self.told(consumer)
            assert any("lost by the engine" in line and consumer in line for line in told), told


def check(tally, engine, database, members, kill_all):
    """All cases; the last one ends the cluster's peace."""
    case = Case(engine, database, members)
    tally.step("what all nodes have was not lost", case.nothing_lost)
    tally.step("what every node logged and none has the cluster lost", case.lost_by_all)
    tally.step("what one node lacks the cluster lost", case.lost_by_one)
    tally.step("what no node logged placet never committed", case.never_committed)
    tally.step("another amount is another write", case.other_amount)
    if kill_all:
        tally.step("all nodes are killed, and lose what they acknowledged", case.killed)
    else:
        tally.step("a commit upon an old generation is an update that was lost", case.overwritten)
