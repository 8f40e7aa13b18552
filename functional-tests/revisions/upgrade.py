"""OpenStack Placement's own migrations, up to one revision. lib/forked.py calls these with CONFIG_FILE REVISION."""

import sys
import time


def main():
    from oslo_config import cfg
    from placement import conf, db_api
    from placement.db.sqlalchemy import migration

    _, config_file, revision = sys.argv
    config = cfg.ConfigOpts()
    conf.register_opts(config)
    config(["--config-file", config_file], project="placement", default_config_files=None)
    db_api.configure(config)
    migration.upgrade(revision)


def slow():
    """With a pause before each DDL statement."""
    from alembic.ddl import impl

    run = impl.DefaultImpl._exec

    def pausing(self, *arguments, **named):
        time.sleep(0.1)
        return run(self, *arguments, **named)

    impl.DefaultImpl._exec = pausing
    main()
