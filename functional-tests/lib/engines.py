"""Private database servers for tests, on loopback, in temporary folders, gone at the end.

    python -m functional_tests.lib.engines run ENGINE [--durable] -- COMMAND…
    python -m functional_tests.lib.engines shell ENGINE [--durable]

`run` runs the command with PLACET_TEST_DATABASE=URL of a new database, `shell` the engine's own client on one.

ENGINE is sqlite, postgresql, postgresql-pair (a primary and its synchronous standby), mariadb or galera
(three nodes). For galera, PLACET_TEST_DATABASES has the URLs of all nodes, with spaces between them.
Servers promise nothing that outlives a power cut unless `--durable` is given.
"""

import argparse
import contextlib
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import uuid

from functional_tests.lib.servers import databases, galera, machine, mariadb, postgresql

ENGINES = ("sqlite", "postgresql", "postgresql-pair", "mariadb", "galera")


class Engine:
    """One engine with its nodes, of which the first makes databases. Use it as a context manager.

    Where several threads or processes make databases, names do not collide: they are random.
    """

    def __init__(self, kind, durable=False, settings=None):
        """`settings`: of the server, beyond those that it has here."""
        if kind not in ENGINES:
            raise ValueError(f"no such engine: {kind} (known: {', '.join(ENGINES)})")
        self.kind, self.durable, self.settings = kind, durable, settings
        self.nodes = []
        self.templates = {}  # by the kind of service that made its tables: a database to copy

    @property
    def dialect(self):
        """The language that it speaks: sqlite, postgresql or mariadb."""
        return {"postgresql-pair": "postgresql", "galera": "mariadb"}.get(self.kind, self.kind)

    def __enter__(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="placet-test-"))
        try:
            self._start()
        except BaseException:
            self.__exit__()
            raise
        return self

    def _start(self):
        if self.kind == "postgresql":
            self.nodes = [postgresql.Server(durable=self.durable, settings=self.settings)]
            self.nodes[0].make().start()
        elif self.kind == "mariadb":
            self.nodes = [mariadb.Server(durable=self.durable, settings=self.settings)]
            self.nodes[0].make().start()
        elif self.kind != "sqlite":
            several = {"postgresql-pair": postgresql.Pair, "galera": galera.Cluster}[self.kind](self.durable)
            self.nodes = several.nodes
            self.several = several
            several.start()

    def __exit__(self, *_):
        for node in self.nodes:
            with contextlib.suppress(OSError):
                node.remove()
        shutil.rmtree(self.folder, ignore_errors=True)

    def create(self, template=None):
        """A new, empty database, or a copy of a `template` on which nobody works meanwhile."""
        name = f"placement_{uuid.uuid4().hex[:12]}"
        if self.kind == "sqlite":
            path = self.folder / f"{name}.sqlite"
            if template:
                shutil.copy(template.path, path)
            return databases.sqlite(path)
        created = self.nodes[0].create(name, template and template.name)
        return self.at(created, 0) if self.kind == "postgresql-pair" else created

    def drop(self, database):
        """Takes a database away, whoever is connected."""
        if self.kind == "sqlite":
            for path in database.path.parent.glob(f"{database.path.name}*"):
                path.unlink()
        else:
            self.nodes[0].drop(database.name)

    def at(self, database, number):
        """The same database through another node; of a pair always the one that may write."""
        if self.kind == "postgresql-pair":
            return self.several.database(database.name)
        return database if self.kind == "sqlite" else self.nodes[number].database(database.name)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("run", "shell"))
    parser.add_argument("engine", choices=ENGINES)
    parser.add_argument("--durable", action="store_true")
    parser.add_argument("command", nargs=argparse.REMAINDER)
    arguments = parser.parse_args()
    command = arguments.command
    if "--durable" in command[:1]:
        arguments.durable, command = True, command[1:]
    command = command[1:] if command[:1] == ["--"] else command
    if arguments.what == "run" and not command:
        parser.error("run what?")
    # Ended from outside it ends its servers too.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    try:
        with Engine(arguments.engine, arguments.durable) as engine:
            database = engine.create()
            urls = [engine.at(database, n).url for n in range(max(1, len(engine.nodes)))]
            urls_for_tests = {"PLACET_TEST_DATABASE": urls[0], "PLACET_TEST_DATABASES": " ".join(urls)}
            if arguments.what == "shell":
                print(*urls, sep="\n", flush=True)
                command = database.shell
            sys.exit(subprocess.call(command, env={**os.environ, **urls_for_tests}))
    except machine.Missing as missing:
        sys.exit(str(missing))


if __name__ == "__main__":
    main()
