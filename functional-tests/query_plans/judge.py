"""What a plan may be: the rules, which know no engine."""

import re
from dataclasses import dataclass

# A table of which a statement may read all: classes, traits, aggregates, consumer types, writers. By its size, not by
# its name, so whatever grows with the cloud is there in more rows.
SMALL = 2_000
# The most rows that one statement looks at, for one provider or for 500 that are compared with the tables.
MOST = 5_000

# What must read everything, and when: nothing else may, and these only then.
WHOLE = "everything is read"
MUST_READ_ALL = {
    table: "placet has every provider in memory: it reads them all when it starts, or when changes cannot tell any more"
    for table in ("resource_providers", "inventories", "allocations", "resource_provider_traits",
                  "resource_provider_aggregates")
}


@dataclass
class Access:
    """How a statement came to rows of a table: all of it, or by an index; and how many rows it looked at."""
    table: str
    full: bool
    rows: int


@dataclass
class Executed:
    """A statement as it was executed, once."""
    sql: str
    accesses: list
    counted: int = 0  # rows that the engine says it looked at, where it counts them as a whole
    phase: str = ""

    @property
    def rows(self):
        return max(self.counted, sum(access.rows for access in self.accesses))

    @property
    def shape(self):
        return shape(self.sql)


def shape(sql):
    """The statement without its values, and with lists of any length alike."""
    sql = re.sub(r"'(?:[^'\\]|''|\\.)*'", "?", " ".join(sql.split()))
    sql = re.sub(r"(?<![\w.])-?\d+(?:\.\d+)?\b|\$\d+\b", "?", sql)
    sql = re.sub(r"\bNULL\b", "?", sql)
    sql = re.sub(r"CAST\(\? AS BINARY\)", "?", sql)
    sql = re.sub(r"\?(?:\s*,\s*\?)+", "?, …", sql)
    sql = re.sub(r"\((\?[^()]*)\)(?:\s*,\s*\(\?[^()]*\))+", r"(\1), …", sql)
    return re.sub(r"(?: UNION ALL SELECT (?:\?|\?, …))+(?=\))", " UNION ALL …", sql)


def complaints(executed):
    """What is wrong with how a statement was executed."""
    if executed.phase == WHOLE and reads_one_whole_table(executed):
        return []
    found = [f"reads all of {access.table}: {access.rows} rows"
             for access in executed.accesses if access.full and access.rows > SMALL]
    if not found and executed.rows > MOST:
        by = ", ".join(f"{access.rows} of {access.table}" for access in executed.accesses)
        found.append(f"looks at {executed.rows} rows: {by}")
    return found


def reads_one_whole_table(executed):
    return (" WHERE " not in executed.sql.upper() and len(executed.accesses) == 1
            and executed.accesses[0].table in MUST_READ_ALL)


def worst(statements):
    """Of each shape the execution that looked at most rows, and how often it was executed."""
    found, counts = {}, {}
    for executed in statements:
        key = executed.shape, bool(complaints(executed))
        counts[key] = counts.get(key, 0) + 1
        if key not in found or executed.rows > found[key].rows:
            found[key] = executed
    return [(executed, counts[key]) for key, executed in found.items()]
