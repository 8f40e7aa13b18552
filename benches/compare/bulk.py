"""Puts a cloud straight into the tables, by what each engine has for many rows: COPY, LOAD DATA, one transaction a table.

Rows fit to each other as they are made: servers look up no reference, which would take half of the time, and two tables
are written at once.
"""

import concurrent.futures
import contextlib
import io
import itertools
import pathlib
import sqlite3
import tempfile

CREATED = "2026-01-01 00:00:00.000001"
PROJECT, USER, TYPE = 1, 1, 1
# Rows that MariaDB is given at once: a statement must end before the driver's patience does.
PIECE = 500_000


def fill(database, cloud):
    """Writes all of `cloud` into a database whose tables, classes and traits are there; returns the ids of classes."""
    with contextlib.closing(database.connect()) as connection:
        classes = dict(connection.execute("SELECT name, id FROM resource_classes").fetchall())
        _names(connection, cloud)
        traits = dict(connection.execute("SELECT name, id FROM traits").fetchall())
    put, settle = ENGINES[database.engine]

    def write(table):
        name, columns, rows = table
        with contextlib.closing(database.connect()) as connection:
            put(connection, name, ("created_at", *columns), ((CREATED, *row) for row in rows))

    # The largest first, so that both end together.
    with concurrent.futures.ThreadPoolExecutor(1 if database.engine == "sqlite" else 2) as writers:
        list(writers.map(write, reversed(list(tables(cloud, classes, traits)))))
    with contextlib.closing(database.connect()) as connection:
        settle(connection)
    return classes


def _names(connection, cloud):
    for name in sorted({name for it in cloud.providers for name in it.traits if name.startswith("CUSTOM_")}):
        connection.execute("INSERT INTO traits (created_at, name) VALUES (?, ?)", (CREATED, name))
    # The types of consumers that claims name are there, as in every cloud that is not new.
    for table, column in (("projects", "external_id"), ("users", "external_id"), ("consumer_types", "name")):
        name = "INSTANCE" if table == "consumer_types" else "bench"
        connection.execute(f"INSERT INTO {table} (created_at, id, {column}) VALUES (?, 1, ?)", (CREATED, name))


def tables(cloud, classes, traits):
    """Each table with its columns and rows. Nobody looks whether what they name is there."""
    aggregates = {uuid: number for number, uuid in enumerate(cloud.aggregates.values(), 1)}
    # Every provider was claimed before, as in a cloud that is not new: its row does not get longer with the next claim.
    yield "resource_providers", (
        "updated_at", "id", "uuid", "name", "generation", "root_provider_id", "parent_provider_id"), (
        (CREATED, it.id, it.uuid, it.name, 1, it.root.id, it.parent and it.parent.id) for it in cloud.providers)
    yield "inventories", (
        "resource_provider_id", "resource_class_id", "total", "reserved", "min_unit", "max_unit", "step_size",
        "allocation_ratio"), (
        (it.id, classes[name], total, reserved, 1, total, 1, ratio)
        for it in cloud.providers for name, (total, reserved, ratio) in it.stocks.items())
    yield "resource_provider_traits", ("resource_provider_id", "trait_id"), (
        (it.id, traits[name]) for it in cloud.providers for name in it.traits)
    yield "placement_aggregates", ("id", "uuid"), ((number, uuid) for uuid, number in aggregates.items())
    yield "resource_provider_aggregates", ("resource_provider_id", "aggregate_id"), (
        (it.id, aggregates[uuid]) for it in cloud.providers for uuid in it.aggregates)
    yield "consumers", ("uuid", "project_id", "user_id", "generation", "consumer_type_id"), (
        (consumer, PROJECT, USER, 1, TYPE) for consumers in cloud.consumers for consumer in consumers)
    yield "allocations", ("resource_provider_id", "consumer_id", "resource_class_id", "used"), (
        (it.id, consumer, classes[name], amount)
        for consumer, parts in cloud.allocations() for it, name, amount in parts)


def _sqlite(connection, table, columns, rows):
    # All of it fits: what is written in random order would be read again and again.
    connection.execute("PRAGMA cache_size = -1000000")
    connection.execute("BEGIN")
    marks = ", ".join("?" * len(columns))
    connection.inner.executemany(f"INSERT INTO {table} ({', '.join(columns)}) VALUES ({marks})", rows)
    connection.execute("COMMIT")


def _settle_sqlite(connection):
    connection.execute("ANALYZE")
    with contextlib.suppress(sqlite3.OperationalError):  # where it is not in WAL mode, there is nothing to move
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()


class _Lines(io.RawIOBase):
    """Rows as COPY's text, read as they are made."""

    def __init__(self, rows):
        self.lines, self.left = _lines(rows), b""

    def read(self, size=-1):
        parts = [self.left]
        have = len(self.left)
        for line in self.lines:
            parts.append(line)
            have += len(line)
            if have >= size > 0:
                break
        everything = b"".join(parts)
        size = size if size > 0 else len(everything)
        self.left = everything[size:]
        return everything[:size]


def _lines(rows):
    for row in rows:
        yield ("\t".join("\\N" if it is None else str(it) for it in row) + "\n").encode()


def _postgresql(connection, table, columns, rows):
    cursor = connection.inner.cursor()
    cursor.execute("SET session_replication_role = replica")
    cursor.copy_expert(f"COPY {table} ({', '.join(columns)}) FROM STDIN", _Lines(rows), 1 << 16)


def _settle_postgresql(connection):
    # Rows were given ids: its counters go on after them.
    for table in ("resource_providers", "placement_aggregates", "projects", "users", "consumer_types"):
        connection.execute(
            f"SELECT setval(pg_get_serial_sequence('{table}', 'id'), (SELECT max(id) FROM {table}))").fetchall()
    connection.execute("VACUUM ANALYZE")
    connection.execute("CHECKPOINT")


def _mariadb(connection, table, columns, rows):
    connection.execute("SET foreign_key_checks = 0, unique_checks = 0, sql_mode = 'NO_AUTO_VALUE_ON_ZERO'")
    lines = _lines(rows)
    while piece := list(itertools.islice(lines, PIECE)):
        with tempfile.NamedTemporaryFile(suffix=".tsv") as file:
            pathlib.Path(file.name).chmod(0o644)  # the server is another user
            file.writelines(piece)
            file.flush()
            connection.execute(f"LOAD DATA INFILE '{file.name}' INTO TABLE {table} ({', '.join(columns)})")


def _settle_mariadb(connection):
    connection.execute(
        "ANALYZE TABLE resource_providers, inventories, allocations, consumers, resource_provider_traits").fetchall()


ENGINES = {"sqlite": (_sqlite, _settle_sqlite), "postgresql": (_postgresql, _settle_postgresql),
           "mariadb": (_mariadb, _settle_mariadb)}
