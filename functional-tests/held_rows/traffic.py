"""Requests at a steady rate. Each kind has its own objects, so requests do not wait for each other's objects."""

import concurrent.futures
import itertools
import random
import time
import uuid
from typing import NamedTuple

from functional_tests.held_rows.holders import GUARD
from functional_tests.lib.rest import KeptRest, Rest

HOSTS = [f"00000000-0000-4000-8000-0000000001{n:02}" for n in range(4)]
HELD_HOST = "00000000-0000-4000-8000-0000000002ff"
CLAIM, HELD = "claim", "request for the held row"
# Requests a second. All but claims alternate with each other.
CLAIMS_PER_SECOND, OTHERS_PER_SECOND, HELD_PER_SECOND = 10, 12, 0.5
MAX_IN_FLIGHT = 400


class Request(NamedTuple):
    """`target` is the consumer or the provider that it is for."""

    target: str
    method: str
    path: str
    sent: dict = None


class Answered(NamedTuple):
    """A request with its answer, or None, and the seconds that it took."""

    kind: str
    request: Request
    seconds: float
    answer: object

    @property
    def is_refused(self):
        return self.answer is None or self.answer.status >= 300

    def __str__(self):
        return f"{self.kind} {self.request.target}: {str(self.answer)[:200]} after {self.seconds:.2f} s"


def body(holds, generation):
    return {"allocations": {provider: {"resources": {"VCPU": 1}} for provider in holds}, "project_id": "p",
            "user_id": "u", "consumer_generation": generation, "consumer_type": "INSTANCE"}


class Traffic:
    """Requests to one placet. `seconds` is the time for which it can send them, until `supply` makes more objects."""

    def __init__(self, port, seed, seconds, holds_consumers):
        self.port, self.chance, self.holds_consumers = port, random.Random(seed), holds_consumers
        self.kinds = {
            "replacement": self.replace, "release": self.release, "claim of two consumers": self.claim_two,
            "inventories": self.inventories, "traits": self.traits, "new provider": self.new_provider,
            "deleted provider": self.delete_provider, "candidates": self.candidates, "usages": self.usages,
            "claim by rank": self.claim_by_rank, "claim by query": self.claim_by_query,
            "claim of a list": self.claim_of_list, "workload": self.workload}
        self.seconds = seconds
        self.held_consumers = [self.new_uuid() for _ in range(int(seconds * HELD_PER_SECOND) + 2)]
        self.left_held = iter(self.held_consumers)
        self.turns = itertools.cycle(self.kinds)

    def new_uuid(self):
        found = str(uuid.UUID(int=self.chance.getrandbits(128), version=4))
        return found if found > GUARD else self.new_uuid()

    def prepare(self):
        rest = KeptRest(self.port)
        for provider in (*HOSTS, HELD_HOST):
            rest.must("POST", "/resource_providers", {"name": provider, "uuid": provider})
            rest.must("PUT", f"/resource_providers/{provider}/inventories", self.inventory(0))
        for consumer in (GUARD, *self.held_consumers):
            rest.must("PUT", f"/allocations/{consumer}", body([self.chance.choice(HOSTS)], None))
        self.supply()

    def supply(self):
        """Makes one object for each request that changes or removes one."""
        rest, count = KeptRest(self.port), int(self.seconds * OTHERS_PER_SECOND / len(self.kinds)) + 2
        consumers, providers = ([self.new_uuid() for _ in range(each * count)] for each in (2, 3))
        for provider in providers:
            rest.must("POST", "/resource_providers", {"name": provider, "uuid": provider})
        for consumer in consumers:
            rest.must("PUT", f"/allocations/{consumer}", body([self.chance.choice(HOSTS)], None))
        self.left_consumers, self.left_providers = iter(consumers), iter(providers)

    @staticmethod
    def inventory(generation):
        return {"resource_provider_generation": generation, "inventories": {"VCPU": {"total": 1_000_000}}}

    def run(self, seconds, is_held, at_end):
        """Sends requests for this time, those for the held row only if it is held. Calls `at_end` then, and waits
        for all answers.
        """
        sent = [(n / CLAIMS_PER_SECOND, CLAIM, self.claim) for n in range(int(seconds * CLAIMS_PER_SECOND))]
        for n in range(int(seconds * OTHERS_PER_SECOND)):
            kind = next(self.turns)
            sent.append((n / OTHERS_PER_SECOND, kind, self.kinds[kind]))
        if is_held:
            ask = self.change_held_consumer if self.holds_consumers else self.claim_held_host
            sent += [(n / HELD_PER_SECOND, HELD, ask) for n in range(int(seconds * HELD_PER_SECOND))]
        began = time.monotonic()
        with concurrent.futures.ThreadPoolExecutor(MAX_IN_FLIGHT) as pool:
            answers = []
            for offset, kind, prepare in sorted(sent, key=lambda each: each[:2]):
                time.sleep(max(0, began + offset - time.monotonic()))
                answers.append(pool.submit(self.ask, kind, prepare()))
            time.sleep(max(0, began + seconds - time.monotonic()))
            at_end()
            return [each.result() for each in answers]

    def ask(self, kind, request):
        began, answer = time.monotonic(), None
        try:
            answer = Rest(self.port)(request.method, request.path, request.sent)
        except OSError as error:
            print(f"        {kind}: {error!r}", flush=True)
        return Answered(kind, request, time.monotonic() - began, answer)

    # --- the requests ---------------------------------------------------------------------------
    # Those with a choice would take the held host, because it is the emptiest, or the first of their list.

    def choose(self, **wanted):
        consumer = self.new_uuid()
        return Request(consumer, "POST", "/v1/claims", {
            "consumers": [{"uuid": consumer, "project_id": "p", "user_id": "u", **wanted}]})

    def claim_by_rank(self):
        return self.choose(query="resources=VCPU:1", rank="emptiest")

    def claim_by_query(self):
        return self.choose(query="resources=VCPU:1")

    def claim_of_list(self):
        candidates = [{"allocations": {host: {"resources": {"VCPU": 1}}}} for host in (HELD_HOST, *HOSTS)]
        return self.choose(candidates=candidates)

    def workload(self):
        workload = self.new_uuid()
        role = {"name": "replica", "count": 1, "query": "resources=VCPU:1", "rank": "emptiest"}
        return Request(workload, "PUT", f"/v1/workloads/{workload}", {
            "generation": None, "name": workload, "project_id": "p", "user_id": "u", "roles": [role]})

    def claim(self):
        consumer = self.new_uuid()
        return Request(consumer, "PUT", f"/allocations/{consumer}", body([self.chance.choice(HOSTS)], None))

    def claim_two(self):
        claims = {self.new_uuid(): body([self.chance.choice(HOSTS)], None) for _ in range(2)}
        return Request(next(iter(claims)), "POST", "/allocations", claims)

    def replace(self):
        consumer = next(self.left_consumers)
        return Request(consumer, "PUT", f"/allocations/{consumer}", body(HOSTS[:2], 1))

    def release(self):
        consumer = next(self.left_consumers)
        return Request(consumer, "DELETE", f"/allocations/{consumer}")

    def inventories(self):
        provider = next(self.left_providers)
        return Request(provider, "PUT", f"/resource_providers/{provider}/inventories", self.inventory(0))

    def traits(self):
        provider = next(self.left_providers)
        sent = {"resource_provider_generation": 0, "traits": ["HW_CPU_X86_AVX2"]}
        return Request(provider, "PUT", f"/resource_providers/{provider}/traits", sent)

    def new_provider(self):
        provider = self.new_uuid()
        return Request(provider, "POST", "/resource_providers", {"name": provider, "uuid": provider})

    def delete_provider(self):
        provider = next(self.left_providers)
        return Request(provider, "DELETE", f"/resource_providers/{provider}")

    def candidates(self):
        return Request("", "GET", "/allocation_candidates?resources=VCPU:1")

    def usages(self):
        host = self.chance.choice(HOSTS)
        return Request(host, "GET", f"/resource_providers/{host}/usages")

    def claim_held_host(self):
        consumer = self.new_uuid()
        return Request(consumer, "PUT", f"/allocations/{consumer}", body([HELD_HOST, HOSTS[0]], None))

    def change_held_consumer(self):
        consumer = next(self.left_held)
        if self.chance.random() < 0.5:
            return Request(consumer, "DELETE", f"/allocations/{consumer}")
        return Request(consumer, "PUT", f"/allocations/{consumer}", body(HOSTS[:2], 1))
