"""A database server whose disk is full, and gets room again."""

import contextlib
import os
import shutil

from functional_tests.lib.patience import eventually
from functional_tests.lib.rest import Rest
from functional_tests.lib.small_disk import NotRoot, mounted
from functional_tests.lib.test_counts import Skipped
from functional_tests.process import full_disk
from functional_tests.readiness.servers import SEARCH, service, write
from functional_tests.readiness.states import ALL_READY, becomes, degraded, stays

SIZE = "size=64m"
MOST_WRITES = 3000
# Some pages, and less than the row by which placet tries the disk.
LITTLE_BYTES = 40_000


@contextlib.contextmanager
def small_disk(node):
    """A small file system that the server's user may write to."""
    disk = node.folder / "small"
    disk.mkdir()
    with contextlib.ExitStack() as stack:
        try:
            yield stack.enter_context(mounted(disk, SIZE))
        except NotRoot as reason:
            raise Skipped(reason) from reason


def database_on(disk, engine):
    """A new database whose tables are on this disk. What the server logs is elsewhere."""
    node = engine.nodes[0]
    tables = disk / "tables"
    if engine.dialect == "postgresql":
        tables.mkdir()
        own(node, tables)
        node.database("postgres").run(f"CREATE TABLESPACE small LOCATION '{tables}'")
        # The catalogs are elsewhere: on their full disk PostgreSQL refuses new connections at times.
        node.database("postgres").run("CREATE DATABASE placement_small")
        node.database("postgres").run("ALTER DATABASE placement_small SET default_tablespace = small")
        return node.database("placement_small")
    database = engine.create()
    shutil.move(node.data / database.name, tables)
    (node.data / database.name).symlink_to(tables)
    own(node, disk, tables)
    return database


def own(node, *paths):
    """Gives the paths to the server's user."""
    folder = node.data.stat()
    for path in paths:
        shutil.chown(path, folder.st_uid, folder.st_gid)


def a_server_with_a_full_disk_leaves_searches(binary, engine):
    with small_disk(engine.nodes[0]) as disk:
        database = database_on(disk, engine)
        try:
            with service(binary, database) as placet:
                filled_and_freed(placet, database, disk)
        finally:
            engine.drop(database)
            if engine.dialect == "postgresql":
                engine.nodes[0].database("postgres").run("DROP TABLESPACE small")


def filled_and_freed(placet, database, disk):
    rest = Rest(placet.port)
    assert write(rest) == 200
    filler = full_disk.take_room(disk)
    statuses = []
    while 503 not in statuses:
        assert len(statuses) < MOST_WRITES, "the disk is never full"
        statuses.append(write(rest))
    assert set(statuses) == {200, 503}, set(statuses)
    becomes(placet.port, degraded("disk_full"))
    stays(placet.port, degraded("disk_full"))
    answer = rest("GET", SEARCH)
    assert answer.status == 200, (answer, placet.log()[-3000:])
    if not database.url.startswith("postgresql"):
        # With a little room small writes fit. PostgreSQL needs more for any row.
        os.truncate(filler, filler.stat().st_size - LITTLE_BYTES)
        eventually("a write fits", lambda: write(rest) == 200)
        stays(placet.port, degraded("disk_full"))
    filler.unlink()
    becomes(placet.port, ALL_READY)
    assert write(rest) == 200
    stays(placet.port, ALL_READY)
    log = placet.log()
    assert log.count("and refuses writes: its disk is full") == 1, log[-3000:]


CASES = [a_server_with_a_full_disk_leaves_searches]
