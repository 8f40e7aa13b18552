"""The rows of a database at one time, for resetting the rows under a running service, as a restored backup does.

placet notices the reset by its own row of `placet_writers`, and OpenStack Placement keeps no table in memory.
"""

import contextlib

TABLES = {
    "sqlite": "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'",
    "postgresql": "SELECT tablename FROM pg_tables WHERE schemaname = 'public'",
    "mariadb": "SELECT table_name FROM information_schema.tables WHERE table_schema = DATABASE()"}
# In such a transaction no foreign key is checked, so that tables may be written in any order. MariaDB keeps the id 0 of
# VCPU.
BEGIN = {
    "sqlite": ["BEGIN IMMEDIATE"],
    "postgresql": ["BEGIN", "SET LOCAL session_replication_role = replica"],
    "mariadb": ["SET foreign_key_checks = 0, sql_mode = CONCAT(@@sql_mode, ',NO_AUTO_VALUE_ON_ZERO')", "BEGIN"]}
QUOTES = {"mariadb": "`"}
VALUES = 900  # of one statement: SQLite's older limit is 999


class SavedRows:
    def __init__(self, database):
        self.database = database
        with contextlib.closing(database.connect()) as connection:
            self.tables = {name: self._read(connection, name)
                           for (name,) in connection.execute(TABLES[database.engine]).fetchall()}

    def column(self, table, name):
        """The saved values of one column."""
        names, rows = self.tables[table]
        return [row[names.index(name)] for row in rows]

    def restore(self):
        """Sets all rows back in one transaction. Tables whose rows are the same are not written."""
        with contextlib.closing(self.database.connect()) as connection:
            for statement in BEGIN[self.database.engine]:
                connection.execute(statement)
            for name, saved in self.tables.items():
                if sorted(self._read(connection, name)[1], key=repr) != sorted(saved[1], key=repr):
                    connection.execute(f"DELETE FROM {self._quoted(name)}")
                    self._insert(connection, name, *saved)
            connection.execute("COMMIT")

    def _read(self, connection, table):
        cursor = connection.execute(f"SELECT * FROM {self._quoted(table)}")
        return [column[0] for column in cursor.description], [tuple(row) for row in cursor.fetchall()]

    def _insert(self, connection, table, names, rows):
        into = f"INSERT INTO {self._quoted(table)} ({', '.join(map(self._quoted, names))}) VALUES "
        size = VALUES // len(names)
        for part in (rows[n:n + size] for n in range(0, len(rows), size)):
            row = f"({', '.join('?' * len(names))})"
            connection.execute(into + ", ".join([row] * len(part)), [value for values in part for value in values])

    def _quoted(self, name):
        quote = QUOTES.get(self.database.engine, '"')
        return f"{quote}{name}{quote}"
