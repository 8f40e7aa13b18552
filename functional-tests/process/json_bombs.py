"""JSON made to cost much is refused or answered within a bound of time and memory."""

import json

from functional_tests.process.cases import case, check, equal, settings
from functional_tests.process.hostile_bodies import UUID, WRITES, with_provider
from functional_tests.process.protocol import PROVIDERS
from functional_tests.process.raw_http import RawConnection, once, request
from functional_tests.process.searches import memory

# Below the limit of the routes with small bodies.
SIZE = 900_000
CPU_SECONDS = 10
# A value takes 32 bytes or more in memory, and its text at least two.
MAX_GROWN_MB = 120


def repeated(text, end=b""):
    return text * ((SIZE - len(end)) // len(text)) + end


BOMBS = {
    "wide": b"[" + repeated(b"0,") + b"0]",
    "wide objects": b"[" + repeated(b"{},") + b"{}]",
    "nested to the limit, again and again": b"[" + repeated(b"[" * 290 + b"]" * 290 + b",") + b"0]",
    "many members": b"{" + b",".join(b'"%d":0' % n for n in range(80_000)) + b"}",
    "one name again and again": b"{" + repeated(b'"name":0,') + b'"name":0}',
    "one long text": b'{"name":"' + repeated(b"a") + b'"}',
    "one long text of escapes": b'{"name":"' + repeated(b"\\u0041") + b'"}',
    "one long text without its end": b'{"name":"' + repeated(b"\\\\"),
    "a long name": b'{"' + repeated(b"a") + b'":0}',
    "blanks": repeated(b" ") + b"{}",
    "blanks and an error": repeated(b"\n \t\r") + b"x",
    "a long number": b'{"name":' + repeated(b"9") + b"}",
    "a long fraction": b'{"name":0.' + repeated(b"9") + b"}",
    "a long exponent": b'{"name":1e' + repeated(b"9") + b"}",
    "many huge floats": b"[" + repeated(b"1e308,") + b"0]",
    "many numbers of 4300 digits": b"[" + repeated(b"9" * 4300 + b",") + b"0]",
    "commas": b"[" + repeated(b","),
    "equal items": b"[" + repeated(b'"CUSTOM_A",') + b'"CUSTOM_A"]',
}


@case(f"{len(BOMBS)} bombs of JSON are refused with less than {CPU_SECONDS} s of CPU time, in less than {MAX_GROWN_MB} MB")
def bombs():
    # On every route at full size.
    routes = WRITES if settings["full"] else [WRITES[0], WRITES[2]]
    with with_provider() as placet:
        before = memory(placet)
        for name, bomb in BOMBS.items():
            for method, path in routes:
                used = placet.processor_seconds()
                with RawConnection(placet.port) as raw:
                    raw.send(request(method, path, bomb))
                    reply = raw.reply()
                check(reply.status in (400, 413), name, method, path, reply)
                used = placet.processor_seconds() - used
                check(used < CPU_SECONDS, name, method, path, f"took {used:.1f} s of CPU time")
        grown = memory(placet) - before
        check(grown < MAX_GROWN_MB, f"memory grew by {grown} MB")
        placet.alive()


@case("of several members of one name the last one counts, as in Python")
def duplicate_names():
    with with_provider() as placet:
        other = UUID[:-1] + "d"
        body = '{"name": "first", "uuid": 1, "name": "last", "uuid": "%s"}' % other
        reply = once(placet.port, request("POST", PROVIDERS, body.encode()))
        equal(reply.status, 200, reply)
        answered = json.loads(reply.body)
        equal({name: answered[name] for name in ("name", "uuid")}, json.loads(body))


@case("an item that is there 80,000 times in a list is one item or refused, with less than 10 s of CPU time")
def equal_items():
    with with_provider() as placet:
        for path, member, item, status in ((f"{PROVIDERS}/{UUID}/traits", "traits", "HW_CPU_X86_AVX", 200),
                                           (f"{PROVIDERS}/{UUID}/aggregates", "aggregates", UUID, 400)):
            body = {"resource_provider_generation": 0, member: [item] * 80_000}
            used = placet.processor_seconds()
            equal(once(placet.port, request("PUT", path, body)).status, status, path)
            used = placet.processor_seconds() - used
            check(used < CPU_SECONDS, path, f"took {used:.1f} s of CPU time")
        equal(placet.rest("GET", f"{PROVIDERS}/{UUID}/traits").json["traits"], ["HW_CPU_X86_AVX"])
