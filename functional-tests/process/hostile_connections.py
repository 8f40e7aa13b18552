"""Hostile connections do not keep placet from serving friendly connections."""

import json
import select
import signal
import threading
import time

from functional_tests.lib.patience import HANG_SECONDS, becomes
from functional_tests.process.cases import case, check, equal, folder, settings
from functional_tests.process.hostile_bodies import JSON_HEAD, UUID, with_provider
from functional_tests.process.placet_process import Placet
from functional_tests.process.protocol import PROVIDERS, refusal
from functional_tests.process.raw_http import HEAD, RawConnection, once, request

CONNECTIONS = 200
MAX_URL = 65_534  # bytes
SOME = 5


def serves_well(placet, waiting=()):
    """Twenty requests are answered, SOME of them before the first of these connections ends or is answered.

    A request that waits for one of the connections is answered after it. A few requests show this, and on a busy
    machine twenty take long. Without `waiting` the connections wait for a minute, of which the requests take half at
    most.
    """
    began = time.monotonic()
    for number in range(20):
        equal(placet.rest("POST", PROVIDERS, {"name": f"{began} {number}"}).status, 200)
        if number + 1 == SOME:
            still_wait(waiting)
    took = time.monotonic() - began
    check(waiting or took < 30, f"20 requests took {took:.1f} s")


def still_wait(raws):
    """Each of these connections is open, and has no answer."""
    poll = select.poll()
    for raw in raws:
        poll.register(raw.socket, select.POLLIN)
    ended = poll.poll(0)
    check(not ended, f"{len(ended)} of {len(raws)} connections have ended or are answered")


def connect(placet, count):
    """Opens this number of connections, from two addresses in turn: an address has at most half of all."""
    return [RawConnection(placet.port, source=f"127.0.0.{2 + number % 2}") for number in range(count)]


def connect_many(placet, data):
    """Opens the connections of one kind, CONNECTIONS in number, and sends `data` on each."""
    raws = connect(placet, CONNECTIONS)
    for raw in raws:
        raw.send(data)
    return raws

@case(f"{CONNECTIONS} idle connections and {CONNECTIONS} with half a request line block no request, "
      "and are closed after their timeouts")
def half_open():
    with folder() as here, Placet(here, {"placet": {"keep_alive_timeout": "15"}}) as placet:
        halves, silent = connect_many(placet, b"GET /resource_prov"), connect_many(placet, b"")
        try:
            serves_well(placet, halves + silent)
            for raw in halves:
                refusal(raw.reply(), 408)
            check(all(raw.is_closed() for raw in halves + silent))
        finally:
            for raw in halves + silent:
                raw.socket.close()
        placet.alive()


@case("a request that arrives while the process does not run is answered, however long ago its connection was opened")
def suspended():
    with folder() as here, Placet(here, {}) as placet, RawConnection(placet.port) as raw:
        raw.send("GET / HT")
        time.sleep(0.2)
        placet.signal(signal.SIGSTOP)
        try:
            time.sleep(11)
            raw.send("TP/1.1\r\nHost: x\r\n\r\n")
        finally:
            placet.signal(signal.SIGCONT)
        equal(raw.reply().status, 200)


@case("half a request line on a connection that served a request before is closed after the timeout")
def half_open_again():
    with folder() as here, Placet(here, {}) as placet, RawConnection(placet.port) as raw:
        raw.send(request("GET", "/"))
        equal(raw.reply().status, 200)
        raw.send("GET / HT")
        check(raw.is_closed())


@case("a new client is served at max_connections if others are idle: the idlest connection is closed")
def too_many_idle():
    options = {"placet": {"max_connections": "20", "workers": "1"}}
    with folder() as here, Placet(here, options) as placet:
        raws = connect(placet, 18)
        try:
            for raw in raws:
                raw.send(request("GET", "/"))
                equal(raw.reply().status, 200)
            for raw in (raws[0], raws[1]):
                raw.send(request("GET", "/"))
                equal(raw.reply().status, 200)
            for _ in range(10):
                equal(once(placet.port, request("GET", "/")).status, 200)
            more = [RawConnection(placet.port) for _ in range(5)]
            raws += more
            for raw in more:
                raw.send(request("GET", "/"))
                equal(raw.reply().status, 200)
            check(raws[2].is_closed(), "the idlest connection is open")
            raws[1].send(request("GET", "/"))
            equal(raws[1].reply().status, 200)
        finally:
            for raw in raws:
                raw.socket.close()


@case("a request whose connection is accepted together with max_connections others is served, not closed as idle")
def accepted_together():
    options = {"placet": {"max_connections": "20", "workers": "1"}}
    with folder() as here, Placet(here, options) as placet:
        placet.signal(signal.SIGSTOP)
        try:
            raws = connect(placet, 20)
            for number, raw in enumerate(raws):
                body = json.dumps({"name": f"{number:02}"})
                raw.send(f"POST {PROVIDERS} HTTP/1.1\r\n{JSON_HEAD}Content-Length: {len(body)}\r\n\r\n" + body[:5])
        finally:
            placet.signal(signal.SIGCONT)
        time.sleep(1)
        for number, raw in enumerate(raws):
            with raw:
                raw.send(json.dumps({"name": f"{number:02}"})[5:])
                equal(raw.reply().status, 200)


@case(f"{CONNECTIONS} connections that announce a body and do not send it block no other request")
def half_bodies():
    # At full size they use all connections of their address, which are half of all connections of the worker. The test
    # waits until each is answered with 408 after a minute.
    full = settings["full"]
    options = {"placet": {"max_connections": str(2 * CONNECTIONS), "workers": "1"}} if full else {}
    with folder() as here, Placet(here, options) as placet:
        raws = connect_many(placet, f"POST {PROVIDERS} HTTP/1.1\r\n{JSON_HEAD}Content-Length: 50\r\n\r\n" + '{"na')
        try:
            if full:
                for raw in raws:
                    raw.socket.settimeout(90)
                    refusal(raw.reply(), 408)
                check(all(raw.is_closed() for raw in raws))
            serves_well(placet, () if full else raws)
        finally:
            for raw in raws:
                raw.socket.close()
        serves_well(placet)


@case("clients that send requests and never read the answers block no other request")
def never_reading():
    with folder() as here, Placet(here, {}) as placet:
        raws = [RawConnection(placet.port, timeout=2) for _ in range(20)]
        pipeline = request("GET", "/traits") * 200
        try:
            for raw in raws:
                raw.send(pipeline)
            serves_well(placet)
        finally:
            for raw in raws:
                raw.socket.close()
        placet.alive()


@case("garbage, TLS and HTTP/2 on the port are refused in JSON or closed")
def garbage():
    hello = bytes.fromhex("16030100c8010000c40303") + bytes(190)
    with folder() as here, Placet(here, {}) as placet:
        for data in (b"\r\n\r\n\r\nhello\r\n\r\n", bytes(range(256)) * 40, hello, b"\x00" * 5000, b"GET\r\n\r\n",
                     b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", b"GET / HTTP/9.9\r\n\r\n", b"\xff" * 200_000,
                     b"GET / HTTP/1.1\r\nno colon\r\n\r\n", b"GET / HTTP/1.1\r\nBad Name: x\r\n\r\n",
                     b"GET /a b HTTP/1.1\r\nHost: x\r\n\r\n"):
            with RawConnection(placet.port) as raw:
                raw.send(data)
                reply = raw.reply_or_end()
                if reply:
                    too_long = reply.status == 414 and len(data) > MAX_URL
                    check(too_long or reply.status in (400, 404, 408, 431, 505), data[:40], reply)
                    refusal(reply, reply.status)
        placet.alive()


@case("a request with too long a head or too many headers is refused or its connection closed, and costs less than 5 s of CPU time")
def header_bombs():
    with folder() as here, Placet(here, {}) as placet:
        for headers in ("X-A: " + "a" * 2_000_000, "".join(f"X-{n}: {n}\r\n" for n in range(20_000))[:-2],
                        "Accept: " + "text/html;q=0.1," * 50_000, "X-A: a\r\n" * 300_000 + "X: x"):
            before = placet.processor_seconds()
            reply = once(placet.port, f"GET {PROVIDERS} HTTP/1.1\r\n{HEAD}{headers}\r\n\r\n")
            check(reply is None or 400 <= reply.status < 500, reply)
            used = placet.processor_seconds() - before
            check(used < 5, f"it took {used:.1f} s of CPU time")
        reply = once(placet.port, request("GET", f"{PROVIDERS}?name=" + "a" * 3_000_000))
        check(reply is None or 400 <= reply.status < 500, reply)
        # The headers of ordinary clients are far below the limits.
        headers = "".join(f"X-{n}: {'v' * 100}\r\n" for n in range(60)) + "Accept: " + "a/b;q=0.1," * 300 + "*/*\r\n"
        equal(once(placet.port, request("GET", PROVIDERS, headers=headers)).status, 200)
        placet.alive()


@case("a request with a false length writes nothing, and smuggles no second request")
def lying_lengths():
    body = json.dumps({"name": "smuggled"}).encode()
    head = f"POST {PROVIDERS} HTTP/1.1\r\n{JSON_HEAD}"
    inner = request("POST", PROVIDERS, {"name": "smuggled"})
    with folder() as here, Placet(here, {}) as placet:
        for lengths in ("Content-Length: 5\r\nContent-Length: 6\r\n", "Content-Length: -1\r\n",
                        "Content-Length: +20\r\n", "Content-Length: 0x14\r\n", "Content-Length: 20, 20\r\n",
                        "Content-Length: hi mom\r\n",
                        "Content-Length: 99999999999999999999999\r\n", "Transfer-Encoding: nonsense\r\n",
                        "Content-Length: 4\r\nTransfer-Encoding: chunked\r\n",
                        "Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n",
                        "Transfer-Encoding : chunked\r\n", "Transfer-Encoding: xchunked\r\n"):
            with RawConnection(placet.port) as raw:
                raw.send((head + lengths + "\r\n").encode() + b"0\r\n\r\n" + inner)
                reply = raw.reply_or_end()
                check(reply is None or 400 <= reply.status < 500, lengths, reply)
                names = [p["name"] for p in placet.rest("GET", PROVIDERS).json["resource_providers"]]
                equal(names, [], "after", lengths)
        for chunks in (b"zz\r\n", b"-1\r\n", b"ffffffffffffffffff\r\nx", b"5\r\n{}XXXYY", b"\r\n\r\n",
                       b"1" * 100_000):
            with RawConnection(placet.port) as raw:
                raw.send((head + "Transfer-Encoding: chunked\r\n\r\n").encode() + chunks)
                reply = raw.reply_or_end()
                check(reply is None or 400 <= reply.status < 500, chunks[:20], reply)
        with RawConnection(placet.port) as raw:  # fewer bytes than announced
            raw.send((head + f"Content-Length: {len(body) + 1}\r\n\r\n").encode() + body)
        with RawConnection(placet.port) as raw:  # more bytes than announced: the rest is not a request
            honest = body.replace(b"smuggled", b"honestly")
            raw.send((head + f"Content-Length: {len(honest)}\r\n\r\n").encode() + honest + b"xxxx\r\n\r\n")
            equal(raw.reply().status, 200)
            rest = raw.reply_or_end()
            check(rest is None or rest.status == 400, rest)
        time.sleep(0.3)
        equal([p["name"] for p in placet.rest("GET", PROVIDERS).json["resource_providers"]], ["honestly"])


@case("claims of clients that disconnect before the answer are stored whole or not at all")
def early_disconnects():
    with with_provider() as placet:
        inventories = {"VCPU": {"total": 1000}, "DISK_GB": {"total": 1000}}
        body = {"resource_provider_generation": 0, "inventories": inventories}
        placet.rest.must("PUT", f"{PROVIDERS}/{UUID}/inventories", body)
        claim = {"allocations": {UUID: {"resources": {"VCPU": 1, "DISK_GB": 1}}}, "project_id": "p", "user_id": "u",
                 "consumer_generation": None, "consumer_type": "INSTANCE"}

        def send_and_disconnect(number):
            with RawConnection(placet.port) as raw:
                raw.send(request("PUT", f"/allocations/{number:08x}-0000-4000-8000-000000000000", claim))

        threads = [threading.Thread(target=send_and_disconnect, args=(n,)) for n in range(100)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(HANG_SECONDS)
        time.sleep(1)

        def shown():
            answer = placet.rest("GET", f"{PROVIDERS}/{UUID}/usages").json
            equal(answer["usages"]["VCPU"], answer["usages"]["DISK_GB"])
            return answer["resource_provider_generation"] - answer["usages"]["VCPU"]

        # Some of the claims may still be under way.
        becomes("the generation beyond the claims", 1, shown)
        placet.alive()
