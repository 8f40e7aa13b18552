"""All rows of OpenStack Placement's tables, and how they differ between two times."""

import collections
import contextlib

# Tables into which a service inserts the standard names when it starts.
STANDARD = {"traits", "resource_classes"}


def contents(database):
    """Table -> its rows as dictionaries, in any order; without placet's own tables."""
    from functional_tests.lib.tables import shapes

    found = {}
    with contextlib.closing(database.connect()) as connection:
        for table in shapes.of_openstack(shapes.shape(database)):
            cursor = connection.execute(f"SELECT * FROM {table}")
            names = [column[0] for column in cursor.description]
            found[table] = [dict(zip(names, row)) for row in cursor.fetchall()]
    return found


def changed(before, after):
    """Table -> (removed rows, added rows), of the tables that differ. A changed row is in both lists."""
    found = {}
    for table in before.keys() | after.keys():
        old, new = (collections.Counter(map(frozen, each.get(table, []))) for each in (before, after))
        gone, came = (list(map(dict, (one - other).elements())) for one, other in ((old, new), (new, old)))
        if gone or came:
            found[table] = (gone, came)
    return found


def frozen(row):
    """A row as a hashable value, without columns that are NULL: a new column without a value is no difference."""
    return tuple(sorted((name, value) for name, value in row.items() if value is not None))


def unexplained(before, after, standard=()):
    """Differences that an upgrade should not make: all but the alembic version and added `standard` names."""
    found = changed(before, after)
    found.pop("alembic_version", None)
    for table in STANDARD & found.keys():
        gone, came = found[table]
        came = [row for row in came if row["name"] not in standard]
        if not gone and not came:
            del found[table]
    return found
