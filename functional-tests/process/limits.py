"""Limits of a request's head and query: at each limit a request is served, and beyond it the refusal names the
limit.
"""

from functional_tests.process.cases import case, check, equal
from functional_tests.process.hostile_bodies import UUID, with_provider
from functional_tests.process.protocol import PROVIDERS, refusal
from functional_tests.process.raw_http import HEAD, RawConnection, once, request

MAX_HEADERS, MAX_HEAD_BYTES, MAX_TARGET_BYTES = 96, 131_071, 65_534
PLAIN = HEAD.count("\r\n")


def with_headers(count):
    return f"GET {PROVIDERS} HTTP/1.1\r\n{HEAD}" + "X: 1\r\n" * (count - PLAIN) + "\r\n"


def with_head(length):
    begin, end = f"GET {PROVIDERS} HTTP/1.1\r\n{HEAD}X: ", "\r\n\r\n"
    return begin + "a" * (length - len(begin + end)) + end


def with_target(length):
    begin = f"{PROVIDERS}?name="
    return f"GET {begin}{'a' * (length - len(begin))} HTTP/1.1\r\n{HEAD}\r\n"


@case("a head of the greatest length and one with the most headers are served, and longer ones are 431 with the limit")
def heads():
    with with_provider() as placet:
        equal(once(placet.port, with_headers(MAX_HEADERS)).status, 200)
        equal(once(placet.port, with_head(MAX_HEAD_BYTES)).status, 200)
        for data in (with_headers(MAX_HEADERS + 1), with_headers(5000), with_head(200_000),
                     with_head(1_000_000)):
            reply = refusal(once(placet.port, data), 431)
            detail = reply.error["detail"]
            check(f"at most {MAX_HEADERS} headers" in detail and f"{MAX_HEAD_BYTES} bytes" in detail, detail)
        placet.alive()


@case("a URL of the greatest length is served, and a longer one is 414 with the limit, also when it comes in pieces")
def targets():
    with with_provider() as placet:
        equal(once(placet.port, with_target(MAX_TARGET_BYTES)).status, 200)
        for length in (MAX_TARGET_BYTES + 1, 100_000, 3_000_000):
            reply = refusal(once(placet.port, with_target(length)), 414)
            check(f"at most {MAX_TARGET_BYTES} bytes" in reply.error["detail"], reply)
        with RawConnection(placet.port) as raw:
            raw.send(request("GET", "/"))
            equal(raw.reply().status, 200)
            data = with_target(MAX_TARGET_BYTES + 1)
            for at in range(0, len(data), 10_000):
                raw.send(data[at:at + 10_000])
            refusal(raw.reply(), 414)
        # A malformed header behind a long URL is no long URL.
        refusal(once(placet.port, with_target(MAX_TARGET_BYTES)[:-2] + "no colon\r\n\r\n"), 400)
        placet.alive()


@case("as many parameters as a URL can hold are refused by name or answered, with less than 5 s of CPU time, whatever they are")
def parameters():
    groups = "".join(f"&resources{n}=VCPU:1&required{n}=HW_CPU_X86_AVX" for n in range(1, 1300))
    queries = ["&".join(f"a{n}=1" for n in range(7000)), "&" * 60_000, ";" * 60_000, "=" * 60_000, "%41" * 20_000,
               "&".join(["name=x"] * 9000), "resources=VCPU:1" + "&required=HW_CPU_X86_AVX" * 2500,
               f"resources=VCPU:1{f'&member_of={UUID}' * 1300}", f"group_policy=none{groups}",
               "resources=VCPU:1&required=in:" + ",".join(["HW_CPU_X86_AVX"] * 4000),
               "resources=" + ",".join(["VCPU:1"] * 9000), "resources=" + ",".join(f"CUSTOM_{n}:1" for n in range(4000)),
               "same_subtree=" + ",".join(f"_{n}" for n in range(8000))]
    with with_provider() as placet:
        for path in (PROVIDERS, "/allocation_candidates", "/usages", "/traits"):
            for query in queries:
                used = placet.processor_seconds()
                with RawConnection(placet.port) as raw:
                    raw.send(request("GET", f"{path}?{query}"))
                    reply = raw.reply()
                used = placet.processor_seconds() - used
                check(reply.status in (200, 400), path, query[:40], reply)
                check(used < 5, path, query[:40], f"took {used:.1f} s of CPU time")
                check(len(reply.body) < 300_000, path, query[:40], len(reply.body))
        placet.alive()
