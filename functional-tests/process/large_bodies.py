"""Large bodies delay no small request, and the memory of all bodies together is bounded."""

import select
import threading
import time

from functional_tests.lib.patience import eventually
from functional_tests.process.cases import case, check, equal, settings
from functional_tests.process.hostile_bodies import JSON_HEAD, UUID, with_provider
from functional_tests.process.protocol import PROVIDERS, refusal
from functional_tests.process.raw_http import HEAD, RawConnection, once, request

MB = 1024 * 1024
# More than any refusal has, and much less than the requests below.
MAX_REFUSAL_BYTES = 300_000


@case("large bodies that are slow to read and to quote delay no other request, and none is answered with 408")
def beside_others():
    size = 31 * MB if settings["full"] else 6 * MB
    emoji = b"\\ud83d\\ude00"
    bodies = [b'{"' + emoji * (size // len(emoji)) + b'": 1}', b"[" + b"0," * (size // 2) + b"0]",
              b'{"a": [' + b'"a",' * (size // 4) + b'"a"]}']
    with with_provider() as placet:
        answers = []

        def send(body):
            with RawConnection(placet.port) as raw:
                raw.send(request("POST", "/allocations", body))
                answers.append(raw.reply())

        threads = [threading.Thread(target=send, args=(body,)) for body in bodies * 2]
        for thread in threads:
            thread.start()
        others, longest, first = 0, 0, time.monotonic()
        while any(thread.is_alive() for thread in threads):
            began = time.monotonic()
            equal(once(placet.port, request("GET", f"{PROVIDERS}?name=there")).status, 200)
            longest = max(longest, time.monotonic() - began)
            others += 1
        whole = time.monotonic() - first
        for thread in threads:
            thread.join()
        equal(len(answers), len(threads), "answers")
        for answer in answers:
            refusal(answer, 400)
            check(len(answer.body) < MAX_REFUSAL_BYTES, len(answer.body))
        check(others > 3, "nothing was tested")
        # On a busy machine the bodies take longer, too.
        check(longest < max(2, whole / 2), f"a request took {longest:.1f} s of {whole:.1f} s")


@case("beyond max_body_memory a large body is answered with 503, and a small one is served")
def memory():
    options = {"placet": {"max_body_memory": "1000000", "max_body_size": "800000"}}
    with with_provider(options) as placet:
        body = b"[" + b" " * 700_000 + b"]"
        data = request("PUT", f"/allocations/{UUID}", body)
        held = []

        def refusal_beside():
            if not held:
                held.append(RawConnection(placet.port))
                held[0].send(data[:-10])
            reply = once(placet.port, data)
            # Until the first body is read, the second is. If their parts came in turns, the first one may be refused.
            if select.select([held[0].socket], [], [], 0)[0]:
                held.pop().socket.close()
            return held and reply.status == 503 and reply

        reply = eventually("a body is refused", refusal_beside)
        with held[0] as first:
            check("[placet] max_body_memory" in refusal(reply, 503).error["detail"], reply)
            equal(once(placet.port, request("POST", PROVIDERS, {"name": "small"})).status, 200)
            first.send(data[-10:])
            refusal(first.reply(), 400)
        refusal(once(placet.port, data), 400)


@case("a route whose bodies are small refuses a large one with 413, although max_body_size allows it")
def limits_of_routes():
    provider = f"{PROVIDERS}/{UUID}"
    with with_provider() as placet:
        for method, path, limit in (("POST", PROVIDERS, MB), ("PUT", f"{provider}/inventories/VCPU", MB),
                                    ("PUT", f"{provider}/traits", 4 * MB), ("PUT", f"{provider}/aggregates", 4 * MB),
                                    ("PUT", f"{provider}/inventories", 4 * MB)):
            refusal(once(placet.port, request(method, path, b" " * (limit + 1))), 413)
            refusal(once(placet.port, request(method, path, b" " * limit)), 400)
        for method, path in (("POST", "/allocations"), ("PUT", f"/allocations/{UUID}")):
            refusal(once(placet.port, request(method, path, b" " * 5 * MB)), 400)


@case("a refusal quotes a bounded part of the request")
def refusals():
    provider = f"{PROVIDERS}/{UUID}"
    long = "A" * 400_000
    traits = [f"CUSTOM_{number}" for number in range(200_000)]
    inventory = {"resource_provider_generation": 0, "inventories": {long: {"total": 1}}}
    with with_provider() as placet:
        for data in (request("PUT", f"{provider}/inventories", inventory),
                     request("PUT", f"{provider}/traits", {"resource_provider_generation": 0, "traits": traits}),
                     request("POST", PROVIDERS, {long: 1}), request("POST", PROVIDERS, {"name": {long: long}}),
                     request("PUT", f"/allocations/{UUID}", {"allocations": {long: 1}}),
                     request("POST", "/allocations", {long: {long: 1}})):
            reply = refusal(once(placet.port, data), 400)
            check(len(reply.body) < MAX_REFUSAL_BYTES, len(reply.body), data[:80])
        for header in ("Content-Type", "Accept"):
            data = f"POST {PROVIDERS} HTTP/1.1\r\n{HEAD}{header}: {'a' * 60_000}\r\nContent-Length: 2\r\n\r\n{{}}"
            reply = once(placet.port, data)
            check(400 <= reply.status < 500 and len(reply.body) < 10_000, len(reply.body), header)


@case("a body that ends too early and a chunk without a size are refused with a plain sentence each")
def broken_bodies():
    head = f"POST {PROVIDERS} HTTP/1.1\r\n{JSON_HEAD}"
    for data, reason in ((f"{head}Content-Length: 20\r\n\r\n" + '{"na', "the connection ended before the body did"),
                         (f"{head}Transfer-Encoding: chunked\r\n\r\nzz\r\n", "a chunk of it has no valid size")):
        with with_provider() as placet, RawConnection(placet.port) as raw:
            raw.send(data)
            if "chunk" not in reason:
                raw.socket.shutdown(1)
            check(f"The body could not be read: {reason}." in refusal(raw.reply(), 400).error["detail"], reason)
