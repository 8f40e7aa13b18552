"""The race of claims and states: 64 schedulers claim from a host and the provider below while a client drains the host.

Each granted claim raises the generation of its provider by one. The change of the state raises the generations of all
providers below the host. The answers have the generations. So if no claim was granted after the change, the answered
generations have no gap, and the table is one ahead. Afterwards a host that is drained and opened in turn gets claims
exactly while the host is open.
"""

import random
import threading
import time
import uuid

from functional_tests.lib.ledger import Ledger
from functional_tests.lib.patience import HANG_SECONDS
from functional_tests.lib.rest import Rest

SCHEDULERS = 64
ROOM = 1000
OPENINGS = 3
SEARCHES_UNTIL_IDLE = 4


class Round:
    def __init__(self, rng):
        def new_uuid():
            return str(uuid.UUID(int=rng.getrandbits(128), version=4))

        self.host = new_uuid()
        self.providers = [self.host, new_uuid()]
        self.consumers = [new_uuid() for _ in range(SCHEDULERS)]
        self.by_query = [rng.random() < 0.3 for _ in self.consumers]
        self.delay_seconds = rng.random() * 0.15
        self.state = rng.choice(("draining", "off", "lost"))

    def __str__(self):
        return f"{SCHEDULERS} schedulers beside a host that is {self.state} after {self.delay_seconds * 1000:.0f} ms"

    def prepare(self, rest):
        rest.must("POST", "/resource_providers", {"name": self.host, "uuid": self.host})
        child = self.providers[1]
        rest.must("POST", "/resource_providers", {"name": child, "uuid": child, "parent_provider_uuid": self.host})
        for provider in self.providers:
            rest.must("PUT", f"/resource_providers/{provider}/inventories",
                      {"resource_provider_generation": 0, "inventories": {"VCPU": {"total": ROOM}}})

    def call(self, number):
        candidates = [{"allocations": {provider: {"resources": {"VCPU": 1}}}} for provider in self.providers]
        wanted = {"query": self.query()} if self.by_query[number] else {
            "candidates": candidates if number % 2 else candidates[::-1]}
        return {"consumers": [{"uuid": self.consumers[number], "project_id": "race", "user_id": "race",
                               "type": "RACER"} | wanted]}

    def query(self):
        return f"resources=VCPU:1&in_tree={self.host}"

    def describe(self, generation, state):
        return {"generation": generation, "state": state}


def race(round_, services):
    """Returns the answers of all schedulers, and that of the client which changes the state."""
    answers, changed = {}, []
    start = threading.Barrier(SCHEDULERS + 1)

    def scheduler(number):
        rest = Rest(services[number % len(services)].port)
        start.wait()
        time.sleep((number // 8) * 0.02)
        answers[number] = rest("POST", "/v1/claims", round_.call(number))

    def operator():
        rest = Rest(services[-1].port)
        start.wait()
        time.sleep(round_.delay_seconds)
        changed.append(rest("PUT", f"/v1/providers/{round_.host}", round_.describe(None, round_.state)))

    threads = [threading.Thread(target=scheduler, args=(number,)) for number in range(SCHEDULERS)]
    threads.append(threading.Thread(target=operator))
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(HANG_SECONDS)
    assert len(answers) == SCHEDULERS and changed, f"only {len(answers)} schedulers were answered"
    return answers, changed[0]


def shares(answers):
    """The providers that claims took from, each with the generation that its answer has."""
    granted = [answer.json["consumers"][0]["allocations"] for answer in answers if answer.status == 200]
    return [(provider, share["generation"]) for allocations in granted for provider, share in allocations.items()]


def check_refusal(round_, number, answer):
    assert answer.status == 409 and answer.code == "placet.claim_refused", f"a call was answered with {answer}"
    codes = [reason["code"] for reason in answer.json["consumers"][0]["reasons"]]
    # The conditions of a query that leave out other hosts come behind the cause.
    cause = codes[:2] if round_.by_query[number] else sorted(set(codes))
    expected = ["placet.no_candidate", "placet.state"] if round_.by_query[number] else ["placet.state"]
    assert cause == expected, f"{codes} of {round_.call(number)}"


def run_round(seed, number, services):
    round_ = Round(random.Random(f"{seed}/states/{number}"))
    print(f"states, round {number}: {round_}", flush=True)
    rest = Rest(services[0].port)
    round_.prepare(rest)
    ledger = Ledger(services[0].database)
    before = {provider: ledger.generation(provider) for provider in round_.providers}
    answers, changed = race(round_, services)
    assert changed.status == 200, f"the change of the state was answered with {changed}"
    for at, answer in answers.items():
        if answer.status != 200:
            check_refusal(round_, at, answer)
    taken = shares(answers.values())
    for taken_from in round_.providers:
        seen = sorted(generation for provider, generation in taken if provider == taken_from)
        claims = len(ledger.holders(taken_from))
        assert seen == list(range(before[taken_from] + 1, before[taken_from] + claims + 1)), (
            f"claims were granted with the generations {seen} of {taken_from}, which had {before[taken_from]} before: one "
            f"of them came after the change of the state")
        now = ledger.generation(taken_from)
        assert now == before[taken_from] + claims + 1, f"generation {now} after {claims} claims and a change of the state"
    assert ledger.faults() + ledger.gaps() == [], ledger.faults() + ledger.gaps()
    check_openings(round_, services)


def check_openings(round_, services):
    """The host is drained and opened in turn, and then closed and opened by a property, each time through another
    process. Each process sees what another one has acknowledged, although it took the others to be idle after some
    searches that found no commit of theirs.
    """
    by_property = {"query": {"resources": "VCPU:1", "in_tree": round_.host, "where": "Open == true"}}
    for generation, opening in enumerate(range(4 * OPENINGS), start=1):
        is_open, by_state = opening % 2 == 0, opening < 2 * OPENINGS
        for service in services:
            for _ in range(SEARCHES_UNTIL_IDLE):
                Rest(service.port).must("GET", f"/v1/candidates?{round_.query()}")
        description = {"generation": generation, "properties": {"Number": opening, "Open": is_open or by_state},
                       "state": "up" if is_open or not by_state else "draining"}
        Rest(services[opening % len(services)].port).must("PUT", f"/v1/providers/{round_.host}", description)
        for number, service in enumerate(services):
            consumer = round_.call(number)["consumers"][0] | {"uuid": str(uuid.uuid4())}
            if not by_state:
                consumer.pop("candidates", None)
                consumer |= by_property
            claimed = Rest(service.port)("POST", "/v1/claims", {"consumers": [consumer]})
            expected = 200 if is_open else 409
            assert claimed.status == expected, f"a claim beside the description {description} was answered with {claimed}"
