"""A full disk: placet refuses writes without room, and keeps every acknowledged write."""

import contextlib
import os
import resource
import subprocess
import time

from functional_tests.lib.patience import IN_TIME_SECONDS, SERVICE_SECONDS
from functional_tests.lib.small_disk import NotRoot, mounted
from functional_tests.process.cases import Skip, case, chance, check, equal, folder
from functional_tests.process.claims import HOSTS, ClientGroup, audit, claim, is_unknown, prepare
from functional_tests.process.locked import check_reads, consumer, is_busy, serving
from functional_tests.process.placet_process import Placet

FILE_LIMIT_BYTES = 3_500_000
# Python ignores SIGXFSZ, and a child inherits that if signals are not restored. A write then fails as on a full disk.
FULL_DISK = {
    "preexec_fn": lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (FILE_LIMIT_BYTES, resource.RLIM_INFINITY)),
    "restore_signals": False}
SMALL_DISK, LARGE_DISK = "size=3m", "size=16m"
LEFT_BYTES = 300_000


def lift_limit(placet):
    resource.prlimit(placet.process.pid, resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))


def fill(placet, clients):
    """Claims and releases until one is refused."""
    for number in range(3000):
        name = consumer(number)
        clients.host[name] = HOSTS[number % 4]
        answer = placet.rest("PUT", f"/allocations/{name}", claim(clients.host[name]))
        if is_unknown(answer.status, str(answer)):
            clients.unknown.add(name)
        if answer.status != 204:
            return answer
        clients.granted.add(name)
        if number % 3 == 2:
            answer = placet.rest("DELETE", f"/allocations/{name}")
            if is_unknown(answer.status, str(answer)):
                clients.leaving.add(name)
            if answer.status != 204:
                return answer
            clients.released.add(name)
    raise AssertionError("the disk never filled")


def filled(here, then):
    """Fills the disk of a placet, calls `then`, stops placet, and returns the clients."""
    with Placet(here, {}) as placet:
        prepare(placet.rest)
        placet.stop()
    clients = ClientGroup(chance("full disk"), clients=8)
    with Placet(here, {}, extra={"RUST_LOG": "error"}, **FULL_DISK) as placet:
        is_busy(fill(placet, clients))
        check(len(clients.granted) > 20, "full after too few claims")
        check_reads(placet)
        then(placet, clients)
        placet.stop()
    return clients


def grants(placet, clients, number):
    name = consumer(number)
    clients.host[name] = HOSTS[0]
    equal(placet.rest("PUT", f"/allocations/{name}", claim(HOSTS[0])).status, 204)
    clients.granted.add(name)


@case("a full disk: claims are 503, reads are served, and a restart with free space finds every acknowledged claim")
def full_disk():
    with folder() as here:
        clients = filled(here, lambda *_: None)
        with Placet(here, {}) as placet:
            audit(clients, placet)
            grants(placet, clients, 9999)


@case("a disk with free space again: claims are granted without a restart, and no refused claim is stored")
def space_again():
    def then(placet, clients):
        lift_limit(placet)
        audit(clients, placet)
        grants(placet, clients, 9998)
        audit(clients, placet)
    with folder() as here:
        filled(here, then)


@contextlib.contextmanager
def small_disk(size=SMALL_DISK):
    """A folder with a small file system of its own."""
    with folder() as here, contextlib.ExitStack() as stack:
        try:
            yield stack.enter_context(mounted(here, size))
        except NotRoot as reason:
            raise Skip(reason) from reason


def free_bytes(disk):
    found = os.statvfs(disk)
    return found.f_bavail * found.f_frsize


def created(path):
    """A new file without a buffer: closing the file would write again what had no room, and fail. The log may have all
    the room for a moment."""
    for _ in range(100):
        with contextlib.suppress(OSError):
            return open(path, "wb", buffering=0)
        time.sleep(0.05)
    return open(path, "wb", buffering=0)


def take_room(disk, leave=0):
    """Takes all the room of the disk but `leave` bytes, and returns the file that has it."""
    filler = disk / "filler"
    with created(filler) as file, contextlib.suppress(OSError):
        while (taken := min(65536, free_bytes(disk) - leave)) > 0:
            file.write(bytes(taken))
    return filler


def is_full(answer, began):
    """Checks that the answer came in time and gives the reason. No COMMIT succeeds on a full disk: nothing was
    changed.
    """
    is_busy(answer)
    detail = answer.json["errors"][0]["detail"]
    check("disk is full. Nothing was changed" in detail, detail)
    check(time.monotonic() - began < IN_TIME_SECONDS, f"refused after {time.monotonic() - began:.1f} s")


def refuses(placet, clients):
    """Sends claims, some of which are refused, one of them at its COMMIT."""
    for number in range(3000, 3012):
        name = consumer(number)
        clients.host[name] = HOSTS[0]
        began = time.monotonic()
        answer = placet.rest("PUT", f"/allocations/{name}", claim(HOSTS[0]))
        if answer.status == 204:  # needed less space than the one before
            clients.granted.add(name)
        else:
            is_full(answer, began)


@case("a small disk that is full: claims are refused at once with the reason, reads are served, and nothing is lost")
def small_and_full():
    with small_disk() as disk, folder() as here:
        extra = {"OS_PLACEMENT_DATABASE__CONNECTION": f"sqlite:///{disk}/placet.sqlite", "RUST_LOG": "error"}
        clients = ClientGroup(chance("small disk"), clients=8)
        with Placet(here, serving(commit_timeout=SERVICE_SECONDS), extra=extra) as placet:
            placet.database = disk / "placet.sqlite"
            prepare(placet.rest)
            for number in range(5000, 5025):
                grants(placet, clients, number)
            # Otherwise the log, which follows the room, would never fill the disk.
            take_room(disk, LEFT_BYTES)
            answer = fill(placet, clients)
            check("disk is full" in answer.json["errors"][0]["detail"], answer)
            refuses(placet, clients)
            check_reads(placet)
            audit(clients, placet)
            placet.kill()
        subprocess.run(["mount", "-o", f"remount,{LARGE_DISK}", str(disk)], check=True)
        with Placet(here, {}, extra=extra) as placet:
            placet.database = disk / "placet.sqlite"
            audit(clients, placet)
            grants(placet, clients, 9997)
