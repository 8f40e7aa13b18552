"""A clean stop leaves one file: neither a log nor its index, and a copy of the file alone has every acknowledged
row.
"""

import contextlib
import http.client
import shutil
import signal
import socket
import sqlite3
import threading
import time

from functional_tests.lib.patience import HANG_SECONDS, SERVICE_SECONDS
from functional_tests.process.cases import case, chance, check, equal, folder
from functional_tests.process.claims import HOSTS, POOL, ClientGroup, prepare
from functional_tests.process.locked import serving
from functional_tests.process.placet_process import Placet
from functional_tests.process.raw_http import request

ROUNDS = 4
# Answered by SQL, on connections of the pool.
SQL_READS = (f"/resource_providers/{POOL}/usages", f"/resource_providers/{HOSTS[0]}/allocations", "/usages?project_id=p",
             f"/resource_providers/{HOSTS[1]}/inventories")


def files(database):
    """The names of the database's files, without the file of the lock."""
    return sorted(each.name for each in database.parent.glob(f"{database.name}*")
                  if not each.name.endswith("-placet-lock"))


def is_one_file(database):
    equal(files(database), [database.name], "files after a clean stop")


def rows_of_copy(database, sql):
    """What a copy of the file alone holds."""
    with folder() as elsewhere:
        copy = shutil.copy(database, elsewhere / "copy.sqlite")
        with contextlib.closing(sqlite3.connect(copy)) as connection:
            equal(connection.execute("PRAGMA integrity_check").fetchone()[0], "ok")
            return [row[0] for row in connection.execute(sql)]


@case("a clean stop after reads by SQL leaves one file with every row")
def after_reads():
    with folder() as here:
        names = []
        for number in range(ROUNDS):
            with Placet(here, {}) as placet:
                if not number:
                    prepare(placet.rest)
                names.append(f"of round {number}")
                placet.rest.must("POST", "/resource_providers", {"name": names[-1]})
                for path in SQL_READS:
                    equal(placet.rest("GET", path).status, 200, path)
                placet.stop()
            is_one_file(placet.database)
            found = rows_of_copy(placet.database, "SELECT name FROM resource_providers")
            check(set(names) <= set(found), "a copy has", found)


def read_until(port, stopped):
    """Sends reads that are answered by SQL, until the service has ended."""
    with contextlib.suppress(OSError, http.client.HTTPException):
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=HANG_SECONDS)
        while not stopped.is_set():
            for path in SQL_READS:
                connection.request("GET", path, headers={"x-auth-token": "admin", "openstack-api-version": "placement 1.39"})
                connection.getresponse().read()


@case("a clean stop while 8 clients claim and 8 read by SQL leaves one file with every acknowledged claim")
def under_load():
    random = chance("whole file")
    with folder() as here:
        clients = ClientGroup(random, clients=8)
        for number in range(ROUNDS):
            with Placet(here, serving(shutdown_timeout=SERVICE_SECONDS)) as placet:
                if number:
                    clients.free_capacity(placet.rest)
                else:
                    prepare(placet.rest)
                stopped = threading.Event()
                readers = [threading.Thread(target=read_until, args=(placet.port, stopped)) for _ in range(8)]
                for each in readers:
                    each.start()
                before = len(clients.granted)
                clients.start(placet.port)
                clients.wait_for_grants(before + 20)
                time.sleep(random.uniform(0, 0.3))
                placet.signal(signal.SIGTERM)
                equal(placet.ended(), 0, "exit code")
                stopped.set()
                clients.finish()
                for each in readers:
                    each.join(HANG_SECONDS)
            is_one_file(placet.database)
            stored = set(rows_of_copy(placet.database, "SELECT consumer_id FROM allocations"))
            lost = clients.granted - clients.released - clients.leaving - stored
            check(not lost, f"{len(lost)} acknowledged claims are not in a copy of the file")


def stalled_clients(port, count):
    """Connections that asked for a long answer, and read none of it."""
    connections = []
    for _ in range(count):
        connection = socket.socket()
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        connection.connect(("127.0.0.1", port))
        connection.sendall(request("GET", "/resource_providers") + request("GET", SQL_READS[1]))
        connections.append(connection)
    return connections


@case("a clean stop with clients that read their answers slowly or not at all leaves one file with every row")
def slow_clients():
    with folder() as here, Placet(here, serving(shutdown_timeout=2)) as placet:
        prepare(placet.rest)
        for number in range(120):
            placet.rest.must("POST", "/resource_providers", {"name": f"{number} {'x' * 180}"})
        clients = stalled_clients(placet.port, 12)
        time.sleep(0.5)
        placet.signal(signal.SIGTERM)
        slow = clients[0]
        slow.settimeout(0.2)
        with contextlib.suppress(OSError):
            while slow.recv(100):
                time.sleep(0.01)
        equal(placet.ended(), 0, "exit code")
        for each in clients:
            each.close()
        is_one_file(placet.database)
        equal(len(rows_of_copy(placet.database, "SELECT id FROM resource_providers")), 120 + len(HOSTS) + 1)


@case("a clean stop while another program has the file open leaves an empty log, and the file has every row")
def beside_another_program():
    with folder() as here, Placet(here, {}) as placet:
        prepare(placet.rest)
        with contextlib.closing(sqlite3.connect(placet.database)) as other:
            equal(other.execute("SELECT COUNT(*) FROM resource_providers").fetchone(), (5,))
            placet.stop()
            log = placet.database.with_name(f"{placet.database.name}-wal")
            equal(log.stat().st_size, 0, "bytes of the log")
            equal(len(rows_of_copy(placet.database, "SELECT id FROM resource_providers")), 5)
        is_one_file(placet.database)


@case("a clean stop while another program reads an old state warns that the log has rows, and keeps both files")
def beside_an_old_reader():
    with folder() as here, Placet(here, serving(commit_timeout=1)) as placet:
        prepare(placet.rest)
        with contextlib.closing(sqlite3.connect(placet.database, isolation_level=None)) as other:
            other.execute("BEGIN")
            equal(other.execute("SELECT COUNT(*) FROM resource_providers").fetchone(), (5,))
            placet.rest.must("POST", "/resource_providers", {"name": "later"})
            placet.stop()
            check("copy or move both files together" in placet.log(), placet.log()[-1000:])
            other.execute("COMMIT")
            equal(other.execute("SELECT COUNT(*) FROM resource_providers").fetchone(), (6,))
