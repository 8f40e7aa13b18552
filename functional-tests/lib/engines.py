"""Private database servers for tests: on loopback, in temporary folders that are removed at the end.

    python -m functional_tests.lib.engines run ENGINE [--durable] -- COMMAND…
    python -m functional_tests.lib.engines shell ENGINE [--durable]

`run` runs the command with the URL of a new database in PLACET_TEST_DATABASE. `shell` runs the engine's own client on a
new database.

ENGINE is sqlite, postgresql, postgresql-pair (a primary and its synchronous standby), mariadb or galera
(three nodes). For galera, PLACET_TEST_DATABASES has the URLs of all nodes, separated by spaces.
Commits need not survive a power failure unless `--durable` is given.
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

    Names of databases are random, so that several threads or processes can make them at the same time.
    """

    def __init__(self, kind, durable=False, settings=None):
        """`settings` are the server's, and are added to those that it has here."""
        if kind not in ENGINES:
            raise ValueError(f"no such engine: {kind} (known: {', '.join(ENGINES)})")
        self.kind, self.durable, self.settings = kind, durable, settings
        self.nodes = []

    @property
    def dialect(self):
        """The SQL dialect: sqlite, postgresql or mariadb."""
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
        elif self.kind == "postgresql-pair":
            self._start_cluster(postgresql.Pair(self.durable))
        elif self.kind == "galera":
            self._start_cluster(galera.Cluster(self.durable, self.settings))

    def _start_cluster(self, cluster):
        self.cluster, self.nodes = cluster, cluster.nodes
        cluster.start()

    def __exit__(self, *_):
        for node in self.nodes:
            with contextlib.suppress(OSError):
                node.remove()
        shutil.rmtree(self.folder, ignore_errors=True)

    def create(self, template=None):
        """A new, empty database, or a copy of `template`, which must not be in use."""
        name = f"placement_{uuid.uuid4().hex[:12]}"
        if self.kind == "sqlite":
            path = self.folder / f"{name}.sqlite"
            if template:
                shutil.copy(template.path, path)
            return databases.sqlite(path)
        created = self.nodes[0].create(name, template and template.name)
        return self.at(created, 0) if self.kind == "postgresql-pair" else created

    def drop(self, database):
        """Removes a database, even if clients are connected to it."""
        if self.kind == "sqlite":
            for path in database.path.parent.glob(f"{database.path.name}*"):
                path.unlink()
        else:
            self.nodes[0].drop(database.name)

    def at(self, database, number):
        """The same database through the node of this number; of a pair, always through the primary."""
        if self.kind == "postgresql-pair":
            return self.cluster.database(database.name)
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
        parser.error("`run` needs a command: run ENGINE -- COMMAND…")
    # On SIGTERM it exits through the context manager, which ends the servers.
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
