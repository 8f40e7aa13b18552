"""The rules for plans. They do not depend on the engine."""

import re
from dataclasses import dataclass

# A statement may read all of a table with at most this many rows: classes, traits, aggregates, consumer types, writers.
# The tables are known by their size, not their name. Each table that grows with the cloud has more rows.
SMALL_TABLE_ROWS = 2_000
# The most rows that one statement may examine, for one provider or for 500 that are compared with the tables.
MAX_EXAMINED_ROWS = 5_000

# Only in this phase a statement may read all of these tables. placet then loads the snapshot: when it starts, or when
# the change feed has lost changes.
SNAPSHOT_LOAD = "the snapshot is loaded"
SNAPSHOT_TABLES = ("resource_providers", "inventories", "allocations", "resource_provider_traits",
              "resource_provider_aggregates")


@dataclass
class Access:
    """How a statement read a table: all of it or by an index, and the number of rows that it examined."""
    table: str
    full: bool
    rows: int


@dataclass
class Executed:
    """One execution of a statement."""
    sql: str
    accesses: list
    counted: int = 0  # the examined rows of the whole statement, if the engine counts them
    phase: str = ""

    @property
    def rows(self):
        return max(self.counted, sum(access.rows for access in self.accesses))

    @property
    def shape(self):
        return shape(self.sql)


def shape(sql):
    """The statement without its values. Lists of any length are alike."""
    sql = re.sub(r"'(?:[^'\\]|''|\\.)*'", "?", " ".join(sql.split()))
    sql = re.sub(r"(?<![\w.])-?\d+(?:\.\d+)?\b|\$\d+\b", "?", sql)
    sql = re.sub(r"\bNULL\b", "?", sql)
    sql = re.sub(r"CAST\(\? AS BINARY\)", "?", sql)
    sql = re.sub(r"\?(?:\s*,\s*\?)+", "?, …", sql)
    sql = re.sub(r"\((\?[^()]*)\)(?:\s*,\s*\(\?[^()]*\))+", r"(\1), …", sql)
    return re.sub(r"(?: UNION ALL SELECT (?:\?|\?, …))+(?=\))", " UNION ALL …", sql)


def complaints(executed):
    """The rules that an execution breaks."""
    if executed.phase == SNAPSHOT_LOAD and reads_one_whole_table(executed):
        return []
    found = [f"reads all of {access.table}: {access.rows} rows"
             for access in executed.accesses if access.full and access.rows > SMALL_TABLE_ROWS]
    if not found and executed.rows > MAX_EXAMINED_ROWS:
        by = ", ".join(f"{access.rows} of {access.table}" for access in executed.accesses)
        found.append(f"examines {executed.rows} rows: {by}")
    return found


def reads_one_whole_table(executed):
    return (" WHERE " not in executed.sql.upper() and len(executed.accesses) == 1
            and executed.accesses[0].table in SNAPSHOT_TABLES)


def worst(statements):
    """For each shape the execution that examined most rows, and the number of executions."""
    found, counts = {}, {}
    for executed in statements:
        key = executed.shape, bool(complaints(executed))
        counts[key] = counts.get(key, 0) + 1
        if key not in found or executed.rows > found[key].rows:
            found[key] = executed
    return [(executed, counts[key]) for key, executed in found.items()]
