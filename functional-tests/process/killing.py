"""SIGKILL while clients claim: every acknowledged claim is stored, and no claim is stored in part."""

import contextlib
import http.client
import http.server
import os
import sqlite3
import subprocess
import threading
import time

from functional_tests.lib import live
from functional_tests.lib.patience import HANG_SECONDS
from functional_tests.process.cases import case, chance, check, equal, folder, settings
from functional_tests.process.claims import HOSTS, ClientGroup, audit, prepare
from functional_tests.process.placet_process import Placet, binary, environment

KILLS = 6


def rounds():
    return 40 if settings["full"] else KILLS


def kill_repeatedly(random, kill):
    """Calls `kill` to kill a service while clients claim, and audits the database after each kill."""
    with folder() as here:
        with Placet(here, {}) as placet:
            prepare(placet.rest)
            placet.kill()
        clients = ClientGroup(random)
        for _ in range(rounds()):
            with Placet(here, {}) as placet:
                kill(clients, placet)
            with Placet(here, {}) as placet:
                audit(clients, placet)
                clients.free_capacity(placet.rest)
                audit(clients, placet)
                placet.stop()
    return clients


def start(clients, placet):
    """Starts the clients, waits for the first grant of this round, and returns the number of earlier grants."""
    before = len(clients.granted)
    clients.start(placet.port)
    clients.wait_for_grants(before + 1)
    return before


@case("claims of 32 clients survive repeated SIGKILLs: no acknowledged claim is lost, and none is stored in part")
def kill_and_restart():
    random = chance("killing")
    acknowledged, refused = [], []

    def kill(clients, placet):
        before = start(clients, placet)
        time.sleep(random.uniform(0, 0.6))
        placet.kill()
        clients.finish()
        acknowledged.append(len(clients.granted) - before)
        refused.append(len(clients.host) - len(clients.granted) - len(clients.unknown))

    clients = kill_repeatedly(random, kill)
    print(f"        {rounds()} kills: {sum(acknowledged)} claims acknowledged, {sum(refused)} refused,"
          f" {len(clients.unknown)} with an unknown outcome", flush=True)
    check(sum(acknowledged) > rounds() and clients.unknown, "no kill hit a claim in flight")


LOG_BYTES = 110_000_000  # long enough that placet checkpoints the WAL although commits arrive


def lengthen(database):
    """Writes LOG_BYTES from another connection, so that a checkpoint is due.

    Returns the size in bytes that the file has after the checkpoint.
    """
    with contextlib.closing(sqlite3.connect(database, timeout=HANG_SECONDS, isolation_level=None)) as connection:
        connection.execute("PRAGMA wal_autocheckpoint = 0")
        connection.execute("CREATE TABLE IF NOT EXISTS strangers (text BLOB)")
        connection.execute("INSERT INTO strangers VALUES (zeroblob(?))", (LOG_BYTES,))
        (pages,), (size,) = (connection.execute(f"PRAGMA {name}").fetchone() for name in ("page_count", "page_size"))
        return pages * size


def wait_for_growth(path, size):
    """Waits until the file has more than `size` bytes, or for 5 s."""
    until = time.monotonic() + 5
    while os.path.getsize(path) <= size and time.monotonic() < until:
        time.sleep(0.001)


@case("SIGKILL during a checkpoint of a long WAL: no acknowledged claim is lost, and none is stored in part")
def kill_during_a_checkpoint():
    random = chance("moving")
    sizes = []

    def kill(clients, placet):
        whole = lengthen(placet.database)
        start(clients, placet)
        wait_for_growth(placet.database, whole - LOG_BYTES)
        time.sleep(random.uniform(0, 0.02))
        placet.kill()
        clients.finish()
        sizes.append((whole - LOG_BYTES, os.path.getsize(placet.database), whole))

    kill_repeatedly(random, kill)
    hit = sum(before < size < whole for before, size, whole in sizes)
    print(f"        {rounds()} kills, {hit} of them during a checkpoint", flush=True)
    check(hit, "no kill came during a checkpoint")


class Answering(http.server.BaseHTTPRequestHandler):
    """Answers every request with 503 and the server's `output`."""

    protocol_version = "HTTP/1.1"

    def answer(self):
        self.rfile.read(int(self.headers.get("content-length", 0)))
        self.send_response(503)
        self.send_header("content-length", str(len(self.server.output)))
        self.end_headers()
        self.wfile.write(self.server.output)

    do_PUT = do_DELETE = answer

    def log_message(self, *_):
        pass


def counted(output):
    """Sends a claim and a release that are answered with 503 and `output`.

    Returns the claims and the releases that the clients then count as unknown.
    """
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Answering) as server:
        server.output = output
        threading.Thread(target=server.serve_forever, daemon=True).start()
        clients = ClientGroup(chance("counted"), clients=1)
        clients.granted.add("released")
        connection = http.client.HTTPConnection("127.0.0.1", server.server_port, timeout=HANG_SECONDS)
        clients._claim(connection, "claimed", HOSTS[0])
        clients._release(connection, "released")
        connection.close()
        server.shutdown()
    equal((clients.granted, clients.released, clients.wrong), ({"released"}, set(), []))
    return clients.unknown, clients.leaving


@case("a request with an unknown outcome counts neither as done nor as refused")
def unknown_is_counted():
    unknown = (b"The outcome of this request is unknown: it broke. All of it was done, or nothing;"
               b" look before you try again.")
    equal(counted(unknown), ({"claimed"}, {"released"}))
    equal(counted(b"The service is busy. Nothing was changed"), (set(), set()))


@case("SIGKILL while the tables are created leaves a file on which the next start succeeds")
def kill_at_first_start():
    random = chance("first start")
    for _ in range(rounds()):
        with folder() as here:
            path = live.write_config(here, {}, here / "placet.sqlite")
            process = subprocess.Popen(
                [binary(), "--config-file", str(path), "--bind", "127.0.0.1:0"], cwd=here, env=environment(here),
                stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            time.sleep(random.uniform(0.005, 0.12))
            process.kill()
            process.wait(HANG_SECONDS)
            with Placet(here, {}) as placet:
                placet.alive()
                check(len(placet.rest("GET", "/traits").json["traits"]) > 100, "standard traits are missing")
                prepare(placet.rest)
