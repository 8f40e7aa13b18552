"""Reads the tables by SQL that is independent of placet, and checks their invariants."""

import time

from functional_tests.lib.servers import databases

# A writer prunes its changes that are older than this many seconds, or followed by this many later ones.
PRUNED_SECONDS, PRUNED_CHANGES = 600, 10_000
BEGAN = time.monotonic()  # no row of placet_changes in a test's database is older than this process


class Ledger:
    """The tables of a database: a `Database`, or the path of an SQLite file."""

    def __init__(self, database):
        if not isinstance(database, databases.Database):
            database = databases.sqlite(database)
        self.connection = database.connect()
        if database.engine == "mariadb":
            # A node of Galera may apply a commit after another node has acknowledged it. Each read waits for all of
            # these commits.
            self.connection.execute("SET SESSION wsrep_sync_wait = 1")

    def query(self, sql, values=()):
        return [tuple(row) for row in self.connection.execute(sql, values).fetchall()]

    def holders(self, provider):
        """Consumer -> the sum of its amounts of the provider, over all classes."""
        return dict(self.query(
            "SELECT a.consumer_id, SUM(a.used) FROM allocations a"
            " JOIN resource_providers p ON p.id = a.resource_provider_id"
            " WHERE p.uuid = ? GROUP BY a.consumer_id", [provider]))

    def generation(self, provider):
        return self.query("SELECT generation FROM resource_providers WHERE uuid = ?", [provider])[0][0]

    def faults(self):
        """Violated invariants: oversubscription, allocations without a consumer, consumers without allocations, and two
        allocations of one consumer, provider and class."""
        over = self.query(
            "SELECT 'oversubscribed', p.uuid, SUM(a.used), i.total FROM inventories i"
            " JOIN resource_providers p ON p.id = i.resource_provider_id"
            " JOIN allocations a ON a.resource_provider_id = i.resource_provider_id"
            " AND a.resource_class_id = i.resource_class_id"
            " GROUP BY i.id, p.uuid, i.total, i.reserved, i.allocation_ratio"
            " HAVING SUM(a.used) > (i.total - i.reserved) * i.allocation_ratio")
        orphans = self.query(
            "SELECT 'no consumer', consumer_id FROM allocations"
            " WHERE consumer_id NOT IN (SELECT uuid FROM consumers)")
        idle = self.query(
            "SELECT 'no allocations', uuid FROM consumers"
            " WHERE uuid NOT IN (SELECT consumer_id FROM allocations)")
        twice = self.query(
            "SELECT 'twice', consumer_id FROM allocations"
            " GROUP BY consumer_id, resource_provider_id, resource_class_id HAVING COUNT(*) > 1")
        return over + orphans + idle + twice

    def gaps(self):
        """placet's writers whose changes have a gap. The oldest may be pruned; before that, all must exist."""
        young = time.monotonic() - BEGAN < PRUNED_SECONDS
        found = self.query(
            "SELECT w.id, w.revision, COUNT(c.revision), MIN(c.revision), MAX(c.revision) FROM placet_writers w"
            " LEFT JOIN placet_changes c ON c.writer = w.id GROUP BY w.id, w.revision")
        return [("revision gap", writer) for writer, revision, count, first, last in found
                if (count and (last != revision or count != last - first + 1))
                or (young and revision <= PRUNED_CHANGES and count != revision)]
