"""Clients that hold all connections: a new client is answered, and an accepted token keeps its connections.

A client that waited for the end of the held connections would be answered last. So the order is checked: at each answer
the number of closed connections is at most the number of new clients.
"""

import contextlib
import itertools
import pathlib
import select
import socket

from functional_tests.lib.patience import HANG_SECONDS, SERVICE_SECONDS, eventually
from functional_tests.metrics import scrape
from functional_tests.process.cases import case, check, equal, folder
from functional_tests.process.hostile_bodies import JSON_HEAD
from functional_tests.process.locked import write_lock
from functional_tests.process.placet_process import Placet
from functional_tests.process.protocol import PROVIDERS
from functional_tests.process.raw_http import RawConnection, once, request
from functional_tests.process.searches import becomes_idle, begin

MAX_CONNECTIONS = 20
WORKERS = 2
# The most of one address.
HALF = MAX_CONNECTIONS // 2
OPTIONS = {"placet": {"max_connections": str(MAX_CONNECTIONS), "workers": str(WORKERS)}}
# With one worker the number of connections that an address keeps is exact.
ONE_WORKER = {"placet": {"max_connections": str(MAX_CONNECTIONS), "workers": "1"}}
# New connections, one after the other. Each worker closes one held connection for the first of them.
NEW_CLIENTS = 5
UNREAD_CONNECTIONS = 200
# Processor time. It is 25 times what 2,000 unread answers cost. When each was made and copied, they cost twice this.
UNREAD_SECONDS = 4
ONE_ADDRESS = ["127.0.0.2"]
MANY_ADDRESSES = [f"127.0.0.{number}" for number in range(2, 22)]
WITHOUT_TOKEN = b"GET /openapi.json HTTP/1.1\r\nHost: placet\r\n\r\n"
# The kinds of connections that are held, and what the metrics say that they waited for.
KINDS = {
    # 10 times 282 kB: more than the kernel keeps for a client that reads nothing.
    "answers that are not read": WITHOUT_TOKEN * 10,
    "half a head": b"GET /resource_prov",
    "half a body": f"POST {PROVIDERS} HTTP/1.1\r\n{JSON_HEAD}Content-Length: 50\r\n\r\n".encode() + b'{"na',
    "silence": b"",
}
WAITED_FOR = {"answers that are not read": "client", "half a head": "request", "half a body": "answer",
              "silence": "request"}


@contextlib.contextmanager
def held(placet, addresses, data, count=MAX_CONNECTIONS):
    """Connections from these addresses in turn, on each of which `data` is sent and nothing is read."""
    raws = []
    try:
        for _, address in zip(range(count), itertools.cycle(addresses)):
            raws.append(RawConnection(placet.port, source=address))
            raws[-1].socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            raws[-1].send(data)
        yield raws
    finally:
        for raw in raws:
            raw.socket.close()


def open_at(placet):
    """The open connections of clients from other addresses than that of the tests' own requests.

    The kernel's view: a connection that placet has closed is not ESTABLISHED, even if its client reads nothing.
    The kernel repeats lines when connections of other programs end during the read, so a set counts the clients.
    """
    own, established = "0100007F", "01"
    lines = [line.split() for line in pathlib.Path("/proc/net/tcp").read_text().splitlines()[1:]]
    port = f":{placet.port:04X}"
    return len({remote for _, local, remote, state, *_ in lines
                if local.endswith(port) and state == established and not remote.startswith(own)})


def are_open(raws):
    """placet has closed none of these connections."""
    poll = select.poll()
    for raw in raws:
        poll.register(raw.socket, select.POLLRDHUP)
    ended = poll.poll(0)
    check(not ended, f"{len(ended)} of {len(raws)} connections are closed")


def answered(placet, held_count=0):
    """New clients are answered, each while all of the `held_count` connections are open but one for each new client."""
    for number in range(1, NEW_CLIENTS + 1):
        equal(once(placet.port, request("GET", PROVIDERS)).status, 200)
        still = open_at(placet)
        check(still >= held_count - number, f"{still} of {held_count} connections are open at answer {number}")


def new_clients(kind):
    """New clients are answered beside connections of one address, and of many."""
    for options, of_kind in (ONE_WORKER, of_one_address), (OPTIONS, of_many_addresses):
        with folder() as here, Placet(here, options) as placet:
            # The first request makes the text on another thread. Later answers wait for their clients alone.
            equal(once(placet.port, WITHOUT_TOKEN).status, 200)
            of_kind(placet, kind)
            is_said(placet, kind)
            placet.alive()


def of_one_address(placet, kind):
    """The address has half of all connections. A further connection ends its idlest, and no new client ends any."""
    with held(placet, ONE_ADDRESS, KINDS[kind], HALF) as first:
        becomes_idle(placet, HANG_SECONDS, "the requests of the connections that are held")
        are_open(first)
        with held(placet, ONE_ADDRESS, b"", 1) as more:
            eventually("the idlest is closed", lambda: open_at(placet) == HALF)
            are_open(more)
            answered(placet)
            equal(open_at(placet), HALF)


def of_many_addresses(placet, kind):
    with held(placet, MANY_ADDRESSES, KINDS[kind]):
        becomes_idle(placet, HANG_SECONDS, "the requests of the connections that are held")
        answered(placet, eventually("placet has closed the surplus", lambda: held_count(placet)))


def held_count(placet):
    """The open connections, when they are as many as may be. On a busy machine placet may still count the connection of
    the first request when the last one is opened."""
    count = open_at(placet)
    return count if MAX_CONNECTIONS - 1 <= count <= MAX_CONNECTIONS else None


def is_said(placet, kind):
    """The log and the metrics say that connections were closed, and what they waited for."""
    check("Too many connections are open" in placet.log(), placet.log())
    metrics = scrape.read(placet.port)
    closed = metrics.sum("placet_http_connections_closed_total", waited_for=WAITED_FOR[kind])
    equal(closed, metrics.sum("placet_http_connections_closed_total"))
    check(closed > 0, "no connection was counted")


@case(f"hostile 7: unread answers on {UNREAD_CONNECTIONS} connections cost less than {UNREAD_SECONDS} s of CPU time")
def hostile_07_cost_of_unread_answers():
    options = {"placet": {"max_connections": str(2 * UNREAD_CONNECTIONS)}}
    with folder() as here, Placet(here, options) as placet:
        unread = KINDS["answers that are not read"]
        with held(placet, ONE_ADDRESS, unread, UNREAD_CONNECTIONS):
            becomes_idle(placet, UNREAD_SECONDS, "answers that are not read")
        placet.alive()


@case("hostile 7: unread answers, from one address and from many, on all connections delay no new client")
def hostile_07_unread_answers():
    new_clients("answers that are not read")


@case("hostile 7: half heads, from one address and from many, on all connections delay no new client")
def hostile_07_half_heads():
    new_clients("half a head")


@case("hostile 7: half bodies with a token, from one address and from many, on all connections delay no new client")
def hostile_07_half_bodies():
    new_clients("half a body")


@case("hostile 7: silence, from one address and from many, on all connections delays no new client")
def hostile_07_silence():
    new_clients("silence")


@case("hostile 7: an address whose writes wait on half of the connections gets no more, and delays no new client")
def hostile_07_waiting_writes():
    options = {"placet": {**ONE_WORKER["placet"], "commit_timeout": str(SERVICE_SECONDS)}}
    write = request("PUT", "/traits/CUSTOM_ONE")
    with folder() as here, Placet(here, options) as placet, write_lock(placet.database) as release:
        with held(placet, ONE_ADDRESS, write, HALF) as waiting:
            eventually("the writes wait", lambda: waiting_writes(placet) == HALF)
            with held(placet, ONE_ADDRESS, write) as refused:
                check(all(raw.reply_or_end() is None for raw in refused), "a connection beyond half is served")
            answered(placet, HALF)
            equal(waiting_writes(placet), HALF)
            are_open(waiting)
            release()
            for raw in waiting:
                check(raw.reply().status in (201, 204), "a write failed")
        placet.alive()


def waiting_writes(placet):
    return scrape.read(placet.port).sum("placet_writer_queue_length")


@case("hostile 7: three times max_connections without a token end no connection with one, idle or with a running search")
def hostile_07_tokens_keep_their_connections():
    for addresses in (ONE_ADDRESS, MANY_ADDRESSES):
        with folder() as here, Placet(here, OPTIONS) as placet:
            searching = begin(placet)
            kept = [RawConnection(placet.port) for _ in range(4)]
            for raw in kept:
                raw.send(request("GET", PROVIDERS))
                equal(raw.reply().status, 200)
            with held(placet, addresses, WITHOUT_TOKEN, 3 * MAX_CONNECTIONS):
                eventually("the surplus is closed", lambda: open_at(placet) <= MAX_CONNECTIONS)
                answered(placet)
                are_open([searching])
                for raw in kept:
                    raw.send(request("GET", PROVIDERS))
                    equal(raw.reply().status, 200)
            for raw in [searching, *kept]:
                raw.socket.close()
            placet.alive()


@case("hostile 7: a port for the metrics that is full of silent connections delays no request to the API")
def hostile_07_metrics_port():
    options = {"placet": {**OPTIONS["placet"], "metrics": "true", "metrics_bind": "127.0.0.1:0"}}
    with folder() as here, Placet(here, options) as placet:
        found = eventually("the metrics are served", lambda: placet.log().partition("serving the metrics on 127.0.0.1:")[2])
        raws = [RawConnection(int(found.split()[0]), source=ONE_ADDRESS[0]) for _ in range(3 * MAX_CONNECTIONS)]
        try:
            answered(placet)
            are_open(raws)
        finally:
            for raw in raws:
                raw.socket.close()
        placet.alive()
