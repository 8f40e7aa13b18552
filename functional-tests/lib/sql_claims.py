"""A foreign writer: claims by SQL in the same tables, as OpenStack Placement does."""

import random
import time
import uuid

BEGIN = {
    "sqlite": ["BEGIN IMMEDIATE"],
    "postgresql": ["BEGIN"],
    "mariadb": ["SET TRANSACTION ISOLATION LEVEL READ COMMITTED", "START TRANSACTION"],
}
INSERT_OWNER = {
    "sqlite": "INSERT OR IGNORE INTO {} (external_id) VALUES ('foreign')",
    "postgresql": "INSERT INTO {} (external_id) VALUES ('foreign') ON CONFLICT DO NOTHING",
    "mariadb": "INSERT IGNORE INTO {} (external_id) VALUES ('foreign')",
}
# MariaDB's error for a deadlock, or on Galera for a failed certification. The transaction was undone.
DEADLOCK_ERROR = 1213


class SqlClaims:
    """Sends `claims` claims, each in a transaction that holds its row locks from its read to its commit."""

    def __init__(self, database, resources, claims, start):
        self.database, self.resources, self.claims, self.start = database, resources, claims, start
        self.granted = []
        self.error = None

    def run(self):
        try:
            connection = self.database.connect()
            self.ready(connection)
            self.start.wait()
            for _ in range(self.claims):
                self.claim(connection)
                time.sleep(random.random() * 0.004)
            connection.close()
        except Exception as error:  # the race reports it
            self.error = error
            self.start.abort()  # the clients do not wait for it

    def ready(self, connection):
        """Inserts the project and the user of the claims."""
        for table in ("projects", "users"):
            connection.execute(INSERT_OWNER[self.database.engine].format(table))

    def claim(self, connection, consumer=None):
        """Claims once, if there is capacity. A transaction that fails by a deadlock is not tried again."""
        consumer = consumer or str(uuid.uuid4())
        try:
            fits = self._transaction(connection, consumer)
        except Exception as error:
            if error.args[0] != DEADLOCK_ERROR:
                raise
            connection.execute("ROLLBACK")
        else:
            self.granted += [consumer] if fits else []

    def _transaction(self, connection, consumer):
        """Runs the whole transaction; returns whether there was capacity."""
        for statement in BEGIN[self.database.engine]:
            connection.execute(statement)
        if self.database.engine != "sqlite":  # there BEGIN IMMEDIATE has locked the whole database
            marks = ", ".join("?" * len(self.resources))
            connection.execute(
                f"SELECT id FROM resource_providers WHERE uuid IN ({marks}) ORDER BY id FOR UPDATE",
                list(self.resources)).fetchall()
        fits = all(self._fits(connection, p, name, n) for p, (name, n) in self.resources.items())
        if fits:
            self._write(connection, consumer)
        connection.execute("COMMIT")
        return fits

    def release(self, connection, consumer):
        """Deletes a consumer and its allocations. No generation changes."""
        connection.execute("DELETE FROM allocations WHERE consumer_id = ?", [consumer])
        connection.execute("DELETE FROM consumers WHERE uuid = ?", [consumer])

    @staticmethod
    def _fits(connection, provider, name, amount):
        total, used = connection.execute(
            "SELECT i.total, (SELECT COALESCE(SUM(a.used), 0) FROM allocations a"
            "  WHERE a.resource_provider_id = i.resource_provider_id"
            "  AND a.resource_class_id = i.resource_class_id)"
            " FROM inventories i JOIN resource_providers p ON p.id = i.resource_provider_id"
            " JOIN resource_classes c ON c.id = i.resource_class_id WHERE p.uuid = ? AND c.name = ?",
            (provider, name)).fetchone()
        return used + amount <= total

    def _write(self, connection, consumer):
        connection.execute(
            "INSERT INTO consumers (uuid, project_id, user_id, generation)"
            " SELECT ?, p.id, u.id, 1 FROM projects p, users u"
            " WHERE p.external_id = 'foreign' AND u.external_id = 'foreign'", (consumer,))
        for provider, (name, amount) in self.resources.items():
            connection.execute(
                "INSERT INTO allocations (resource_provider_id, consumer_id, resource_class_id, used)"
                " SELECT p.id, ?, c.id, ? FROM resource_providers p, resource_classes c"
                " WHERE p.uuid = ? AND c.name = ?", (consumer, amount, provider, name))
            connection.execute(
                "UPDATE resource_providers SET generation = generation + 1 WHERE uuid = ?", (provider,))
