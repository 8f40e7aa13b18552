"""HTTP/1.1 as clients and proxies use it: persistent connections, pipelining, methods, Expect."""

import json

from functional_tests.process.cases import case, check, equal, folder
from functional_tests.process.placet_process import Placet
from functional_tests.process.raw_http import HEAD, RawConnection, once, request

PROVIDERS = "/resource_providers"


def refusal(reply, status):
    """Checks that the reply is a refusal with this status in the JSON form."""
    check(reply, "no answer")
    equal(reply.status, status, reply)
    equal(reply.error["status"], status, reply)
    equal(reply.error["request_id"], reply.headers["x-openstack-request-id"], reply)
    return reply


@case("a hundred requests are served on one connection")
def keep_alive():
    with folder() as here, Placet(here, {}) as placet, RawConnection(placet.port) as raw:
        for number in range(100):
            body = {"name": f"kept {number}"} if number % 2 else None
            raw.send(request("POST" if body else "GET", PROVIDERS, body))
            equal(raw.reply().status, 200)
        raw.send(request("POST", PROVIDERS, b"{"))
        refusal(raw.reply(), 400)
        raw.send(request("GET", "/", headers="Connection: close\r\n"))
        equal(raw.reply().status, 200)
        check(raw.is_closed())


@case("a refusal sends Connection: close if and only if placet then closes the connection, as with an unread body")
def unread_bodies():
    with folder() as here, Placet(here, {"placet": {"max_body_size": "1000"}}) as placet:
        long = {"x": "y" * 50000}
        for path, body, status in [("/nowhere", long, 404), (PROVIDERS, long, 413), ("/traits", {}, 405)]:
            with RawConnection(placet.port) as raw:
                raw.send(request("POST", path, body))
                reply = refusal(raw.reply(), status)
                raw.send(request("GET", "/"))
                following = raw.reply_or_end()
                said = reply.headers.get("connection") == "close"
                equal(following is None, said, path, "whether the connection was closed as announced")


@case("pipelined requests, writes included, are all answered in order")
def pipelining():
    with folder() as here, Placet(here, {}) as placet, RawConnection(placet.port) as raw:
        name = "/resource_providers?name=piped"
        raw.send(request("GET", "/") + request("GET", name) + request("POST", PROVIDERS, {"name": "piped"})
                 + request("GET", name) + request("GET", "/nowhere") + request("GET", "/"))
        replies = [raw.reply() for _ in range(6)]
        equal([r.status for r in replies], [200, 200, 200, 200, 404, 200])
        equal([len(json.loads(replies[i].body)["resource_providers"]) for i in (1, 3)], [0, 1])
        ids = {r.headers["x-openstack-request-id"] for r in replies}
        equal(len(ids), 6, "request ids")


@case("a request that arrives byte by byte is served")
def byte_by_byte():
    with folder() as here, Placet(here, {}) as placet, RawConnection(placet.port) as raw:
        for byte in request("POST", PROVIDERS, {"name": "slow"}):
            raw.send(bytes([byte]))
        equal(raw.reply().status, 200)


@case("a body in chunks is read like any other")
def chunked():
    with folder() as here, Placet(here, {}) as placet:
        body = json.dumps({"name": "in chunks"}).encode()
        pieces = b"".join(b"%x;ignored=1\r\n%c\r\n" % (1, byte) for byte in body) + b"0\r\nTrailer: x\r\n\r\n"
        head = (f"POST {PROVIDERS} HTTP/1.1\r\n{HEAD}Content-Type: application/json\r\n"
                "Transfer-Encoding: chunked\r\n\r\n")
        reply = once(placet.port, head.encode() + pieces)
        check(reply and reply.status in (200, 400), "trailers:", reply)
        pieces = b"".join(b"%x\r\n%c\r\n" % (1, byte) for byte in body) + b"0\r\n\r\n"
        reply = once(placet.port, head.encode() + pieces)
        check(reply and reply.status in (200, 409), reply)
        equal(len(placet.rest("GET", PROVIDERS).json["resource_providers"]), 1)


@case("Expect: 100-continue is answered before the body is sent, and too long a body is refused with 413 before it is")
def expect_continue():
    with folder() as here, Placet(here, {"placet": {"max_body_size": "1000"}}) as placet:
        whole = request("POST", PROVIDERS, {"name": "expected"}, "Expect: 100-continue\r\n")
        head, body = whole.split(b"\r\n\r\n")
        with RawConnection(placet.port) as raw:
            raw.send(head + b"\r\n\r\n")
            equal(raw.reply().status, 100)
            raw.send(body)
            equal(raw.reply().status, 200)
        head = request("POST", PROVIDERS, b"x" * 2000, "Expect: 100-continue\r\n").split(b"\r\n\r\n")[0]
        with RawConnection(placet.port) as raw:
            raw.send(head + b"\r\n\r\n")
            reply = raw.reply()
            refusal(raw.reply() if reply.status == 100 else reply, 413)


@case("hostile 16: Expect: 100-continue is answered with the refusal if the token, path or type is refused, and closed")
def hostile_16_no_continue_before_the_checks():
    expect = "Expect: 100-continue\r\n"
    with folder() as here, Placet(here, {}) as placet:
        for head, status in [
            (f"POST {PROVIDERS} HTTP/1.1\r\nHost: placet\r\nContent-Type: application/json\r\n", 401),
            (f"POST /nowhere HTTP/1.1\r\n{HEAD}Content-Type: application/json\r\n", 404),
            (f"POST {PROVIDERS} HTTP/1.1\r\n{HEAD}Content-Type: text/plain\r\n", 415),
        ]:
            for length in ("Content-Length: 50", "Transfer-Encoding: chunked"):
                with RawConnection(placet.port) as raw:
                    raw.send(f"{head}{expect}{length}\r\n\r\n")
                    reply = raw.reply()
                    equal((reply.status, reply.headers.get("connection")), (status, "close"), reply)
                    equal(raw.reply_or_end(), None, f"{length}: the connection ends")
        # Behind another request, and without a body.
        head, body = request("POST", PROVIDERS, {"name": "last"}, "Expect: 100-continue\r\n").split(b"\r\n\r\n")
        with RawConnection(placet.port) as raw:
            raw.send(request("GET", PROVIDERS) + head + b"\r\n\r\n")
            equal([raw.reply().status, raw.reply().status], [200, 100])
            raw.send(body + request("GET", PROVIDERS, headers="Expect: 100-continue\r\n"))
            equal([raw.reply().status for _ in range(3)], [200, 100, 200])


@case("HEAD, OPTIONS and unknown methods are 405 with the allowed methods")
def other_methods():
    with folder() as here, Placet(here, {}) as placet:
        for method in ("HEAD", "OPTIONS", "PATCH", "TRACE", "BREW", "get", "X" * 500):
            reply = once(placet.port, request(method, PROVIDERS), method)
            check(reply, method, "was not answered")
            equal(reply.status, 405, method)
            equal(sorted(reply.headers["allow"].split(", ")), ["GET", "POST"])
            if method != "HEAD":
                refusal(reply, 405)
            equal(once(placet.port, request(method, "/nowhere"), method).status, 404, method)
        with RawConnection(placet.port) as raw:  # the answer to HEAD has no body, so the next answer can be read
            raw.send(request("HEAD", "/") + request("GET", "/"))
            raw.reply("HEAD")
            equal(json.loads(raw.reply().body)["versions"][0]["id"], "v1.0")
        reply = once(placet.port, request("CONNECT", "example.org:80"))
        check(reply is None or 400 <= reply.status < 500, reply)
        reply = once(placet.port, request("OPTIONS", "*"))
        check(reply is None or reply.status < 500, reply)
        placet.alive()


@case("a request of HTTP/1.0 is answered and its connection closed, and a target in absolute form is accepted")
def older_forms():
    with folder() as here, Placet(here, {}) as placet:
        with RawConnection(placet.port) as raw:
            raw.send(f"GET {PROVIDERS} HTTP/1.0\r\n{HEAD}\r\n")
            equal(raw.reply().status, 200)
            check(raw.is_closed())
        reply = once(placet.port, request("GET", f"http://placet.example{PROVIDERS}"))
        equal(reply and reply.status, 200)


@case("every answer, refusals included, has a request id, Vary and Content-Length")
def headers_of_all():
    with folder() as here, Placet(here, {}) as placet:
        for data in (request("GET", "/"), request("GET", "/x"), request("POST", PROVIDERS, b"{"), b"nonsense\r\n\r\n",
                     request("DELETE", "/traits/X"), b"GET /traits HTTP/1.1\r\nHost: x\r\n\r\n"):
            reply = once(placet.port, data)
            check(reply.headers["x-openstack-request-id"].startswith("req-"), reply)
            # An unknown URL, a missing token and malformed HTTP are refused alike at every version.
            if data.startswith((b"GET / ", b"POST", b"DELETE")):
                equal(reply.headers["vary"].lower(), "openstack-api-version")
            equal(int(reply.headers["content-length"]), len(reply.body))
