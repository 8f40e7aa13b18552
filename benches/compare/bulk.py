"""Puts a cloud straight into the tables, by what each engine has for many rows: COPY, LOAD DATA, one transaction."""

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
        put = {"sqlite": _sqlite, "postgresql": _postgresql, "mariadb": _mariadb}[database.engine]
        with put(connection) as insert:
            for table, columns, rows in tables(cloud, classes, traits):
                insert(table, ("created_at", *columns), ((CREATED, *row) for row in rows))
        _counters(connection, database.engine)
    return classes


def _names(connection, cloud):
    for name in sorted({name for it in cloud.providers for name in it.traits if name.startswith("CUSTOM_")}):
        connection.execute("INSERT INTO traits (created_at, name) VALUES (?, ?)", (CREATED, name))
    # The types of consumers that claims name are there, as in every cloud that is not new.
    for table, column in (("projects", "external_id"), ("users", "external_id"), ("consumer_types", "name")):
        name = "INSTANCE" if table == "consumer_types" else "bench"
        connection.execute(f"INSERT INTO {table} (created_at, id, {column}) VALUES (?, 1, ?)", (CREATED, name))


def tables(cloud, classes, traits):
    """Each table with its columns and rows, in an order in which none names what is not there."""
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
        (consumer, PROJECT, USER, 1, TYPE) for consumer, _ in cloud.allocations())
    yield "allocations", ("resource_provider_id", "consumer_id", "resource_class_id", "used"), (
        (it.id, consumer, classes[name], amount)
        for consumer, parts in cloud.allocations() for it, name, amount in parts)


@contextlib.contextmanager
def _sqlite(connection):
    connection.execute("BEGIN")

    def insert(table, columns, rows):
        marks = ", ".join("?" * len(columns))
        connection.inner.executemany(f"INSERT INTO {table} ({', '.join(columns)}) VALUES ({marks})", rows)

    yield insert
    connection.execute("COMMIT")
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


@contextlib.contextmanager
def _postgresql(connection):
    cursor = connection.inner.cursor()

    def insert(table, columns, rows):
        # A provider names its parent, which stands before it.
        cursor.copy_expert(f"COPY {table} ({', '.join(columns)}) FROM STDIN", _Lines(rows), 1 << 16)

    yield insert
    cursor.execute("VACUUM ANALYZE")
    cursor.execute("CHECKPOINT")


@contextlib.contextmanager
def _mariadb(connection):
    connection.execute("SET foreign_key_checks = 0, unique_checks = 0, sql_mode = 'NO_AUTO_VALUE_ON_ZERO'")

    def insert(table, columns, rows):
        lines = _lines(rows)
        while piece := list(itertools.islice(lines, PIECE)):
            with tempfile.NamedTemporaryFile(suffix=".tsv") as file:
                pathlib.Path(file.name).chmod(0o644)  # the server is another user
                file.writelines(piece)
                file.flush()
                connection.execute(f"LOAD DATA INFILE '{file.name}' INTO TABLE {table} ({', '.join(columns)})")

    yield insert
    connection.execute(
        "ANALYZE TABLE resource_providers, inventories, allocations, consumers, resource_provider_traits").fetchall()


def _counters(connection, engine):
    """Rows were given ids: PostgreSQL's counters go on after them."""
    if engine == "postgresql":
        for table in ("resource_providers", "placement_aggregates", "projects", "users", "consumer_types"):
            connection.execute(
                f"SELECT setval(pg_get_serial_sequence('{table}', 'id'), (SELECT max(id) FROM {table}))").fetchall()
