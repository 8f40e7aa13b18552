"""kill -9 in the middle of claims: what was acknowledged is there, and nothing is there by half."""

import contextlib
import http.client
import http.server
import os
import sqlite3
import subprocess
import threading
import time

from functional_tests.lib import live
from functional_tests.process.cases import case, chance, check, equal, folder, settings
from functional_tests.process.claims import HOSTS, ClientGroup, audit, prepare
from functional_tests.process.placet_process import Placet, binary, environment

KILLS = 6


def rounds():
    return 40 if settings["full"] else KILLS


def kill_again_and_again(random, kill):
    """Has `kill` kill a service while clients claim from it, and looks each time at what is there afterwards."""
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
                clients.make_room(placet.rest)
                audit(clients, placet)
                placet.stop()
    return clients


def start(clients, placet):
    """Until the first claim of this round is granted; how many were before it."""
    before = len(clients.granted)
    clients.start(placet.port)
    clients.wait_for_grants(before + 1)
    return before


@case("32 clients' claims survive kill -9 again and again: none acknowledged is lost, none is half there")
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

    clients = kill_again_and_again(random, kill)
    print(f"        {rounds()} kills: {sum(acknowledged)} claims acknowledged, {sum(refused)} refused,"
          f" {len(clients.unknown)} of which nobody knows", flush=True)
    check(sum(acknowledged) > rounds() and clients.unknown, "the kills hit nothing")


LOG = 110_000_000  # more than placet leaves in the log while there are commits


def lengthen(database):
    """Has another program write so much that the log is due to be moved into the file, and answers how long that is then."""
    with contextlib.closing(sqlite3.connect(database, timeout=10, isolation_level=None)) as connection:
        connection.execute("PRAGMA wal_autocheckpoint = 0")
        connection.execute("CREATE TABLE IF NOT EXISTS strangers (text BLOB)")
        connection.execute("INSERT INTO strangers VALUES (zeroblob(?))", (LOG,))
        return connection.execute("PRAGMA page_count").fetchone()[0] * connection.execute("PRAGMA page_size").fetchone()[0]


def wait_for_growth(path, size):
    """Until the file has more bytes than that, or for a while."""
    until = time.monotonic() + 5
    while os.path.getsize(path) <= size and time.monotonic() < until:
        time.sleep(0.001)


@case("kill -9 while a long log is moved into the file: no acknowledged claim is lost, none is half there")
def kill_while_the_log_moves():
    random = chance("moving")
    sizes = []

    def kill(clients, placet):
        whole = lengthen(placet.database)
        start(clients, placet)
        wait_for_growth(placet.database, whole - LOG)
        time.sleep(random.uniform(0, 0.02))
        placet.kill()
        clients.finish()
        sizes.append((whole - LOG, os.path.getsize(placet.database), whole))

    kill_again_and_again(random, kill)
    hit = sum(before < size < whole for before, size, whole in sizes)
    print(f"        {rounds()} kills, {hit} of them while the file grew", flush=True)
    check(hit, "no kill came while the log was moved")


class Answering(http.server.BaseHTTPRequestHandler):
    """Says 503 to everything, and why."""

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
    """How a claim and a release are counted that were answered so: unknown or refused, perhaps gone or still there."""
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Answering) as server:
        server.output = output
        threading.Thread(target=server.serve_forever, daemon=True).start()
        clients = ClientGroup(chance("counted"), clients=1)
        clients.granted.add("released")
        connection = http.client.HTTPConnection("127.0.0.1", server.server_port, timeout=10)
        clients._claim(connection, "claimed", HOSTS[0])
        clients._release(connection, "released")
        connection.close()
        server.shutdown()
    equal((clients.granted, clients.released, clients.wrong), ({"released"}, set(), []))
    return clients.unknown, clients.leaving


@case("what nobody knows the outcome of is neither taken for done nor for refused")
def unknown_is_counted():
    nobody_knows = b"The outcome of this request is unknown: it broke. All of it was done, or nothing; look before you try again."
    equal(counted(nobody_knows), ({"claimed"}, {"released"}))
    equal(counted(b"The service is busy. Nothing was changed"), (set(), set()))


@case("kill -9 while the tables are made leaves a file on which the next start succeeds")
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
            process.wait(20)
            with Placet(here, {}) as placet:
                placet.alive()
                check(len(placet.rest("GET", "/traits").json["traits"]) > 100, "standard traits are missing")
                prepare(placet.rest)
