"""Loads a cloud into the tables by each engine's bulk load: COPY, LOAD DATA, or one transaction for each table.

Servers check no references, which would take half of the time, so two tables are written at the same time. The rows are
consistent by construction.
"""

import concurrent.futures
import contextlib
import io
import itertools
import pathlib
import sqlite3
import tempfile

CREATED_AT = "2026-01-01 00:00:00.000001"
PROJECT_ID, USER_ID, CONSUMER_TYPE_ID = 1, 1, 1
# MariaDB gets this many rows in one statement, which must end before the driver's timeout.
ROWS_PER_LOAD_DATA = 500_000
COPY_BUFFER_BYTES = 1 << 16
# Pages of SQLite's cache, negative: in KiB. The whole file fits, because indexes are written in random order.
SQLITE_CACHE_SIZE = -1_000_000


def load(database, cloud):
    """Writes `cloud` into a database that has tables, classes and standard traits. Returns the ids of classes by
    name.
    """
    with contextlib.closing(database.connect()) as connection:
        class_ids = dict(connection.execute("SELECT name, id FROM resource_classes").fetchall())
        _insert_names(connection, cloud)
        trait_ids = dict(connection.execute("SELECT name, id FROM traits").fetchall())
    write_table, finish = ENGINES[database.engine]

    def write(table):
        name, columns, rows = table
        with contextlib.closing(database.connect()) as connection:
            write_table(connection, name, ("created_at", *columns), ((CREATED_AT, *row) for row in rows))

    # The largest table comes first, so that both threads end at about the same time.
    with concurrent.futures.ThreadPoolExecutor(1 if database.engine == "sqlite" else 2) as writers:
        list(writers.map(write, reversed(list(tables(cloud, class_ids, trait_ids)))))
    with contextlib.closing(database.connect()) as connection:
        finish(connection)
    return class_ids


def _insert_names(connection, cloud):
    custom = {name for provider in cloud.providers for name in provider.traits if name.startswith("CUSTOM_")}
    for name in sorted(custom):
        connection.execute("INSERT INTO traits (created_at, name) VALUES (?, ?)", (CREATED_AT, name))
    # Claims name them. In a cloud that has been in use they exist.
    for table, column, name in (("projects", "external_id", "bench"), ("users", "external_id", "bench"),
                                ("consumer_types", "name", "INSTANCE")):
        connection.execute(f"INSERT INTO {table} (created_at, id, {column}) VALUES (?, 1, ?)", (CREATED_AT, name))


def tables(cloud, class_ids, trait_ids):
    """Each table with its columns and rows."""
    aggregate_ids = {uuid: number for number, uuid in enumerate(cloud.aggregates.values(), 1)}
    # `updated_at` is set, as in a cloud that has been in use. Otherwise the first claim would lengthen the row.
    yield "resource_providers", (
        "updated_at", "id", "uuid", "name", "generation", "root_provider_id", "parent_provider_id"), (
        (CREATED_AT, provider.id, provider.uuid, provider.name, 1, provider.root.id,
         provider.parent and provider.parent.id) for provider in cloud.providers)
    yield "inventories", (
        "resource_provider_id", "resource_class_id", "total", "reserved", "min_unit", "max_unit", "step_size",
        "allocation_ratio"), (
        (provider.id, class_ids[name], total, reserved, 1, total, 1, ratio)
        for provider in cloud.providers for name, (total, reserved, ratio) in provider.inventories.items())
    yield "resource_provider_traits", ("resource_provider_id", "trait_id"), (
        (provider.id, trait_ids[name]) for provider in cloud.providers for name in provider.traits)
    yield "placement_aggregates", ("id", "uuid"), ((number, uuid) for uuid, number in aggregate_ids.items())
    yield "resource_provider_aggregates", ("resource_provider_id", "aggregate_id"), (
        (provider.id, aggregate_ids[uuid]) for provider in cloud.providers for uuid in provider.aggregates)
    yield "consumers", ("uuid", "project_id", "user_id", "generation", "consumer_type_id"), (
        (consumer, PROJECT_ID, USER_ID, 1, CONSUMER_TYPE_ID) for consumers in cloud.consumers for consumer in consumers)
    yield "allocations", ("resource_provider_id", "consumer_id", "resource_class_id", "used"), (
        (provider.id, consumer, class_ids[name], amount)
        for consumer, allocations in cloud.allocations() for provider, name, amount in allocations)


def _write_sqlite(connection, table, columns, rows):
    connection.execute(f"PRAGMA cache_size = {SQLITE_CACHE_SIZE}")
    connection.execute("BEGIN")
    marks = ", ".join("?" * len(columns))
    connection.inner.executemany(f"INSERT INTO {table} ({', '.join(columns)}) VALUES ({marks})", rows)
    connection.execute("COMMIT")


def _finish_sqlite(connection):
    connection.execute("ANALYZE")
    with contextlib.suppress(sqlite3.OperationalError):  # a database without WAL has nothing to checkpoint
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()


class _CopyStream(io.RawIOBase):
    """Rows in COPY's text format, made as they are read."""

    def __init__(self, rows):
        self.lines, self.rest = _tab_separated(rows), b""

    def read(self, size=-1):
        parts = [self.rest]
        length = len(self.rest)
        for line in self.lines:
            parts.append(line)
            length += len(line)
            if length >= size > 0:
                break
        text = b"".join(parts)
        size = size if size > 0 else len(text)
        self.rest = text[size:]
        return text[:size]


def _tab_separated(rows):
    for row in rows:
        yield ("\t".join("\\N" if value is None else str(value) for value in row) + "\n").encode()


def _write_postgresql(connection, table, columns, rows):
    cursor = connection.inner.cursor()
    cursor.execute("SET session_replication_role = replica")
    cursor.copy_expert(f"COPY {table} ({', '.join(columns)}) FROM STDIN", _CopyStream(rows), COPY_BUFFER_BYTES)


def _finish_postgresql(connection):
    # The rows came with ids, which sequences do not notice.
    for table in ("resource_providers", "placement_aggregates", "projects", "users", "consumer_types"):
        connection.execute(
            f"SELECT setval(pg_get_serial_sequence('{table}', 'id'), (SELECT max(id) FROM {table}))").fetchall()
    connection.execute("VACUUM ANALYZE")
    connection.execute("CHECKPOINT")


def _write_mariadb(connection, table, columns, rows):
    connection.execute("SET foreign_key_checks = 0, unique_checks = 0, sql_mode = 'NO_AUTO_VALUE_ON_ZERO'")
    lines = _tab_separated(rows)
    while part := list(itertools.islice(lines, ROWS_PER_LOAD_DATA)):
        with tempfile.NamedTemporaryFile(suffix=".tsv") as file:
            pathlib.Path(file.name).chmod(0o644)  # the server runs as another user
            file.writelines(part)
            file.flush()
            connection.execute(f"LOAD DATA INFILE '{file.name}' INTO TABLE {table} ({', '.join(columns)})")


def _finish_mariadb(connection):
    connection.execute(
        "ANALYZE TABLE resource_providers, inventories, allocations, consumers, resource_provider_traits").fetchall()


ENGINES = {"sqlite": (_write_sqlite, _finish_sqlite), "postgresql": (_write_postgresql, _finish_postgresql),
           "mariadb": (_write_mariadb, _finish_mariadb)}
