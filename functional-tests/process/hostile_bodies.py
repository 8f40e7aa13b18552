"""Hostile bodies and query strings: placet refuses them in JSON, and keeps serving."""

import contextlib
import json

from functional_tests.process.cases import case, check, equal, folder
from functional_tests.process.placet_process import Placet
from functional_tests.process.protocol import PROVIDERS, refusal
from functional_tests.process.raw_http import HEAD, RawConnection, once, request

UUID = "4e8e5957-649f-477b-9e5b-f1f75b21c03c"
MAX_BODY_BYTES = 100_000
JSON_HEAD = HEAD + "Content-Type: application/json\r\n"
# Every route that takes a body.
WRITES = [
    ("POST", PROVIDERS), ("PUT", f"{PROVIDERS}/{UUID}"), ("PUT", f"{PROVIDERS}/{UUID}/inventories"),
    ("POST", f"{PROVIDERS}/{UUID}/inventories"), ("PUT", f"{PROVIDERS}/{UUID}/inventories/VCPU"),
    ("PUT", f"{PROVIDERS}/{UUID}/aggregates"), ("PUT", f"{PROVIDERS}/{UUID}/traits"), ("PUT", f"/allocations/{UUID}"),
    ("POST", "/allocations"), ("POST", "/resource_classes"),
]


@contextlib.contextmanager
def with_provider(options=None):
    """A service with one provider, so that requests are not refused early because the provider is missing."""
    with folder() as here, Placet(here, options or {}) as placet:
        placet.rest.must("POST", PROVIDERS, {"name": "there", "uuid": UUID})
        yield placet


@case("a body over the limit is 413 in JSON, with a Content-Length or in chunks")
def too_long():
    with with_provider({"placet": {"max_body_size": str(MAX_BODY_BYTES)}}) as placet:
        for method, path in WRITES:
            refusal(once(placet.port, request(method, path, b"[" + b" " * MAX_BODY_BYTES)), 413)
            head = f"{method} {path} HTTP/1.1\r\n{JSON_HEAD}Transfer-Encoding: chunked\r\n\r\n"
            chunk = b"%x\r\n%s\r\n" % (MAX_BODY_BYTES // 2, b" " * (MAX_BODY_BYTES // 2))
            with RawConnection(placet.port) as raw:
                raw.send(head)
                for _ in range(3):
                    raw.send(chunk)
                refusal(raw.reply(), 413)
        # The Content-Length alone is refused, also if it exceeds every machine's memory.
        for length in (MAX_BODY_BYTES + 1, 2**40, 2**63 - 1):
            with RawConnection(placet.port) as raw:
                raw.send(f"POST {PROVIDERS} HTTP/1.1\r\n{JSON_HEAD}Content-Length: {length}\r\n\r\n")
                refusal(raw.reply(), 413)
        body = json.dumps({"name": "fits"}).encode()
        equal(once(placet.port, request("POST", PROVIDERS, body.ljust(MAX_BODY_BYTES))).status, 200)
        placet.alive()


@case("a body that is not JSON is 400 on every route that takes one")
def malformed():
    with with_provider() as placet:
        for method, path in WRITES:
            for body in (b"", b"{", b"{]", b"{'a': 1}", b"nul", b"[1,]", b'{"a": 1} x', b"\x00", b'"\xff"', b"\xc3",
                         b'{"a": "\n"}', '{"a": 1}'.encode("utf-16"), b'{"name": NaN}', b"\xef\xbb\xbf{}", b"-"):
                reply = refusal(once(placet.port, request(method, path, body)), 400)
                check(reply.error["detail"], reply)
        placet.alive()


@case("JSON nested a hundred thousand levels deep is 400 on every route, and does not overflow the stack")
def nesting():
    deep = 100_000
    bombs = [b"[" * deep, b"[" * deep + b"]" * deep, b'{"a":' * deep, b'{"a":' * deep + b"1" + b"}" * deep,
             b'[{"a":' * deep, b'{"allocations":{"' + UUID.encode() + b'":{"resources":' + b"[" * deep]
    with with_provider() as placet:
        for method, path in WRITES:
            for bomb in bombs:
                refusal(once(placet.port, request(method, path, bomb)), 400)
        placet.alive()


@case("text that is invalid Unicode is 400, and unusual text is 400 or is returned as it was sent")
def strange_text():
    with with_provider() as placet:
        for name in (b"\\ud800", b"\\udc00\\ud800", b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"\xc0\x80"):
            refusal(once(placet.port, request("POST", PROVIDERS, b'{"name": "x' + name + b'"}')), 400)
        for name in ("nul \x00 inside", "'; DROP TABLE resource_providers; --", "\U0001f600", "a" * 200, "%s{}$1"):
            answer = placet.rest("POST", PROVIDERS, {"name": name})
            if answer.status == 200:
                equal(answer.json["name"], name)
                equal(placet.rest("GET", f"{PROVIDERS}/{answer.json['uuid']}").json["name"], name)
            else:
                equal((answer.status, name[:3]), (400, "nul"))
        equal(placet.rest("POST", PROVIDERS, {"name": "a" * 201}).status, 400)
        placet.alive()


@case("numbers beyond the range of a table's column are 400 in every field")
def huge_numbers():
    with with_provider() as placet:
        sound = {"total": 10, "reserved": 0, "min_unit": 1, "max_unit": 10, "step_size": 1, "allocation_ratio": 1.0}
        huge = ["2147483648", "9223372036854775808", "18446744073709551616", "1" * 400, "1e400", "-1e400",
                "-2147483649", "1.5", "9" * 4000]
        path = f"{PROVIDERS}/{UUID}/inventories"
        for field in sound:
            for number in huge:
                if field == "allocation_ratio" and not number.endswith("e400"):
                    continue
                body = json.dumps({**sound, field: "HERE"}).replace('"HERE"', number)
                for method, where, text in [
                    ("PUT", path, '{"resource_provider_generation": 0, "inventories": {"VCPU": %s}}' % body),
                    ("POST", path, '{"resource_class": "VCPU", ' + body[1:]),
                ]:
                    reply = once(placet.port, request(method, where, text.encode()))
                    check(reply and reply.status == 400, field, number[:30], reply)
        for number in huge:
            for text in ('{"resource_provider_generation": %s, "inventories": {}}' % number,):
                reply = once(placet.port, request("PUT", path, text.encode()))
                check(reply and reply.status in (400, 409), number[:30], reply)
            claim = {"allocations": {UUID: {"resources": {"VCPU": "HERE"}}}, "project_id": "p", "user_id": "u",
                     "consumer_generation": None, "consumer_type": "INSTANCE"}
            reply = once(placet.port, request(
                "PUT", f"/allocations/{UUID}", json.dumps(claim).replace('"HERE"', number).encode()))
            check(reply and reply.status in (400, 409), number[:30], reply)
            for query in (f"resources=VCPU:{number}", f"resources=VCPU:1&limit={number}"):
                answer = placet.rest("GET", f"/allocation_candidates?{query}")
                check(answer.status == 400 or answer.json["allocation_requests"] == [], query[:60], answer)
        equal(placet.rest("GET", path).json["inventories"], {})
        placet.alive()


@case("a huge body of many small items is answered, and other requests are served at the same time")
def many_small_things():
    with with_provider() as placet:
        traits = [f"CUSTOM_{n}" for n in range(100_000)]
        with RawConnection(placet.port) as raw:
            body = {"resource_provider_generation": 0, "traits": traits}
            raw.send(request("PUT", f"{PROVIDERS}/{UUID}/traits", body))
            placet.alive()
            refusal(raw.reply(), 400)
        many = {f"{n:08x}-0000-4000-8000-000000000000": {"resources": {"VCPU": 1}} for n in range(20_000)}
        claim = {"allocations": many, "project_id": "p", "user_id": "u", "consumer_generation": None,
                 "consumer_type": "INSTANCE"}
        with RawConnection(placet.port) as raw:
            raw.send(request("PUT", f"/allocations/{UUID}", claim))
            placet.alive()
            refusal(raw.reply(), 400)


@case("query strings that are huge, not UTF-8 or repeated a thousand times are never answered with 500")
def query_strings():
    with with_provider() as placet:
        queries = ["name=" + "a" * 60_000, "name=%ff", "name=%00", "name=%", "%=%", "&" * 5000,
                   "resources=" + "VCPU:1," * 2000, "&".join(["name=x"] * 1000),
                   "member_of=in:" + ",".join([UUID] * 1000), "required=" + "!" * 1000,
                   "required=in:" + "HW_CPU_X86_AVX," * 1000, "resources=%E2%80%A8:1", "in_tree=" + "[" * 5000]
        for path in (PROVIDERS, "/allocation_candidates", "/traits", "/usages", "/resource_classes"):
            for query in queries:
                reply = once(placet.port, request("GET", f"{path}?{query}"))
                check(reply and 200 <= reply.status < 500, path, query[:40], reply)
        for path in ("/%ff", f"{PROVIDERS}/%00", f"{PROVIDERS}/..%2f..%2fetc", f"{PROVIDERS}/{'x' * 9000}", "//",
                     "/a//b", "/%", "/?", f"/allocations/{'%25' * 300}", "/traits/CUSTOM_" + "X" * 300):
            reply = once(placet.port, request("GET", path))
            check(reply and 200 <= reply.status < 500, path[:40], reply)
        placet.alive()
