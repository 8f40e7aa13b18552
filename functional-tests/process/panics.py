"""Defects that panic: a client gets a 500 in the API's form or an answer that ends early, and the process goes on.

The binary must be built with the feature `mutants`: in each case placet panics at one place. Builds without the feature
skip all cases.
"""

import json
import re
import threading
import time

from functional_tests.lib.patience import HANG_SECONDS, IN_TIME_SECONDS, SERVICE_SECONDS
from functional_tests.metrics import scrape
from functional_tests.process.cases import Skip, case, check, equal, folder
from functional_tests.process.hostile_bodies import MAX_BODY_BYTES, UUID
from functional_tests.process.locked import serving
from functional_tests.process.placet_process import Placet
from functional_tests.process.protocol import PROVIDERS, refusal
from functional_tests.process.raw_http import once, request
from functional_tests.process.searches import path, tree, undecided

ENDED = re.compile(r" (\d+) panics since the start")


def mutant(name, here):
    """A service that runs as this mutant."""
    return Placet(here, serving(shutdown_timeout=SERVICE_SECONDS), extra={"PLACET_MUTANT": name})


def has_mutants(placet, name):
    """Skips the case if the process has not run as the mutant."""
    if f"runs as the mutant '{name}'" not in placet.log():
        raise Skip("the binary was built without the feature `mutants`")


def counted(placet, least):
    """Ends the process. Its log has the panics, with their place, and their number, which `/metrics` showed too."""
    shown = scrape.read(placet.port).sum("placet_panics_total")
    placet.stop()
    log = placet.log()
    panics = [line for line in log.splitlines() if " ERROR " in line and "A panic at src/" in line]
    check(len(panics) >= least, f"{len(panics)} panics are in the log:\n{log[-3000:]}")
    equal(int(ENDED.search(log)[1]), len(panics), "panics that were counted")
    equal(shown, len(panics), "placet_panics_total in /metrics")


@case("a handler that panics answers 500 in JSON with its request id in the log, and the process serves on")
def handler():
    with folder() as here, mutant("panic-in-handler", here) as placet:
        equal(scrape.read(placet.port).sum("placet_panics_total"), 0, "before a panic")
        replies = [once(placet.port, request("POST", PROVIDERS, {"name": str(n)})) for n in range(20)]
        has_mutants(placet, "panic-in-handler")
        for reply in replies:
            refusal(reply, 500)
            check("defect of placet" in reply.error["detail"] and "panic-in" not in reply.body.decode(), reply)
            check(f"{reply.headers['x-openstack-request-id']} panicked" in placet.log(), reply)
        placet.alive()
        counted(placet, 20)


@case("a search and a large body that panic on another thread are answered with 500, and the threads serve on")
def pools():
    with folder() as here, mutant("panic-on-pool", here) as placet:
        asked = undecided(placet.rest)
        large = {"allocations": {UUID: {"resources": {"VCPU": 1}}}, "x": "x" * MAX_BODY_BYTES}
        for _ in range(10):
            body = refusal(once(placet.port, request("PUT", f"/allocations/{UUID}", large)), 500).body
            has_mutants(placet, "panic-on-pool")
            check(b"PanicOnPool" not in body, body)
            refusal(once(placet.port, request("GET", asked)), 500)
        # A list of many providers would be made on such a thread, too.
        equal(placet.rest("GET", f"{PROVIDERS}?name=none").status, 200)
        counted(placet, 20)


@case("an answer whose second part panics ends early, so that its client notices, and the process serves on")
def chunks():
    with folder() as here, mutant("panic-in-chunk", here) as placet:
        tree(placet.rest, 0, [1] * 16)
        asked = request("GET", path([1] * 5).replace("none", "isolate"))
        for _ in range(10):
            equal(once(placet.port, asked), None, "a whole answer")
        has_mutants(placet, "panic-in-chunk")
        placet.alive()
        counted(placet, 10)


@case("a command that panics while it is decided is answered with 500, and the others of its batch are committed")
def decisions():
    with folder() as here, mutant("panic-in-decision", here) as placet:
        others = []

        def create(number):
            others.append(placet.rest("POST", PROVIDERS, {"name": f"beside {number}"}).status)

        threads = [threading.Thread(target=create, args=(n,)) for n in range(20)]
        for thread in threads:
            thread.start()
        for number in range(10):
            refusal(once(placet.port, request("PUT", f"/traits/CUSTOM_{number}")), 500)
        for thread in threads:
            thread.join(HANG_SECONDS)
        has_mutants(placet, "panic-in-decision")
        equal(others, [200] * 20)
        equal(len(placet.rest("GET", PROVIDERS).json["resource_providers"]), 20)
        placet.alive()
        counted(placet, 10)


@case("if the writer's thread panics, the process ends with a message, and what it acknowledged is committed")
def writer():
    with folder() as here, mutant("panic-in-writer", here) as placet:
        began = time.monotonic()
        reply = once(placet.port, request("POST", PROVIDERS, {"name": "acknowledged"}))
        equal(reply and reply.status, 200, reply)
        has_mutants(placet, "panic-in-writer")
        equal(placet.ended(), 1, "exit code")
        check(time.monotonic() - began < IN_TIME_SECONDS, "it took long")
        log = placet.log()
        check("placet-writer" in log and "The process stops" in log, log[-2000:])
        check("placet: the writer met a defect of placet" in log, log[-2000:])
        with Placet(here, {}) as again:
            found = json.loads(again.rest("GET", PROVIDERS).raw)["resource_providers"]
            equal([each["name"] for each in found], ["acknowledged"])
