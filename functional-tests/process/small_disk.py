"""A small disk: the log follows the free room, and after a full disk placet recovers by itself with new room."""

import contextlib
import http.client
import json
import os
import threading
import time

from functional_tests.lib.patience import HANG_SECONDS, SERVICE_SECONDS, eventually
from functional_tests.process import full_disk
from functional_tests.process.cases import case, check, equal, folder, settings
from functional_tests.process.claims import HOSTS, claim, prepare
from functional_tests.process.locked import check_reads, serving
from functional_tests.process.lost_file import log_of
from functional_tests.process.placet_process import Placet
from functional_tests.process.read_only import database_variables

DISK_BYTES = 16 << 20
CLIENTS = 4
HEADERS = {"x-auth-token": "admin", "openstack-api-version": "placement 1.39", "content-type": "application/json"}


class Load:
    """Clients that claim and release as fast as they are answered; the statuses, in their order."""

    def __init__(self, placet):
        self.port, self.statuses, self.stopped = placet.port, [], threading.Event()
        self.threads = [threading.Thread(target=self._client, args=(n,)) for n in range(CLIENTS)]

    def __enter__(self):
        for each in self.threads:
            each.start()
        return self

    def __exit__(self, *_):
        self.stopped.set()
        for each in self.threads:
            each.join(HANG_SECONDS)

    def _client(self, number):
        with contextlib.suppress(OSError, http.client.HTTPException):
            connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=HANG_SECONDS)
            path, body = f"/allocations/{number:08x}-0000-4000-8000-0000000000cc", json.dumps(claim(HOSTS[number]))
            while not self.stopped.is_set():
                for method, data in (("PUT", body), ("DELETE", None)):
                    connection.request(method, path, data, HEADERS)
                    answer = connection.getresponse()
                    answer.read()
                    # After a write that was not done, a claim exists already, or there is nothing to release.
                    if answer.status not in (404, 409):
                        self.statuses.append(answer.status)

    def wait_for(self, holds, what):
        eventually(lambda: f"{what}; {self.statuses[-5:]}", lambda: holds(self.statuses))

    def wait_for_refusals(self):
        done = len(self.statuses)
        self.wait_for(lambda statuses: statuses[done:].count(503) >= 20, "20 writes refused")

    def wait_until_healed(self):
        done = len(self.statuses)
        self.wait_for(lambda statuses: 204 in statuses[done:], "a write")
        done = len(self.statuses)
        self.wait_for(lambda statuses: len(statuses) > done + 200, "200 more writes")
        equal(set(self.statuses[done:]), {204}, "statuses once the disk has room")


@contextlib.contextmanager
def served_on_a_small_disk():
    """A placet whose database is on a disk of 16 MB: the disk, the process and its clients."""
    with full_disk.small_disk(full_disk.LARGE_DISK) as disk, folder() as here:
        extra = database_variables(disk / "placet.sqlite") | {"RUST_LOG": "warn"}
        with Placet(here, serving(commit_timeout=SERVICE_SECONDS), extra=extra) as placet:
            placet.database = disk / "placet.sqlite"
            prepare(placet.rest)
            with Load(placet) as load:
                yield disk, placet, load
            placet.stop()


@case("a disk of 16 MB: the log takes half of the room at most, and no write of thousands is refused")
def the_log_follows_the_room():
    with served_on_a_small_disk() as (disk, placet, load):
        writes = 12_000 if settings["full"] else 4_000
        most = 0
        while len(load.statuses) < writes:
            most = max(most, log_of(placet.database).stat().st_size)
            check(set(load.statuses) <= {204}, load.statuses[-5:], "after", len(load.statuses), "writes")
            check(all(each.is_alive() for each in load.threads), "a client has ended")
            time.sleep(0.02)
        print(f"        {writes} writes, the log had {most >> 10} KB at most", flush=True)
        # Half of the room, and what was added while pages were copied.
        check(most < DISK_BYTES * 3 // 4, f"the log has {most >> 10} KB of {DISK_BYTES >> 10}")


@case("a disk of 16 MB that is filled and freed, at once or bit by bit: writes are refused, reads served, and it heals")
def filled_and_freed():
    with served_on_a_small_disk() as (disk, placet, load):
        for leave in (0, 300_000, 0):
            filler = full_disk.take_room(disk, leave)
            if not leave:
                load.wait_for_refusals()
                check_reads(placet)
            filler.unlink()
            load.wait_until_healed()
        # Room that comes back in small parts goes to the database first, so it is enough at some time.
        filler = full_disk.take_room(disk)
        load.wait_for_refusals()
        size = filler.stat().st_size
        while size > 0:
            size = max(0, size - 200_000)
            os.truncate(filler, size)
            time.sleep(0.05)
        load.wait_until_healed()
