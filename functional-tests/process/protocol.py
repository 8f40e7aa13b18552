"""HTTP/1.1 as clients and proxies really speak it: kept connections, pipelines, methods, Expect."""

import json

from functional_tests.process.cases import case, check, equal, folder
from functional_tests.process.placet_process import Placet
from functional_tests.process.raw_http import HEAD, RawConnection, once, request

NAMED = "/resource_providers"


def refusal(reply, status):
    """A refusal in the JSON form."""
    check(reply, "no answer")
    equal(reply.status, status, reply)
    equal(reply.error["status"], status, reply)
    equal(reply.error["request_id"], reply.headers["x-openstack-request-id"], reply)
    return reply


@case("a hundred requests go over one connection")
def keep_alive():
    with folder() as here, Placet(here, {}) as placet, RawConnection(placet.port) as raw:
        for number in range(100):
            body = {"name": f"kept {number}"} if number % 2 else None
            raw.send(request("POST" if body else "GET", NAMED, body))
            equal(raw.reply().status, 200)
        raw.send(request("POST", NAMED, b"{"))
        refusal(raw.reply(), 400)
        raw.send(request("GET", "/", headers="Connection: close\r\n"))
        equal(raw.reply().status, 200)
        check(raw.is_closed())


@case("a refusal that left a body unread says that the connection ends")
def unread_bodies():
    with folder() as here, Placet(here, {"placet": {"max_body_size": "1000"}}) as placet:
        long = {"x": "y" * 50000}
        for path, body, status in [("/nowhere", long, 404), (NAMED, long, 413), ("/traits", {}, 405)]:
            with RawConnection(placet.port) as raw:
                raw.send(request("POST", path, body))
                reply = refusal(raw.reply(), status)
                raw.send(request("GET", "/"))
                following = raw.reply_or_end()
                said = reply.headers.get("connection") == "close"
                equal(following is None, said, path, "the connection ended, and it was said so:")


@case("pipelined requests are answered each, in their order, writes among them")
def pipelining():
    with folder() as here, Placet(here, {}) as placet, RawConnection(placet.port) as raw:
        name = "/resource_providers?name=piped"
        raw.send(request("GET", "/") + request("GET", name) + request("POST", NAMED, {"name": "piped"})
                 + request("GET", name) + request("GET", "/nowhere") + request("GET", "/"))
        replies = [raw.reply() for _ in range(6)]
        equal([r.status for r in replies], [200, 200, 200, 200, 404, 200])
        equal([len(json.loads(replies[i].body)["resource_providers"]) for i in (1, 3)], [0, 1])
        ids = {r.headers["x-openstack-request-id"] for r in replies}
        equal(len(ids), 6, "request ids")


@case("a request that comes byte by byte is served")
def byte_by_byte():
    with folder() as here, Placet(here, {}) as placet, RawConnection(placet.port) as raw:
        for byte in request("POST", NAMED, {"name": "slow"}):
            raw.send(bytes([byte]))
        equal(raw.reply().status, 200)


@case("a body in chunks is read like any other")
def chunked():
    with folder() as here, Placet(here, {}) as placet:
        body = json.dumps({"name": "in chunks"}).encode()
        pieces = b"".join(b"%x;ignored=1\r\n%c\r\n" % (1, byte) for byte in body) + b"0\r\nTrailer: x\r\n\r\n"
        head = f"POST {NAMED} HTTP/1.1\r\n{HEAD}Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"
        reply = once(placet.port, head.encode() + pieces)
        check(reply and reply.status in (200, 400), "trailers:", reply)
        pieces = b"".join(b"%x\r\n%c\r\n" % (1, byte) for byte in body) + b"0\r\n\r\n"
        reply = once(placet.port, head.encode() + pieces)
        check(reply and reply.status in (200, 409), reply)
        equal(len(placet.rest("GET", NAMED).json["resource_providers"]), 1)


@case("Expect: 100-continue is answered before the body is sent, and a body too long is 413 without it")
def expect_continue():
    with folder() as here, Placet(here, {"placet": {"max_body_size": "1000"}}) as placet:
        whole = request("POST", NAMED, {"name": "expected"}, "Expect: 100-continue\r\n")
        head, body = whole.split(b"\r\n\r\n")
        with RawConnection(placet.port) as raw:
            raw.send(head + b"\r\n\r\n")
            equal(raw.reply().status, 100)
            raw.send(body)
            equal(raw.reply().status, 200)
        head = request("POST", NAMED, b"x" * 2000, "Expect: 100-continue\r\n").split(b"\r\n\r\n")[0]
        with RawConnection(placet.port) as raw:
            raw.send(head + b"\r\n\r\n")
            reply = raw.reply()
            refusal(raw.reply() if reply.status == 100 else reply, 413)


@case("HEAD, OPTIONS and methods that nobody knows are refused with the methods that there are")
def other_methods():
    with folder() as here, Placet(here, {}) as placet:
        for method in ("HEAD", "OPTIONS", "PATCH", "TRACE", "BREW", "get", "X" * 500):
            reply = once(placet.port, request(method, NAMED), method)
            check(reply, method, "was not answered")
            equal(reply.status, 405, method)
            equal(sorted(reply.headers["allow"].split(", ")), ["GET", "POST"])
            if method != "HEAD":
                refusal(reply, 405)
            equal(once(placet.port, request(method, "/nowhere"), method).status, 404, method)
        with RawConnection(placet.port) as raw:  # a HEAD leaves no body behind that the next answer would stumble over
            raw.send(request("HEAD", "/") + request("GET", "/"))
            raw.reply("HEAD")
            equal(json.loads(raw.reply().body)["versions"][0]["id"], "v1.0")
        reply = once(placet.port, request("CONNECT", "example.org:80"))
        check(reply is None or 400 <= reply.status < 500, reply)
        reply = once(placet.port, request("OPTIONS", "*"))
        check(reply is None or reply.status < 500, reply)
        placet.alive()


@case("HTTP/1.0 is answered and closed, a target with a host in it is understood")
def older_forms():
    with folder() as here, Placet(here, {}) as placet:
        with RawConnection(placet.port) as raw:
            raw.send(f"GET {NAMED} HTTP/1.0\r\n{HEAD}\r\n")
            equal(raw.reply().status, 200)
            check(raw.is_closed())
        reply = once(placet.port, request("GET", f"http://placet.example{NAMED}"))
        equal(reply and reply.status, 200)


@case("every answer has a request id, vary and a length, refusals too")
def headers_of_all():
    with folder() as here, Placet(here, {}) as placet:
        for data in (request("GET", "/"), request("GET", "/x"), request("POST", NAMED, b"{"), b"nonsense\r\n\r\n",
                     request("DELETE", "/traits/X"), b"GET /traits HTTP/1.1\r\nHost: x\r\n\r\n"):
            reply = once(placet.port, data)
            check(reply.headers["x-openstack-request-id"].startswith("req-"), reply)
            # A URL that nobody has, a missing token and what is no HTTP are refused alike at every version.
            if data.startswith((b"GET / ", b"POST", b"DELETE")):
                equal(reply.headers["vary"].lower(), "openstack-api-version")
            equal(int(reply.headers["content-length"]), len(reply.body))
