"""A fixture's data as OpenStack Placement's own code writes it: straight into a SQLite file.

Schema, standard traits and classes, providers, claims: all of it is made by the fixture classes of
the installed package's test suite, which otherwise run on a database in memory. placet has to
answer from such a file as it does from one that it made itself.
"""

import contextlib
import os
import shutil
from unittest import mock


def prepare(name, path):
    """Makes the file at `path` as the fixture called `name` wants it; returns its environment."""
    saved = dict(os.environ)
    os.environ["OS_LOG_CAPTURE"] = "1"
    try:
        from placement.tests.functional.fixtures import gabbits

        before = dict(os.environ)
        with _on_file(gabbits, path.with_suffix(".made")) as made:
            fixture = getattr(gabbits, name)()
            fixture.start_fixture()
            try:
                # The fixture takes its database away when it ends: the copy is taken before that.
                shutil.copy(made, path)
            finally:
                fixture.stop_fixture()
        return {k: v for k, v in os.environ.items() if before.get(k) != v}
    finally:
        os.environ.clear()
        os.environ.update(saved)


@contextlib.contextmanager
def _on_file(gabbits, path):
    """While it lasts, the fixtures' database is the file at `path`."""
    from placement import db_api
    from placement.db.sqlalchemy import migration

    memory = gabbits.fixtures.Database

    class Database(memory):
        def __init__(self, conf_fixture, **_):
            conf_fixture.config(connection=f"sqlite:///{path}", group="placement_database")
            super().__init__(conf_fixture)

        def generate_schema_create_all(self, engine):
            # As an operator's database came about: by the migrations, which leave their revision.
            end = db_api.placement_context_manager.patch_engine(engine)
            migration.upgrade("head")
            end()
            super().generate_schema_create_all(engine)

    with mock.patch.object(gabbits.fixtures, "Database", Database):
        yield path
