"""No file may grow any more: what cannot be kept is refused, what was acknowledged stays."""

import contextlib
import resource
import subprocess
import time

from functional_tests.process.cases import Skip, case, chance, check, equal, folder
from functional_tests.process.claims import HOSTS, ClientGroup, audit, claim, is_unknown, prepare
from functional_tests.process.locked import consumer, is_busy, reads_go_on
from functional_tests.process.placet_process import Placet

LIMIT = 3_500_000
# Python ignores SIGXFSZ and hands that down where signals are not restored: a write then fails as on a full disk.
FULL = {"preexec_fn": lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (LIMIT, resource.RLIM_INFINITY)),
        "restore_signals": False}
SMALL, LARGE = "size=3m", "size=16m"
AT_ONCE = 2  # seconds


def make_room(placet):
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
    """A placet on a disk that is full."""
    with Placet(here, {}) as placet:
        prepare(placet.rest)
        placet.stop()
    clients = ClientGroup(chance("full disk"), clients=8)
    with Placet(here, {}, extra={"RUST_LOG": "error"}, **FULL) as placet:
        is_busy(fill(placet, clients))
        check(len(clients.granted) > 20, "full at once")
        reads_go_on(placet)
        then(placet, clients)
        placet.stop()
    return clients


def grants(placet, clients, number):
    name = consumer(number)
    clients.host[name] = HOSTS[0]
    equal(placet.rest("PUT", f"/allocations/{name}", claim(HOSTS[0])).status, 204)
    clients.granted.add(name)


@case("a full disk: claims are refused with 503, reads go on, and a restart with room finds what was acknowledged")
def full_disk():
    with folder() as here:
        clients = filled(here, lambda *_: None)
        with Placet(here, {}) as placet:
            audit(clients, placet)
            grants(placet, clients, 9999)


@case("a disk that was full and has room again: claims are granted without a restart, and nothing refused is there")
def room_again():
    def then(placet, clients):
        make_room(placet)
        audit(clients, placet)
        grants(placet, clients, 9998)
        audit(clients, placet)
    with folder() as here:
        filled(here, then)


@contextlib.contextmanager
def small_disk():
    """A folder that is a disk of its own."""
    with folder() as here:
        mounted = subprocess.run(
            ["mount", "-t", "tmpfs", "-o", SMALL, "tmpfs", str(here)], capture_output=True, text=True, check=False)
        if mounted.returncode:
            raise Skip(f"only root can make a small disk: {mounted.stderr.strip()}")
        try:
            yield here
        finally:
            subprocess.run(["umount", "--lazy", str(here)], check=True)


def is_full(answer, began):
    """Refused at once, and told why: that nothing was done is known, for a full disk keeps no COMMIT."""
    is_busy(answer)
    detail = answer.json["errors"][0]["detail"]
    check("disk is full. Nothing was changed" in detail, detail)
    check(time.monotonic() - began < AT_ONCE, f"refused after {time.monotonic() - began:.1f} s")


def refuses(placet, clients):
    """Until it has refused some, one of them at its COMMIT."""
    for number in range(3000, 3012):
        name = consumer(number)
        clients.host[name] = HOSTS[0]
        began = time.monotonic()
        answer = placet.rest("PUT", f"/allocations/{name}", claim(HOSTS[0]))
        if answer.status == 204:  # a smaller one than that before
            clients.granted.add(name)
        else:
            is_full(answer, began)


@case("a small disk that is full: every claim is refused at once and told why, reads go on, and nothing is lost")
def small_and_full():
    with small_disk() as disk, folder() as here:
        extra = {"OS_PLACEMENT_DATABASE__CONNECTION": f"sqlite:///{disk}/placet.sqlite", "RUST_LOG": "error"}
        clients = ClientGroup(chance("small disk"), clients=8)
        with Placet(here, {}, extra=extra) as placet:
            placet.database = disk / "placet.sqlite"
            prepare(placet.rest)
            answer = fill(placet, clients)
            check("disk is full" in answer.json["errors"][0]["detail"], answer)
            check(len(clients.granted) > 20, "full at once")
            refuses(placet, clients)
            reads_go_on(placet)
            audit(clients, placet)
            placet.kill()
        subprocess.run(["mount", "-o", f"remount,{LARGE}", str(disk)], check=True)
        with Placet(here, {}, extra=extra) as placet:
            placet.database = disk / "placet.sqlite"
            audit(clients, placet)
            grants(placet, clients, 9997)
