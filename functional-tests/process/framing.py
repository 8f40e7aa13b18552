"""Request smuggling: where a request ends is never in doubt.

Each form is sent with a second request behind it. A proxy and placet must agree where the second one begins: either
both are answered, or the first is refused and the connection ends, so that the second is never answered. Beside each
form is the rule of RFC 9112 (HTTP/1.1).
"""

import json
import socket

from functional_tests.process.cases import case, check, equal, folder
from functional_tests.process.hostile_bodies import JSON_HEAD
from functional_tests.process.placet_process import Placet
from functional_tests.process.protocol import PROVIDERS, refusal
from functional_tests.process.raw_http import HEAD, RawConnection, request

SECOND = request("GET", "/?second")
NAME = json.dumps({"name": "smuggled"})
LENGTH = f"Content-Length: {len(NAME)}\r\n"
CHUNKED = "Transfer-Encoding: chunked\r\n"
CHUNKS = f"{len(NAME):x}\r\n{NAME}\r\n0\r\n\r\n"


def post(headers, body, head=JSON_HEAD, version="1.1"):
    return f"POST {PROVIDERS} HTTP/{version}\r\n{head}{headers}\r\n{body}"


def in_chunks(body):
    return post(CHUNKED, body)


# Requests whose end is in doubt, or that are no HTTP: 400, and the connection ends.
REFUSED = [
    ("two equal lengths", "6.3", post(LENGTH * 2, NAME)),
    ("two different lengths", "6.3", post(LENGTH + "Content-Length: 3\r\n", NAME)),
    ("a list of lengths", "6.3", post(f"Content-Length: {len(NAME)}, {len(NAME)}\r\n", NAME)),
    ("an empty length", "6.3", post("Content-Length:\r\n", NAME)),
    ("a length with a sign", "6.2", post(f"Content-Length: +{len(NAME)}\r\n", NAME)),
    ("a negative length", "6.2", post("Content-Length: -0\r\n", NAME)),
    ("a length in hexadecimal", "6.2", post(f"Content-Length: {len(NAME):#x}\r\n", NAME)),
    ("a length with an underscore", "6.2", post("Content-Length: 2_0\r\n", NAME)),
    ("a length behind a vertical tab", "5", post(f"Content-Length: \x0b{len(NAME)}\r\n", NAME)),
    ("a length beyond 64 bits", "6.2", post("Content-Length: 18446744073709551636\r\n", NAME)),
    ("a length and chunks", "6.3", post(LENGTH + CHUNKED, CHUNKS)),
    ("chunks and a length", "6.3", post(CHUNKED + LENGTH, CHUNKS)),
    ("an unknown coding", "6.1", post("Transfer-Encoding: xchunked\r\n", CHUNKS)),
    ("chunks before another coding", "6.3", post("Transfer-Encoding: chunked, identity\r\n", CHUNKS)),
    ("chunks behind another coding", "6.1", post("Transfer-Encoding: gzip, chunked\r\n", CHUNKS)),
    ("chunks in chunks", "6.1", post("Transfer-Encoding: chunked, chunked\r\n", CHUNKS)),
    ("two headers with a coding", "6.1", post(CHUNKED * 2, CHUNKS)),
    ("the coding identity", "6.1", post("Transfer-Encoding: identity\r\n" + LENGTH, NAME)),
    ("a coding with parameters", "7", post("Transfer-Encoding: chunked;a=b\r\n", CHUNKS)),
    ("a quoted coding", "7", post('Transfer-Encoding: "chunked"\r\n', CHUNKS)),
    ("an empty coding", "6.1", post("Transfer-Encoding:\r\n" + LENGTH, NAME)),
    ("a coding behind a vertical tab", "5", post("Transfer-Encoding: \x0bchunked\r\n", CHUNKS)),
    ("a blank before the colon", "5.1", post("Transfer-Encoding : chunked\r\n" + LENGTH, NAME)),
    ("a tab before the colon", "5.1", post("Content-Length\t: 3\r\n" + LENGTH, NAME)),
    ("a folded coding", "5.2", post("Transfer-Encoding:\r\n chunked\r\n", CHUNKS)),
    ("a folded header", "5.2", post("X: a\r\n b\r\n" + LENGTH, NAME)),
    ("a first header that begins with a blank", "2.2", post(LENGTH, NAME, head=" X: a\r\n" + JSON_HEAD)),
    ("a bare carriage return in a header", "2.2", post("X: a\rContent-Length: 3\r\n" + LENGTH, NAME)),
    ("two carriage returns", "2.2", post(f"Content-Length: {len(NAME)}\r\r\n", NAME)),
    ("a zero byte in a header", "5", post("X: a\0b\r\n" + LENGTH, NAME)),
    ("a header without a name", "5", post(": x\r\n" + LENGTH, NAME)),
    ("chunks in HTTP/1.0", "6.1", post(CHUNKED, CHUNKS, version="1.0")),
    ("HTTP/1.0 without a length", "6.3", post("Connection: keep-alive\r\n", "", version="1.0")),
    ("no host", "3.2", post(LENGTH, NAME, head=JSON_HEAD.replace("Host: placet\r\n", ""))),
    ("two hosts", "3.2", post("Host: other\r\n" + LENGTH, NAME)),
    ("HTTP/2.0", "2.3", post(LENGTH, NAME, version="2.0")),
    ("HTTP/0.9", "3", f"GET {PROVIDERS}\r\n"),
    ("tabs in the request line", "3", f"GET\t{PROVIDERS}\tHTTP/1.1\r\n{HEAD}\r\n"),
    ("two blanks in the request line", "3", f"GET  {PROVIDERS}  HTTP/1.1\r\n{HEAD}\r\n"),
    ("a chunk that ends with a line feed", "7.1", in_chunks(f"{len(NAME):x}\r\n{NAME}\n0\r\n\r\n")),
    ("a chunk that is longer than its size", "7.1", in_chunks(f"{len(NAME) - 2:x}\r\n{NAME}\r\n0\r\n\r\n")),
    ("a chunk's size that ends with a line feed", "7.1", in_chunks(f"{len(NAME):x}\n{NAME}\r\n0\r\n\r\n")),
    ("a chunk's size with 0x", "7.1", in_chunks(f"0x{len(NAME):x}\r\n{NAME}\r\n0\r\n\r\n")),
    ("a chunk's size with a sign", "7.1", in_chunks(f"+{len(NAME):x}\r\n{NAME}\r\n0\r\n\r\n")),
    ("a chunk's size behind a blank", "7.1", in_chunks(f" {len(NAME):x}\r\n{NAME}\r\n0\r\n\r\n")),
    ("a chunk's size of two numbers", "7.1", in_chunks(f"1 4\r\n{NAME}\r\n0\r\n\r\n")),
    ("a chunk's size beyond 64 bits", "7.1", in_chunks(f"1000000000000000{len(NAME):x}\r\n{NAME}\r\n0\r\n\r\n")),
    ("a chunk without a size", "7.1", in_chunks(f";a\r\n{NAME}\r\n0\r\n\r\n")),
    ("an extension that ends with a line feed", "7.1.1", in_chunks(f"{len(NAME):x};a\n{NAME}\r\n0\r\n\r\n")),
    ("a carriage return in an extension", "7.1.1", in_chunks(f"{len(NAME):x};a\rb\r\n{NAME}\r\n0\r\n\r\n")),
    ("an end of chunks with line feeds", "7.1", in_chunks(f"{len(NAME):x}\r\n{NAME}\r\n0\n\n")),
]

# Requests whose end is certain, although their form is rare: served, and so is the next request.
SERVED = [
    ("a length with leading zeros", "6.2", post(f"Content-Length: 000000{len(NAME)}\r\n", NAME)),
    ("a length between blanks", "5", post(f"Content-Length: \t {len(NAME)} \t\r\n", NAME)),
    ("chunks", "7.1", in_chunks(CHUNKS)),
    ("a coding in capitals", "7", post("Transfer-Encoding: CHUNKED\r\n", CHUNKS)),
    ("a chunk's size with leading zeros", "7.1", in_chunks(f"{len(NAME):012x}\r\n{NAME}\r\n0000\r\n\r\n")),
    ("a chunk's size before a blank", "7.1.1", in_chunks(f"{len(NAME):x} \r\n{NAME}\r\n0\r\n\r\n")),
    ("an extension of a chunk", "7.1.1", in_chunks(f'{len(NAME):x};a="b"\r\n{NAME}\r\n0;c\r\n\r\n')),
    ("trailers, even one that is a length", "7.1.2", in_chunks(CHUNKS[:-2] + "X: a\r\nContent-Length: 3\r\n\r\n")),
    ("an unknown header that looks like a coding", "6.1", post("Transfer_Encoding: chunked\r\n" + LENGTH, NAME)),
    ("a length named in Connection", "7.6.1 of RFC 9110", post("Connection: content-length\r\n" + LENGTH, NAME)),
    # "A recipient MAY recognize a single LF as a line terminator."
    ("lines that end with a line feed", "2.2", post(LENGTH, NAME).replace("\r\n", "\n")),
    ("a body in HTTP/1.0 with keep-alive", "9.3", post("Connection: keep-alive\r\n" + LENGTH, NAME, version="1.0")),
    ("empty lines before the request", "2.2", "\r\n\r\n" + post(LENGTH, NAME)),
    ("a body after Expect", "10.1.1 of RFC 9110", post("Expect: 100-continue\r\n" + LENGTH, NAME)),
    # "A server MAY ignore a received Upgrade header field."
    ("an upgrade to HTTP/2", "7.8 of RFC 9110", post("Connection: upgrade\r\nUpgrade: h2c\r\n" + LENGTH, NAME)),
    ("a body of GET", "6", f"GET {PROVIDERS} HTTP/1.1\r\n{JSON_HEAD}{LENGTH}\r\n{NAME}"),
    ("chunks of GET", "6", f"GET {PROVIDERS} HTTP/1.1\r\n{JSON_HEAD}{CHUNKED}\r\n{CHUNKS}"),
    ("a body of DELETE", "6", f"DELETE {PROVIDERS}/x HTTP/1.1\r\n{JSON_HEAD}{LENGTH}\r\n{NAME}"),
]

# Requests that are served, and whose connection then ends: what follows them is never taken for a request.
LAST = [
    ("an upgrade to WebSocket", "7.8 of RFC 9110", 200,
     f"GET {PROVIDERS} HTTP/1.1\r\n{HEAD}Connection: upgrade\r\nUpgrade: websocket\r\n\r\n"),
    ("an upgrade to WebSocket with a body", "7.8 of RFC 9110", 200,
     post("Connection: upgrade\r\nUpgrade: websocket\r\n" + LENGTH, NAME)),
    ("an upgrade to WebSocket without a length", "6.3", 400, post("Upgrade: websocket\r\n", "")),
    ("CONNECT to a host", "9.3.6 of RFC 9110", 405, f"CONNECT placet:80 HTTP/1.1\r\n{HEAD}\r\n"),
    ("HTTP/1.0", "9.3", 200, post(LENGTH, NAME, version="1.0")),
    ("a body with Connection: close", "9.6", 200, post("Connection: close\r\n" + LENGTH, NAME)),
    ("Connection: close", "9.6", 200, f"GET {PROVIDERS} HTTP/1.1\r\n{HEAD}Connection: close\r\n\r\n"),
]


def exchange(placet, data, half_close=False):
    """The final answers to `data` and to a second request behind it; ends with None if the connection ended."""
    replies = []
    with RawConnection(placet.port) as raw:
        raw.send(data.encode("latin-1") + SECOND)
        if half_close:
            raw.socket.shutdown(socket.SHUT_WR)
        while len(replies) < 2 and (not replies or replies[-1]):
            reply = raw.reply_or_end()
            if not reply or reply.status != 100:
                replies.append(reply)
    return replies


def names(placet):
    return [each["name"] for each in placet.rest("GET", PROVIDERS).json["resource_providers"]]


def forget(placet):
    """Deletes what the last form has written."""
    for each in placet.rest("GET", PROVIDERS).json["resource_providers"]:
        placet.rest.must("DELETE", f"{PROVIDERS}/{each['uuid']}")


@case(f"{len(REFUSED)} forms of a request whose end is in doubt are refused with 400, and end the connection")
def refused():
    with folder() as here, Placet(here, {}) as placet:
        for name, rule, data in REFUSED:
            first, second = exchange(placet, data)
            refusal(first, 400)
            equal(first.headers.get("connection"), "close", name, f"(RFC 9112, {rule})")
            check(second is None, name, f"(RFC 9112, {rule}): the next request was answered", second)
        equal(names(placet), [], "providers that a refused request wrote")
        placet.alive()


@case(f"{len(SERVED)} rare forms of a request whose end is certain are served, and so is the request behind them")
def served():
    with folder() as here, Placet(here, {}) as placet:
        for name, rule, data in SERVED:
            first, second = exchange(placet, data)
            check(first and first.status in (200, 404), name, f"(RFC 9112, {rule})", first)
            check(second and second.status == 200 and b'"versions"' in second.body, name, f"({rule})", second)
            equal(names(placet), ["smuggled"] if data.lstrip().startswith("POST") else [], name)
            forget(placet)


@case("a request after which the connection ends is answered at once, and what follows it is never taken for a request")
def last_ones():
    with folder() as here, Placet(here, {}) as placet:
        for name, rule, status, data in LAST:
            # placet reads for 5 s more what a client sends that does not close its side.
            first, second = exchange(placet, data, half_close=True)
            check(first, name, f"({rule}): no answer")
            equal(first.status, status, name, f"({rule})", first)
            equal(first.headers.get("connection"), "close", name, f"({rule})", first)
            check(second is None or second.status == 400, name, f"({rule}): the next request was served", second)
            equal(names(placet), ["smuggled"] if status == 200 and NAME in data else [], name)
            forget(placet)


@case("a line that is no trailer behind the last chunk ends the connection or swallows the next request, and serves none")
def false_trailers():
    # A trailer's line needs a colon (RFC 9112, 7.1.2). Without one, the next head reads as further trailers.
    with folder() as here, Placet(here, {}) as placet, RawConnection(placet.port, timeout=3) as raw:
        raw.send(in_chunks(CHUNKS[:-2] + "XX").encode() + SECOND)
        equal(raw.reply().status, 200)
        try:
            following = raw.reply_or_end()
        except TimeoutError:
            following = None
        check(following is None, following)
