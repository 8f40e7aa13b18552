"""Every row of every table of OpenStack Placement's, and what became of them."""

import collections
import contextlib

# Whoever serves puts the standard names there.
STANDARD = {"traits", "resource_classes"}


def contents(database):
    """By table, its rows as dictionaries of columns, in any order; without placet's tables."""
    from functional_tests.lib.tables import shapes

    found = {}
    with contextlib.closing(database.connect()) as connection:
        for table in shapes.of_openstack(shapes.shape(database)):
            cursor = connection.execute(f"SELECT * FROM {table}")
            names = [column[0] for column in cursor.description]
            found[table] = [dict(zip(names, row)) for row in cursor.fetchall()]
    return found


def changed(before, after):
    """table -> (rows that are gone, rows that came); a changed row is among both."""
    found = {}
    for table in before.keys() | after.keys():
        old, new = (collections.Counter(map(frozen, each.get(table, []))) for each in (before, after))
        gone, came = (list(map(dict, (one - other).elements())) for one, other in ((old, new), (new, old)))
        if gone or came:
            found[table] = (gone, came)
    return found


def frozen(row):
    """A row as something that can be counted; a column that is new and has nothing is no difference."""
    return tuple(sorted((name, value) for name, value in row.items() if value is not None))


def unexplained(before, after, standard=()):
    """What an upgrade did beyond its own: the version, and standard names where somebody began to serve."""
    found = changed(before, after)
    found.pop("alembic_version", None)
    for table in STANDARD & found.keys():
        gone, came = found[table]
        came = [row for row in came if row["name"] not in standard]
        if not gone and not came:
            del found[table]
    return found
