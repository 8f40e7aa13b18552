"""A database of any engine: the URL, and SQL through the engine's driver, with `?` for each value."""

import contextlib
import pathlib
import sqlite3

from functional_tests.lib.patience import HANG_SECONDS

USER, PASSWORD = "placement", "se cret/@:%"
QUOTED = "se%20cret%2F%40%3A%25"


class Database:
    """A database behind a URL."""

    def __init__(self, url, connect, engine, name, shell):
        self.url, self.engine, self.name = url, engine, name
        self.shell = shell  # the command line of the engine's own client
        self._connect = connect

    def connect(self):
        """A new connection, in autocommit mode."""
        return Connection(self._connect(), self.engine)

    def query(self, sql, values=()):
        """All rows of one statement, on a connection of its own."""
        with contextlib.closing(self.connect()) as connection:
            return connection.execute(sql, values).fetchall()

    def run(self, sql, values=()):
        """Runs one statement that returns no rows, on a connection of its own."""
        with contextlib.closing(self.connect()) as connection:
            connection.execute(sql, values)


class Connection:
    def __init__(self, inner, engine):
        self.inner, self.engine = inner, engine

    def execute(self, sql, values=()):
        """Runs a statement; returns the driver's cursor."""
        if self.engine == "sqlite":
            return self.inner.execute(sql, values)
        cursor = self.inner.cursor()
        cursor.execute(sql.replace("%", "%%").replace("?", "%s"), tuple(values))
        return cursor

    def close(self):
        self.inner.close()


def sqlite(path):
    """The database in an SQLite file."""
    path = pathlib.Path(path)
    found = Database(
        f"sqlite:///{path}", lambda: sqlite3.connect(path, timeout=HANG_SECONDS, isolation_level=None), "sqlite", path.name,
        ["sqlite3", str(path)])
    found.path = path
    return found


def postgresql(ports, name, host="127.0.0.1", more=None):
    """`ports` is one port, or several separated by commas; `more` are options of the URL."""
    more = more or {}
    ports = str(ports).split(",")

    def connect():
        import psycopg2

        connection = psycopg2.connect(
            host=",".join([host] * len(ports)), port=",".join(ports), user=USER, password=PASSWORD, dbname=name,
            connect_timeout=60, **more)
        connection.autocommit = True
        return connection

    hosts = ",".join(f"{host}:{port}" for port in ports)
    options = "?" + "&".join(f"{option}={value}" for option, value in more.items()) if more else ""
    place = f"{USER}:{QUOTED}@{hosts}/{name}{options}"
    return Database(f"postgresql+psycopg2://{place}", connect, "postgresql", name, ["psql", f"postgresql://{place}"])


def mariadb(port, name, host="127.0.0.1", others=()):
    """`others` are further ports in the URL. Connections made here use the first port only."""
    def connect():
        import pymysql

        # Without `ssl_disabled` the driver reads the system's certificates for each connection.
        return pymysql.connect(
            host=host, port=port, user=USER, password=PASSWORD, database=name or None, autocommit=True,
            ssl_disabled=True, connect_timeout=60, read_timeout=HANG_SECONDS, write_timeout=HANG_SECONDS, charset="utf8mb4")

    hosts = ",".join(f"{host}:{each}" for each in (port, *others))
    shell = ["mariadb", "--no-defaults", f"-h{host}", f"-P{port}", f"-u{USER}", f"-p{PASSWORD}", name]
    return Database(f"mysql+pymysql://{USER}:{QUOTED}@{hosts}/{name}", connect, "mariadb", name, shell)
