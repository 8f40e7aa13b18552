"""Long searches and answers: a search ends when its client disconnects, many searches delay no short request, and an
answer without a reader holds neither a thread nor much memory.
"""

import pathlib
import select
import signal
import socket
import struct
import time
from random import Random

from functional_tests.lib.patience import HANG_SECONDS, IN_TIME_SECONDS, SERVICE_SECONDS, becomes, eventually
from functional_tests.metrics import scrape
from functional_tests.process.cases import case, check, equal, folder, settings
from functional_tests.process.locked import serving
from functional_tests.process.placet_process import Placet
from functional_tests.process.protocol import PROVIDERS, refusal
from functional_tests.process.raw_http import RawConnection, request

# The most processor time, in seconds, from when a client leaves its search until the process is idle. 0.05 are right.
SECONDS_AFTER_DISCONNECT = 0.4
# An idle process computes for less than this share of the time.
IDLE_PROCESSOR_SHARE = 0.04


def path(amounts, more=""):
    groups = "".join(f"&resources{n}=VCPU:{amount}" for n, amount in enumerate(amounts, 1))
    return f"/allocation_candidates?group_policy=none{groups}{more}"


def name(number, child):
    return f"{number:08}-0000-4000-8000-{child:012}"


def tree(rest, number, totals):
    """A root, and for each of `totals` a child with this many VCPUs."""
    rest.must("POST", "/resource_providers", {"name": name(number, 0), "uuid": name(number, 0)})
    for n, total in enumerate(totals, 1):
        child(rest, number, n, {"VCPU": {"total": total}})


def child(rest, number, n, inventories):
    uuid = name(number, n)
    rest.must("POST", "/resource_providers", {"name": uuid, "uuid": uuid, "parent_provider_uuid": name(number, 0)})
    body = {"resource_provider_generation": 0, "inventories": inventories}
    rest.must("PUT", f"/resource_providers/{uuid}/inventories", body)


def memory(placet):
    """The peak resident memory of the process, in MB."""
    status = pathlib.Path(f"/proc/{placet.process.pid}/status").read_text()
    return int(status.split("VmHWM:")[1].split()[0]) // 1024


def processor_share(placet, seconds=0.5):
    """CPU seconds per second, measured for `seconds`."""
    before = placet.processor_seconds()
    time.sleep(seconds)
    return (placet.processor_seconds() - before) / seconds


def becomes_idle(placet, seconds, what):
    """Waits until the process is idle, and has used less than these seconds of CPU time until then."""
    end = placet.processor_seconds() + seconds
    while processor_share(placet) >= IDLE_PROCESSOR_SHARE:
        check(placet.processor_seconds() < end, what)


def undecided(rest):
    """Makes a tree, and returns a request whose search takes long.

    The children have almost equal totals of two classes, and the request needs almost all of them.
    """
    tree(rest, 0, [])
    for n in range(30):
        child(rest, 0, n + 1, {"VCPU": {"total": 1000 + n}, "MEMORY_MB": {"total": 1000 + n * 7 % 11}})
    groups = (f"&resources{n}=VCPU:{250 + n * 37 % 151},MEMORY_MB:{250 + n * 53 % 149}" for n in range(1, 89))
    return f"/allocation_candidates?group_policy=none{''.join(groups)}"


def begin(placet):
    """Starts a long search; returns the client's connection."""
    asked = undecided(placet.rest)
    raw, before = RawConnection(placet.port), placet.processor_seconds()
    raw.send(request("GET", asked))

    def is_in_progress():
        # A fast build has the beginning of the long answer before that.
        return placet.processor_seconds() - before >= 0.2 or select.select([raw.socket], [], [], 0)[0]

    eventually("the search computes", is_in_progress)
    return raw


def reset(raw):
    raw.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    raw.socket.close()


@case("a search ends soon after its client closes or resets the connection")
def disconnecting():
    for disconnect in (lambda raw: raw.socket.close(), reset):
        with folder() as here, Placet(here, serving(shutdown_timeout=SERVICE_SECONDS)) as placet:
            raw = begin(placet)
            disconnect(raw)
            becomes_idle(placet, SECONDS_AFTER_DISCONNECT, "the search still runs")
            placet.alive()
            began = time.monotonic()
            placet.stop()
            took = time.monotonic() - began
            check(took < IN_TIME_SECONDS, f"stopping took {took:.1f} s")


def unpackable(rest):
    """Makes a tree, and returns a request that is given up after 0.3 s of a release build's CPU time, without a result.

    The children have almost equal totals, and the request needs almost all of them in parts of all sizes. The parts are
    always the same, because some choices of parts are decided soon.
    """
    random = Random(11)
    tree(rest, 0, [1000 + n for n in range(20)])
    amounts = [random.randint(204, 467) for _ in range(60)]
    return path(amounts[:-1] + [20_190 - sum(amounts[:-1])], "&limit=1")


def first_attempts(placet):
    """The number of searches that wait for their first attempt."""
    return scrape.read(placet.port).sum("placet_queue_length", queue="attempts")


@case("long searches from many clients delay no other request, are refused beyond the queue's size, and end with them")
def many_searches():
    clients, queue = (400, 256) if settings["full"] else (40, 4)
    with folder() as here, Placet(here, {"placet": {"search_queue_size": str(queue)}}) as placet:
        asked = unpackable(placet.rest)
        placet.rest.must("PUT", "/traits/CUSTOM_ONE")
        raws = [RawConnection(placet.port) for _ in range(clients)]
        try:
            for raw in raws:
                raw.send(request("GET", asked))
            for number in range(20):
                equal(placet.rest("POST", PROVIDERS, {"name": f"beside {number}"}).status, 200)
            refused = 0
            while refused < (clients - queue) // 4:
                ready, _, _ = select.select([raw.socket for raw in raws], [], [], HANG_SECONDS)
                check(ready, f"only {refused} of {clients} searches were refused")
                for raw in [raw for raw in raws if raw.socket in ready]:
                    reply = raw.reply()
                    check(reply.status in (400, 503), reply)
                    if reply.status == 503:
                        check("[placet] search_queue_size" in refusal(reply, 503).error["detail"], reply)
                        refused += 1
                    raws.remove(raw)
                    raw.socket.close()
            # A short search may wait for the first attempts at the searches before it, but not for their ends.
            becomes("the number of searches without a first attempt", 0, lambda: first_attempts(placet))
            for each in ("/resource_providers", "/resource_providers?name=none", "/traits/CUSTOM_ONE",
                         "/allocation_candidates?resources=VCPU:1"):
                check(placet.rest("GET", each).status < 300, each)
            # What waited for the searches would be answered after them.
            answered, _, _ = select.select([raw.socket for raw in raws], [], [], 0)
            check(len(raws) - len(answered) > queue // 2, f"only {len(raws) - len(answered)} searches still wait")
        finally:
            for raw in raws:
                raw.socket.close()
        becomes_idle(placet, 4, "searches still run whose clients have left")
        placet.alive()


@case("a search whose client is still connected is aborted after shutdown_timeout, and the process ends")
def stopping():
    with folder() as here, Placet(here, serving(shutdown_timeout=2)) as placet, begin(placet) as raw:
        began = time.monotonic()
        placet.signal(signal.SIGTERM)
        equal(placet.ended(), 0, "exit code")
        took = time.monotonic() - began
        # The default of shutdown_timeout is 30 s.
        check(1.5 < took < 10 * 2, f"it took {took:.1f} s")
        equal(raw.reply_or_end(), None)


@case("a client that shut down its side of the connection gets its whole answer, even a long one")
def half_closed():
    with folder() as here, Placet(here, {}) as placet:
        tree(placet.rest, 0, [1] * 14)
        for groups in (1, 4):
            asked = path([1] * groups).replace("none", "isolate")
            with RawConnection(placet.port) as raw:
                raw.send(request("GET", asked))
                raw.socket.shutdown(socket.SHUT_WR)
                reply = raw.reply()
                equal("transfer-encoding" in reply.headers, groups == 4)
                equal(reply.body, placet.rest("GET", asked).raw)


@case("a client of HTTP/1.0 gets a long answer without chunks, ended by the end of the connection")
def old_clients():
    with folder() as here, Placet(here, {}) as placet:
        tree(placet.rest, 0, [1] * 14)
        asked = path([1] * 4).replace("none", "isolate")
        with RawConnection(placet.port) as raw:
            raw.send(request("GET", asked).replace(b"HTTP/1.1", b"HTTP/1.0", 1))
            raw.is_closed()
            head, _, body = raw.buffer.partition(b"\r\n\r\n")
        check(b"transfer-encoding" not in head and b"content-length" not in head, head)
        check(len(body) > 1_000_000 and body == placet.rest("GET", asked).raw, len(body), body[:100])


@case("an answer that is aborted because the service stops is logged, and its client can tell that it is incomplete")
def broken_off():
    with folder() as here, Placet(here, serving(shutdown_timeout=1)) as placet:
        tree(placet.rest, 0, [1] * 20)
        with RawConnection(placet.port) as raw:
            raw.send(request("GET", path([1] * 8).replace("none", "isolate")))
            raw.socket.recv(1, socket.MSG_PEEK)
            placet.signal(signal.SIGTERM)
            equal(placet.ended(), 0, "exit code")
            equal(raw.reply_or_end(), None)
        lines = [line for line in placet.log().splitlines() if "broken off" in line]
        equal(len(lines), 1, lines)
        check(" WARN " in lines[0] and "/allocation_candidates?" in lines[0] and "the service stops" in lines[0]
              and "Ask with a limit" in lines[0], lines[0])


@case("eight clients that do not read long answers cost less than 12 MB and no CPU time, and one that reads gets all")
def slow_reading():
    with folder() as here, Placet(here, {"placet": {"max_candidates": "20000"}}) as placet:
        tree(placet.rest, 0, [1] * 20)
        asked = path([1] * 8).replace("none", "isolate")
        before = memory(placet)
        raws = [RawConnection(placet.port) for _ in range(8)]
        try:
            for raw in raws:
                raw.send(request("GET", asked))
            becomes_idle(placet, 20, "it still computes answers that no client reads")
            reply = placet.rest.must("GET", asked)
            equal(len(reply.json["allocation_requests"]), 20_000)
            check(len(reply.raw) > 15_000_000, "not long:", len(reply.raw))
            grown = memory(placet) - before
            check(grown < 12, f"memory grew by {grown} MB")
        finally:
            for raw in raws:
                raw.socket.close()
        equal(placet.log().count("More than 20000 candidates"), 1)
        placet.alive()
