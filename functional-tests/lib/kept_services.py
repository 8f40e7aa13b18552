"""Services for many tests. Each test finds the rows from after the service's first start.

On a server a new database takes 0.2 s of processor time, and a start takes 0.1 s. So a service goes on, and its rows
are set back, which takes 0.03 s. The alternative is a restart on a copy of an SQLite file. A restart takes more
processor time, but the new process has seen no foreign writer. After a foreign write, placet on SQLite compares its
snapshot before refusing a query of `POST /v1/claims`, at most once a second.
"""

import contextlib
import shutil
import sqlite3
from concurrent.futures import ProcessPoolExecutor

from functional_tests.lib.rest import Rest
from functional_tests.lib.tables.saved_rows import SavedRows

# A write of which nothing remains. placet reads a restored database again when it writes next, at the latest.
UNUSED_TRAIT = "/traits/CUSTOM_RESTORED"


class KeptRows:
    """A running service, and its rows after the start."""

    def __init__(self, service):
        self.service, self.rows, self.rest = service, SavedRows(service.database), Rest(service.port)

    def restore(self):
        """Sets the rows back, and checks that the service shows them."""
        self.rows.restore()
        if self.service.kind == "placet":
            self.rest.must("PUT", UNUSED_TRAIT)
            self.rest.must("DELETE", UNUSED_TRAIT)
        shown = self.rest.must("GET", "/resource_providers").json["resource_providers"]
        shown = sorted((each["uuid"], each["generation"]) for each in shown)
        saved = sorted(zip(*(self.rows.column("resource_providers", name) for name in ("uuid", "generation"))))
        if shown != saved:
            raise RuntimeError(f"after its rows were set back, {self.service.kind} shows {shown} instead of {saved}")


class KeptFile:
    """A service on SQLite, and a copy of its file after the first start."""

    def __init__(self, service):
        self.service, self.path = service, service.database.path
        self.copy = service.folder / "after-the-start"
        with contextlib.closing(sqlite3.connect(self.path)) as source, contextlib.closing(
                sqlite3.connect(self.copy)) as target:
            source.backup(target)

    def restore(self):
        """Starts the service again with the copy."""
        self.service.kill()
        for suffix in ("-wal", "-shm"):
            self.path.with_name(self.path.name + suffix).unlink(missing_ok=True)
        shutil.copy(self.copy, self.path)
        self.service.restart()


class KeptServices:
    """Services by a key of their configuration. Use it as a context manager, which stops them."""

    def __init__(self):
        self.stack, self.kept = contextlib.ExitStack(), {}

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stack.close()

    def get(self, key, make, restarts=False):
        """The service of this key, with the rows after its first start. `make` makes it."""
        if key in self.kept and self.kept[key].service.process.poll() is None:
            self.kept[key].restore()
        else:
            self.kept[key] = (KeptFile if restarts else KeptRows)(self.stack.enter_context(make()))
        return self.kept[key].service


def run_all(function, items, jobs, *arguments):
    """Calls `function(kept, item, *arguments)` for each item, and yields the results in order.

    Each of `jobs` processes has services of its own, in `kept`, and an equal part of the items. So neighbours share a
    service.
    """
    bounds = [len(items) * number // jobs for number in range(jobs + 1)]
    with ProcessPoolExecutor(jobs) as pool:
        for done in [pool.submit(_run_part, function, items[start:end], arguments)
                     for start, end in zip(bounds, bounds[1:])]:
            yield from done.result()


def _run_part(function, items, arguments):
    with KeptServices() as kept:
        return [function(kept, item, *arguments) for item in items]
