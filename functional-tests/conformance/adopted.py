"""Writes a fixture's data with OpenStack Placement's own code into a database.

The fixture classes of the installed package's test suite make the schema, standard names, providers and claims. In
their own suite they do so in a database in memory. placet has to answer from such a database as from its own.
"""

import contextlib
import os
from unittest import mock

import fixtures


def prepare(name, engine):
    """Returns a database with the data of the fixture called `name`, and the fixture's environment."""
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
                # The fixture drops its database when it ends, so the copy is made before.
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
    """A context in which the fixtures use the database `made`, instead of one in memory."""
    from oslo_db.sqlalchemy import engines
    from placement import db_api, deploy
    from placement.db.sqlalchemy import migration
    from placement.objects import resource_class, trait

    class Database(fixtures.Fixture):
        def __init__(self, conf_fixture, **_):
            super().__init__()
            conf_fixture.config(connection=made.url, group="placement_database")
            self.conf = conf_fixture.conf
            db_api.configure(self.conf)

        def _setUp(self):
            engine = engines.create_engine(made.url)
            self.addCleanup(engine.dispose)
            self.addCleanup(db_api.placement_context_manager.patch_engine(engine))
            self.addCleanup(self.forget)
            self.forget()
            # Migrations make the schema, as in an operator's database, and leave their schema revision.
            migration.upgrade("head")
            deploy.update_database(self.conf)

        @staticmethod
        def forget():
            trait._TRAITS_SYNCED = resource_class._RESOURCE_CLASSES_SYNCED = False

    with mock.patch.object(gabbits.fixtures, "Database", Database):
        yield
