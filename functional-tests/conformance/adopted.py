"""A fixture's data as OpenStack Placement's own code writes it: straight into a database.

Schema, standard traits and classes, providers, claims: all of it is made by the fixture classes of
the installed package's test suite, which otherwise run on a database in memory. placet has to
answer from such a database as it does from one that it made itself.
"""

import contextlib
import os
from unittest import mock


def prepare(name, engine):
    """Makes a database as the fixture called `name` wants it; returns it, and the fixture's environment."""
    made = engine.create()
    saved = dict(os.environ)
    os.environ["OS_LOG_CAPTURE"] = "1"
    try:
        from placement.tests.functional.fixtures import gabbits

        before = dict(os.environ)
        with _on_database(gabbits, made):
            fixture = getattr(gabbits, name)()
            fixture.start_fixture()
            try:
                # The fixture takes its database away when it ends: the copy is taken before that.
                copy = engine.create(made)
            finally:
                fixture.stop_fixture()
        return copy, {k: v for k, v in os.environ.items() if before.get(k) != v}
    finally:
        engine.drop(made)
        os.environ.clear()
        os.environ.update(saved)


@contextlib.contextmanager
def _on_database(gabbits, made):
    """While it lasts, the fixtures' database is `made`."""
    from placement import db_api
    from placement.db.sqlalchemy import migration

    memory = gabbits.fixtures.Database

    class Database(memory):
        def __init__(self, conf_fixture, **_):
            conf_fixture.config(connection=made.url, group="placement_database")
            super().__init__(conf_fixture)

        def generate_schema_create_all(self, engine):
            # As an operator's database came about: by the migrations, which leave their revision.
            end = db_api.placement_context_manager.patch_engine(engine)
            migration.upgrade("head")
            end()
            super().generate_schema_create_all(engine)

    with mock.patch.object(gabbits.fixtures, "Database", Database):
        yield
