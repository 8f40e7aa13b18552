"""The end of idle connections: silent, after `[placet] keep_alive_timeout`, and never under a request."""

import re
import threading
import time

from functional_tests.lib.patience import eventually
from functional_tests.process.cases import case, check, equal, folder
from functional_tests.process.placet_process import Placet
from functional_tests.process.protocol import PROVIDERS, refusal
from functional_tests.process.raw_http import RawConnection, request
from functional_tests.process.searches import path, tree

SECONDS = 3
IDLE = {"placet": {"keep_alive_timeout": str(SECONDS)}}
ASKED = request("GET", PROVIDERS)
HEAD_SECONDS = 10
CLIENTS = 8


def ends_silently(raw, began, seconds):
    """The connection ends after this time, and nothing comes on it before."""
    raw.socket.settimeout(5 * seconds)
    equal(raw.socket.recv(4096), b"", "what came on an idle connection")
    took = time.monotonic() - began
    check(seconds - 0.5 < took < seconds + 2, f"the connection ended after {took:.1f} s, not {seconds}")


@case("found_n6_idle: an idle connection is closed silently at the end of keep_alive_timeout, used before or not")
def idle():
    with folder() as here, Placet(here, IDLE, extra={"RUST_LOG": "debug"}) as placet:
        for requests in (0, 1, 3):
            with RawConnection(placet.port) as raw:
                for _ in range(requests):
                    time.sleep(SECONDS / 2)
                    raw.send(ASKED)
                    equal(raw.reply().status, 200)
                # Some clients send an empty line after a body.
                raw.send("\r\n" * min(requests, 1))
                peer = "{}:{}".format(*raw.socket.getsockname())
                ends_silently(raw, time.monotonic(), SECONDS)
            # The log's thread may write it later.
            eventually(f"a line at debug about {peer} after {requests} requests: {placet.log()[-800:]}",
                       lambda: re.search(rf" DEBUG .* the connection of {peer}", placet.log()))
        check("unreadable request" not in placet.log(), placet.log())


@case("found_n6_default: a connection is not closed before 75 s without the option, and no 408 comes after 10 s")
def default():
    with folder() as here, Placet(here, {}) as placet, RawConnection(placet.port) as fresh:
        with RawConnection(placet.port) as used:
            used.send(ASKED)
            equal(used.reply().status, 200)
            time.sleep(HEAD_SECONDS + 2)
            for raw in (fresh, used):
                raw.send(ASKED)
                equal(raw.reply().status, 200)
        check("status: 408" not in placet.log(), placet.log())


@case("found_n6_slow_reader: an answer that its client reads slowly is sent to its end, however short the idle time is")
def slow_reader():
    with folder() as here, Placet(here, {"placet": {"keep_alive_timeout": "1"}}) as placet:
        tree(placet.rest, 0, [1] * 14)
        asked = path([1] * 4).replace("none", "isolate")
        for pause, parts in ((0.01, 400), (2.5, 1)):
            with RawConnection(placet.port) as raw:
                raw.send(request("GET", asked))
                for _ in range(parts):
                    raw.buffer += raw.socket.recv(1024)
                    time.sleep(pause)
                equal(len(raw.reply().body), len(placet.rest("GET", asked).raw))


@case("found_n6_half_a_head: half a head is answered with 408, also of a later request, however short the idle time is")
def half_a_head():
    with folder() as here, Placet(here, IDLE) as placet:
        for requests in (0, 2):
            with RawConnection(placet.port) as raw:
                for _ in range(requests):
                    raw.send(ASKED)
                    equal(raw.reply().status, 200)
                began = time.monotonic()
                raw.send(ASKED[:20])
                refusal(raw.reply(), 408)
                took = time.monotonic() - began
                check(HEAD_SECONDS - 1 < took < HEAD_SECONDS + 3, f"408 after {took:.1f} s")


@case("found_n6_requests: requests that come at the end of the idle time are answered, or find the connection closed")
def at_the_end():
    # A closed connection is no harm if it closed before the request: the client sees its end, and nothing was done.
    answered, closed, wrong = [], [], []
    with folder() as here, Placet(here, {"placet": {"keep_alive_timeout": "1"}}) as placet:
        def client(number):
            for turn in range(6):
                with RawConnection(placet.port) as raw:
                    raw.send(ASKED)
                    raw.reply()
                    time.sleep(0.99 + 0.002 * (number + turn))
                    raw.send(request("POST", PROVIDERS, {"name": f"host-{number}-{turn}"}))
                    reply = raw.reply_or_end()
                    names = (answered if reply else closed)
                    names.append(f"host-{number}-{turn}")
                    if reply and reply.status != 200:
                        wrong.append(str(reply))

        threads = [threading.Thread(target=client, args=(number,)) for number in range(CLIENTS)]
        for each in threads:
            each.start()
        for each in threads:
            each.join()
        existing = {each["name"] for each in placet.rest("GET", PROVIDERS).json["resource_providers"]}
    print(f"        {len(answered)} answered, {len(closed)} found the connection closed", flush=True)
    equal(wrong, [])
    equal(existing, set(answered), "the providers of requests that were answered")
