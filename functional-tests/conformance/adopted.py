"""A fixture's data as OpenStack Placement's own code writes it: straight into a database.

Schema, standard traits and classes, providers, claims: all of it is made by the fixture classes of
the installed package's test suite, which otherwise run on a database in memory. placet has to
answer from such a database as it does from one that it made itself.
"""

import contextlib
import os
from unittest import mock

import fixtures


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
    """While it lasts, the fixtures' database is `made`: theirs is in memory, and is gone when they end."""
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
            # As an operator's database came about: by the migrations, which leave their revision.
            migration.upgrade("head")
            deploy.update_database(self.conf)

        @staticmethod
        def forget():
            trait._TRAITS_SYNCED = resource_class._RESOURCE_CLASSES_SYNCED = False

    with mock.patch.object(gabbits.fixtures, "Database", Database):
        yield
