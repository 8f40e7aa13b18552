"""What the tables hold, by SQL of its own."""

import sqlite3


class Ledger:
    def __init__(self, database):
        self.connection = sqlite3.connect(f"file:{database}?mode=ro", uri=True, timeout=60)

    def holders(self, provider):
        """By consumer: how much of the provider it has."""
        return dict(self.connection.execute(
            "SELECT a.consumer_id, SUM(a.used) FROM allocations a"
            " JOIN resource_providers p ON p.id = a.resource_provider_id"
            " WHERE p.uuid = ? GROUP BY a.consumer_id", (provider,)))

    def generation(self, provider):
        return self.connection.execute(
            "SELECT generation FROM resource_providers WHERE uuid = ?", (provider,)).fetchone()[0]

    def faults(self):
        """What must never be: oversubscribed inventories, allocations and consumers without each other."""
        over = self.connection.execute(
            "SELECT 'oversubscribed', p.uuid, SUM(a.used), i.total FROM inventories i"
            " JOIN resource_providers p ON p.id = i.resource_provider_id"
            " JOIN allocations a ON a.resource_provider_id = i.resource_provider_id"
            " AND a.resource_class_id = i.resource_class_id"
            " GROUP BY i.id HAVING SUM(a.used) > (i.total - i.reserved) * i.allocation_ratio").fetchall()
        orphans = self.connection.execute(
            "SELECT 'no consumer', consumer_id FROM allocations"
            " WHERE consumer_id NOT IN (SELECT uuid FROM consumers)").fetchall()
        idle = self.connection.execute(
            "SELECT 'no allocations', uuid FROM consumers"
            " WHERE uuid NOT IN (SELECT consumer_id FROM allocations)").fetchall()
        twice = self.connection.execute(
            "SELECT 'twice', consumer_id FROM allocations"
            " GROUP BY consumer_id, resource_provider_id, resource_class_id HAVING COUNT(*) > 1").fetchall()
        gaps = self.connection.execute(
            "SELECT 'revision gap', w.id FROM placet_writers w WHERE w.revision !="
            " (SELECT COUNT(*) FROM placet_changes c WHERE c.writer = w.id) AND w.revision <= 10000").fetchall()
        return over + orphans + idle + twice + gaps
