"""The process's limit of open files: clients cannot use it up, and reaching it does no damage to the database."""

import contextlib
import http.client
import json
import resource
import socket
import time

from functional_tests.lib.patience import HANG_SECONDS
from functional_tests.process.backups import grant, used
from functional_tests.process.cases import case, check, equal, folder
from functional_tests.process.claims import HOSTS, claim, prepare
from functional_tests.process.locked import consumer
from functional_tests.process.placet_process import Placet

LIMIT, CLIENTS = 200, 400
# The guard looks at the file every second.
INSPECTED_SECONDS = 3


def limited(soft, hard):
    return {"preexec_fn": lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))}


def soft_limit(placet):
    return resource.prlimit(placet.process.pid, resource.RLIMIT_NOFILE)[0]


def no_damage(placet):
    equal([line for line in placet.log().splitlines() if "ERROR" in line or "damaged" in line], [])


@contextlib.contextmanager
def silent_clients(port):
    with contextlib.ExitStack() as stack:
        for _ in range(CLIENTS):
            stack.enter_context(socket.create_connection(("127.0.0.1", port), timeout=HANG_SECONDS))
        yield


@case("a limit of open files that is too low for max_connections: a warning, and silent clients cannot use it up")
def connections_fit():
    with folder() as here, Placet(here, {}, **limited(LIMIT, LIMIT)) as placet:
        warnings = [line for line in placet.log().splitlines() if " WARN " in line and "max_connections" in line]
        equal(len(warnings), 1, placet.log())
        prepare(placet.rest)
        grant(placet, range(3))
        with silent_clients(placet.port):
            time.sleep(INSPECTED_SECONDS)
            grant(placet, range(3, 6))
            equal(used(placet), 6)
        no_damage(placet)
        placet.stop()


@case("the soft limit of open files is raised to the hard one")
def soft_limit_is_raised():
    with folder() as here, Placet(here, {"placet": {"max_connections": "100"}}, **limited(LIMIT, 2 * LIMIT)) as placet:
        equal(soft_limit(placet), 2 * LIMIT)
        check("max_connections" not in placet.log(), placet.log())
        placet.stop()


@case("without a file descriptor left, a claim on an open connection is granted, and the database is not taken for damaged")
def none_left():
    with folder() as here, Placet(here, {}) as placet:
        prepare(placet.rest)
        grant(placet, range(3))
        limits = resource.prlimit(placet.process.pid, resource.RLIMIT_NOFILE)
        with contextlib.closing(http.client.HTTPConnection("127.0.0.1", placet.port, timeout=HANG_SECONDS)) as connection:
            connection.connect()
            time.sleep(0.2)
            # Every open file is beyond this limit, so the process can open no other.
            resource.prlimit(placet.process.pid, resource.RLIMIT_NOFILE, (1, limits[1]))
            time.sleep(INSPECTED_SECONDS)
            connection.request("PUT", f"/allocations/{consumer(3)}", json.dumps(claim(HOSTS[3])), {
                "x-auth-token": "admin", "openstack-api-version": "placement 1.39", "content-type": "application/json"})
            answer = connection.getresponse()
            equal(answer.status, 204, answer.read())
        resource.prlimit(placet.process.pid, resource.RLIMIT_NOFILE, limits)
        equal(used(placet), 4)
        no_damage(placet)
        placet.stop()
