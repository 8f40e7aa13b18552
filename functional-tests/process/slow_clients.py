"""Clients that send or read as slowly as possible: each is ended after a time, and none delays a fast client."""

import socket
import threading
import time

from functional_tests.process.cases import case, check, equal, folder, settings
from functional_tests.process.hostile_bodies import JSON_HEAD
from functional_tests.process.hostile_connections import serves_well
from functional_tests.process.placet_process import Placet
from functional_tests.process.protocol import PROVIDERS, refusal
from functional_tests.process.raw_http import HEAD, RawConnection, request
from functional_tests.process.searches import path, tree

CLIENTS = 50
# placet's timeouts: HEAD_TIMEOUT, BODY_TIMEOUT and WRITE_TIMEOUT in src/api/http.
HEAD_SECONDS, BODY_SECONDS, WRITE_SECONDS = 10, 60, 60


class Drip:
    """Connections on which one byte is sent every half second, until each is closed or the block ends."""

    def __init__(self, port, begin, drop):
        self.began = time.monotonic()
        self.raws = [RawConnection(port) for _ in range(CLIENTS)]
        self.begin, self.drop, self.stopped = begin, drop, threading.Event()

    def __enter__(self):
        for raw in self.raws:
            raw.send(self.begin)
        self.thread = threading.Thread(target=self.send)
        self.thread.start()
        return self

    def send(self):
        while not self.stopped.wait(0.5):
            for raw in self.raws:
                raw.send(self.drop)

    def __exit__(self, *_):
        self.stopped.set()
        self.thread.join()
        for raw in self.raws:
            raw.socket.close()


def ended_with_408(drip, seconds):
    """Each is refused with 408 after `seconds`, although bytes arrive all the time."""
    for raw in drip.raws:
        refusal(raw.reply(), 408)
    took = time.monotonic() - drip.began
    check(seconds - 1 < took < 10 * seconds, f"they were refused after {took:.1f} s")


@case(f"{CLIENTS} heads that arrive byte by byte are refused after {HEAD_SECONDS} s in all, and delay no other request")
def slow_heads():
    with folder() as here, Placet(here, {}) as placet:
        for begin, drop in ((f"GET {PROVIDERS} HTTP/1.1\r\n{HEAD}X: ", b"a"), ("GET /", b"x")):
            with Drip(placet.port, begin, drop) as drip:
                serves_well(placet, drip.raws)
                ended_with_408(drip, HEAD_SECONDS)
        placet.alive()


@case(f"{CLIENTS} bodies that arrive byte by byte delay no other request, and are refused after {BODY_SECONDS} s in all")
def slow_bodies():
    # The wait for the refusals is of the full size alone.
    begin = f"POST {PROVIDERS} HTTP/1.1\r\n{JSON_HEAD}Content-Length: 5000\r\n\r\n"
    chunked = f"POST {PROVIDERS} HTTP/1.1\r\n{JSON_HEAD}Transfer-Encoding: chunked\r\n\r\n"
    with folder() as here, Placet(here, {}) as placet:
        for head, drop in ((begin, b" "), (chunked, b"1\r\n \r\n")):
            with Drip(placet.port, head, drop) as drip:
                serves_well(placet, drip.raws)
                if settings["full"]:
                    ended_with_408(drip, BODY_SECONDS)
        placet.alive()


@case(f"{CLIENTS} clients that read long answers byte by byte delay no other request, and one that stops reading is ended")
def slow_readers():
    with folder() as here, Placet(here, {}) as placet:
        tree(placet.rest, 0, [1] * 16)
        asked = request("GET", path([1] * 5).replace("none", "isolate"))
        raws = [RawConnection(placet.port) for _ in range(CLIENTS)]
        try:
            for raw in raws:
                raw.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
                raw.send(asked)
            for _ in range(10):
                for raw in raws:
                    equal(len(raw.socket.recv(1)), 1)
                serves_well(placet)
            # The wait for the end is of the full size alone.
            if settings["full"]:
                time.sleep(WRITE_SECONDS + 15)
                equal(placet.log().count("broken off"), CLIENTS)
        finally:
            for raw in raws:
                raw.socket.close()
        placet.alive()
