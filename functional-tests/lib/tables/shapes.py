"""The shapes of tables, read from the engine's catalog, without regard to the SQL that made the tables.

The shape of a table is its columns in order (type, null, default, collation, sequence), its keys, indexes, foreign keys
and checks by name, and its settings.
"""

import contextlib
import re


def shape(database):
    """Table -> its shape."""
    with contextlib.closing(database.connect()) as connection:
        return {"sqlite": sqlite, "postgresql": postgresql, "mariadb": mariadb}[database.engine](connection)


def of_openstack(found):
    """The shapes without those of placet's own tables."""
    return {table: what for table, what in found.items() if not table.startswith("placet_")}


def differences(expected, got):
    """A list of (table, part, expected, got), one for each difference in OpenStack Placement's tables."""
    expected, got = of_openstack(expected), of_openstack(got)
    return [(table, part, here.get(part), there.get(part))
            for table in sorted(expected.keys() | got.keys())
            for here, there in [(expected.get(table, {}), got.get(table, {}))]
            for part in sorted(here.keys() | there.keys()) if here.get(part) != there.get(part)]


def rows(connection, sql, *values):
    return [tuple(row) for row in connection.execute(sql, values).fetchall()]


def sqlite(connection):
    found = {}
    for table, sql in rows(connection, "SELECT name, sql FROM sqlite_master"
                           " WHERE type = 'table' AND name NOT LIKE 'sqlite_%'"):
        columns = [(name, kind.upper(), null, default, key, hidden) for _, name, kind, null, default, key, hidden
                   in rows(connection, f"PRAGMA table_xinfo({table})")]
        indexes = []
        for _, name, unique, origin, partial in rows(connection, f"PRAGMA index_list({table})"):
            parts = [part[2:] for part in rows(connection, f"PRAGMA index_xinfo({name})")]
            # The index of a constraint has a numbered name, which is not compared.
            made = "" if name.startswith("sqlite_autoindex") else name
            indexes.append((made, unique, origin, partial, parts))
        keys = [key[2:] for key in rows(connection, f"PRAGMA foreign_key_list({table})")]
        words = re.findall(r"\b(AUTOINCREMENT|COLLATE\s+\w+|CHECK|STRICT|WITHOUT\s+ROWID)\b", sql.upper())
        found[table] = {"columns": columns, "indexes": sorted(indexes), "foreign keys": sorted(keys, key=str),
                        "settings": sorted(words)}
    return found


def postgresql(connection):
    found = {}
    for table, oid in rows(connection, "SELECT relname, oid FROM pg_class WHERE relkind = 'r'"
                           " AND relnamespace = current_schema()::regnamespace"):
        found[table] = {
            "columns": rows(
                connection,
                "SELECT attname, format_type(atttypid, atttypmod), attnotnull, pg_get_expr(adbin, adrelid),"
                " (SELECT collname FROM pg_collation c WHERE c.oid = attcollation), attidentity, attgenerated"
                " FROM pg_attribute LEFT JOIN pg_attrdef ON adrelid = attrelid AND adnum = attnum"
                " WHERE attrelid = ? AND attnum > 0 AND NOT attisdropped ORDER BY attnum", oid),
            "indexes": sorted(rows(
                connection, "SELECT pg_get_indexdef(indexrelid), indisvalid FROM pg_index WHERE indrelid = ?", oid)),
            "constraints": sorted(rows(
                connection, "SELECT conname, pg_get_constraintdef(oid), convalidated FROM pg_constraint"
                " WHERE conrelid = ?", oid)),
            "settings": rows(
                connection, "SELECT relpersistence, reloptions, (SELECT count(*) FROM pg_trigger t"
                " WHERE tgrelid = c.oid AND NOT tgisinternal) FROM pg_class c WHERE oid = ?", oid),
            "sequences": sorted(rows(
                connection, "SELECT s.relname, format_type(q.seqtypid, NULL), seqstart, seqincrement, seqmin, seqmax,"
                " seqcycle, d.refobjsubid FROM pg_depend d JOIN pg_class s ON s.oid = d.objid AND s.relkind = 'S'"
                " JOIN pg_sequence q ON q.seqrelid = s.oid WHERE d.refobjid = ?", oid)),
        }
    return found


def mariadb(connection):
    """The lines of SHOW CREATE TABLE. Only the order of columns matters."""
    found = {}
    for (table,) in rows(
            connection, "SELECT table_name FROM information_schema.tables WHERE table_schema = DATABASE()"):
        (_, sql), = rows(connection, f"SHOW CREATE TABLE `{table}`")
        lines = [line.strip().rstrip(",") for line in sql.splitlines()[1:]]
        settings = re.sub(r"AUTO_INCREMENT=\d+ ", "", lines.pop())
        # SHOW CREATE TABLE omits a column's collation if it is the table's.
        columns = rows(
            connection, "SELECT column_name, character_set_name, collation_name FROM information_schema.columns"
            " WHERE table_schema = DATABASE() AND table_name = ? ORDER BY ordinal_position", table)
        found[table] = {
            "columns": [line for line in lines if line.startswith("`")],
            "collations": columns,
            "indexes and keys": sorted(line for line in lines if not line.startswith("`")),
            "settings": settings,
        }
    return found
