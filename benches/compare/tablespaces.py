"""Copies a database of MariaDB by its files: row by row a cloud takes longer to copy than to make."""

import contextlib
import os
import shutil


def copy(engine, template):
    """A new database with the tables and rows of another one, on which nobody works meanwhile."""
    (server,) = engine.nodes
    database = engine.create()
    there, here = (server.data / it.name for it in (template, database))
    with contextlib.closing(template.connect()) as old, contextlib.closing(database.connect()) as new:
        new.execute("SET foreign_key_checks = 0")
        tables = [name for (name,) in old.execute("SHOW TABLES").fetchall()]
        for table in tables:
            new.execute(old.execute(f"SHOW CREATE TABLE `{table}`").fetchone()[1])
            new.execute(f"ALTER TABLE `{table}` DISCARD TABLESPACE")
        old.execute(f"FLUSH TABLES {', '.join(f'`{table}`' for table in tables)} FOR EXPORT")
        for path in (there / f"{table}.{kind}" for table in tables for kind in ("ibd", "cfg")):
            shutil.copy(path, here)
            if server.owner:
                os.chown(here / path.name, server.owner["user"], server.owner["group"])
        old.execute("UNLOCK TABLES")
        for table in tables:
            new.execute(f"ALTER TABLE `{table}` IMPORT TABLESPACE")
        new.execute(f"ANALYZE TABLE {', '.join(f'`{table}`' for table in tables)}").fetchall()
    return database
