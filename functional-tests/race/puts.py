"""The race of `PUT /allocations/{consumer}`: 64 clients and a foreign writer claim K places. Exactly K are granted.

Each round makes a host (and in some rounds a shared pool) with capacity for exactly K claims. All clients claim
concurrently over HTTP. At the same time a foreign writer claims in the same tables by SQL, as OpenStack Placement does.
It increments the provider's generation with every claim, and writes no row of the change feed. Claims beyond K are
refused with 409 and the right code, and the tables are summed by SQL.

OpenStack Placement also refuses claims for a concurrent update alone; the clients then repeat the claim. It does not
pass: 16.0.0 oversubscribes. When it retries a claim, it takes the rows of the first attempt for the consumer's earlier
allocations. With `[placement] allocation_conflict_retry_count = 1` it passes on PostgreSQL and MariaDB.
"""

import random
import threading
import uuid

from functional_tests.lib.ledger import Ledger
from functional_tests.lib.patience import HANG_SECONDS
from functional_tests.lib.rest import Rest
from functional_tests.lib.sql_claims import SqlClaims

CLIENTS = 64


class Round:
    """One race: the providers, the number of claims that fit, and the consumers."""

    def __init__(self, rng):
        self.places = rng.randint(1, 40)
        self.amount = rng.randint(1, 4)
        self.pooled = rng.random() < 0.5
        self.foreign_claims = rng.randint(8, 24)
        self.host = str(uuid.UUID(int=rng.getrandbits(128), version=4))
        self.pool = str(uuid.UUID(int=rng.getrandbits(128), version=4))
        self.consumers = [str(uuid.UUID(int=rng.getrandbits(128), version=4)) for _ in range(CLIENTS)]

    def __str__(self):
        providers = "a host and a pool" if self.pooled else "a host"
        return f"{CLIENTS} clients and {self.foreign_claims} foreign claims for {self.places} places of {providers}"

    def resources(self):
        """Provider -> (class, amount) of one claim. With a pool, only the pool is scarce."""
        if self.pooled:
            return {self.pool: ("DISK_GB", self.amount), self.host: ("VCPU", 1)}
        return {self.host: ("VCPU", self.amount)}

    def prepare(self, rest):
        scarce = self.pool if self.pooled else self.host
        for provider, (name, amount) in self.resources().items():
            rest.must("POST", "/resource_providers", {"name": provider, "uuid": provider})
            total = amount * (self.places if provider == scarce else 1000)
            body = {"resource_provider_generation": 0, "inventories": {name: {"total": total}}}
            rest.must("PUT", f"/resource_providers/{provider}/inventories", body)

    def claim(self):
        return {
            "allocations": {p: {"resources": {name: n}} for p, (name, n) in self.resources().items()},
            "project_id": "race", "user_id": "race", "consumer_generation": None, "consumer_type": "RACER",
        }


def race(round_, rest, service):
    """Runs all clients concurrently; returns each one's answer, and the consumers of the foreign writer's claims."""
    answers = {}
    start = threading.Barrier(CLIENTS + 1)

    def client(consumer):
        start.wait()
        answers[consumer] = rest("PUT", f"/allocations/{consumer}", round_.claim())
        while service.kind == "upstream" and answers[consumer].code == "placement.concurrent_update":
            answers[consumer] = rest("PUT", f"/allocations/{consumer}", round_.claim())

    other = SqlClaims(service.database, round_.resources(), round_.foreign_claims, start)
    threads = [threading.Thread(target=client, args=(c,)) for c in round_.consumers]
    threads.append(threading.Thread(target=other.run))
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(HANG_SECONDS)
    if other.error:
        raise other.error
    assert len(answers) == CLIENTS, f"only {len(answers)} of {CLIENTS} clients were answered"
    return answers, other.granted


def judge(round_, answers, foreign, rest, service):
    granted = [c for c, answer in answers.items() if answer.status == 204]
    for consumer, answer in answers.items():
        if answer.status == 204:
            continue
        right = answer.status == 409 and answer.code == "placement.undefined_code"
        assert right and b"would exceed the capacity" in answer.raw, f"{consumer}: {answer}"
    assert len(granted) + len(foreign) == round_.places, (
        f"{len(granted)} clients and {len(foreign)} foreign claims were granted {round_.places} places")
    ledger = Ledger(service.database)
    for provider, (name, amount) in round_.resources().items():
        holders = ledger.holders(provider)
        assert holders == {c: amount for c in granted + foreign}, f"{provider} is held by {holders}"
        assert ledger.generation(provider) == 1 + round_.places, f"generation {ledger.generation(provider)}"
        shown = rest("GET", f"/resource_providers/{provider}/usages").json["usages"]
        assert shown == {name: round_.places * amount}, f"usages show {shown}"
    faults = ledger.faults() + (ledger.gaps() if service.kind == "placet" else [])
    if service.kind == "upstream":  # it may leave the consumer of a refused claim
        faults = [fault for fault in faults if fault[0] != "no allocations"]
    assert faults == [], faults


def run_round(seed, number, services):
    """All claims go through the first process."""
    service = services[0]
    rest = Rest(service.port)
    round_ = Round(random.Random(f"{seed}/{number}"))
    print(f"round {number}: {round_}", flush=True)
    round_.prepare(rest)
    answers, foreign = race(round_, rest, service)
    judge(round_, answers, foreign, rest, service)
