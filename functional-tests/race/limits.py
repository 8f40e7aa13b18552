"""The race of a normal limit: 64 schedulers claim through several processes, some of which may go over the limit.

Each claim that is granted raises the generation of its provider by one, and its answer has the generation. So the answers
say in which order the claims were granted. A claim for the purpose `normal` was within the limit when it came, whatever
other processes granted in the same moment; one for `place` was within the capacity, and its answer says if it was over the
limit. Clients of OpenStack's routes claim too: they know the capacity alone.
"""

import random
import threading
import uuid

from functional_tests.lib.ledger import Ledger
from functional_tests.lib.rest import Rest

SCHEDULERS = 64
PURPOSES = ("normal", "place", "openstack")


class Round:
    def __init__(self, seed, number):
        chance = random.Random(f"{seed}/limits/{number}")

        def new_uuid():
            return str(uuid.UUID(int=chance.getrandbits(128), version=4))

        self.resource_class = f"CUSTOM_LIMITED_{number}"
        self.total = {new_uuid(): chance.randint(5, 30) for _ in range(chance.randint(1, 3))}
        self.buffer = chance.randint(10, 60)  # in percent
        purposes = PURPOSES if number % 2 else ("normal",)
        self.calls = [(new_uuid(), chance.choice(purposes), chance.randint(1, 3), chance.choice([*self.total]))
                      for _ in range(SCHEDULERS)]

    def __str__(self):
        return (f"{SCHEDULERS} schedulers for {sum(self.total.values())} on {len(self.total)} hosts, of which {self.buffer} % "
                "are kept back")

    def normal(self, host):
        return self.total[host] * (100 - self.buffer) // 100

    def prepare(self, services):
        rest = Rest(services[0].port)
        rest.must("PUT", f"/resource_classes/{self.resource_class}")
        for host, total in self.total.items():
            rest.must("POST", "/resource_providers", {"name": host, "uuid": host})
            rest.must("PUT", f"/resource_providers/{host}/inventories",
                      {"resource_provider_generation": 0, "inventories": {self.resource_class: {"total": total}}})
        rest.must("PUT", f"/v1/limits/{self.resource_class}",
                  {"generation": None, "normal": {"buffer": f"0.{self.buffer:02}"}})
        for service in services:  # a process learns the limit with a search
            Rest(service.port).must("GET", f"/v1/candidates?resources={self.resource_class}:1")

    def send(self, rest, call):
        consumer, purpose, amount, host = call
        resources = {host: {"resources": {self.resource_class: amount}}}
        if purpose == "openstack":
            return rest("PUT", f"/allocations/{consumer}", {
                "allocations": resources, "project_id": "race", "user_id": "race", "consumer_generation": None,
                "consumer_type": "RACER"})
        return rest("POST", "/v1/claims", {"purpose": purpose, "consumers": [
            {"uuid": consumer, "project_id": "race", "user_id": "race", "type": "RACER",
             "candidates": [{"allocations": resources}]}]})


def race(round_, services):
    answers, start = {}, threading.Barrier(SCHEDULERS)

    def scheduler(number):
        rest = Rest(services[number % len(services)].port)
        start.wait()
        answers[number] = round_.send(rest, round_.calls[number])

    threads = [threading.Thread(target=scheduler, args=(number,)) for number in range(SCHEDULERS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
    assert len(answers) == SCHEDULERS, f"only {len(answers)} schedulers were answered"
    return answers


def granted_on(round_, host, answers):
    """Generation -> purpose, amount and whether it was over the limit, of the claims by `POST /v1/claims`."""
    found = {}
    for number, (_, purpose, amount, wanted) in enumerate(round_.calls):
        if wanted == host and purpose != "openstack" and answers[number].status == 200:
            consumer = answers[number].json["consumers"][0]
            found[consumer["allocations"][host]["generation"]] = purpose, amount, bool(consumer.get("over_normal"))
    return found


def check_order(round_, host, answers):
    """Replays the claims in the order of their generations. If OpenStack's clients claimed in between, what they took
    is known by its sum alone: at most all of it was used already, and at least none."""
    granted = granted_on(round_, host, answers)
    foreign = [amount for number, (_, purpose, amount, wanted) in enumerate(round_.calls)
               if wanted == host and purpose == "openstack" and answers[number].status == 204]
    used, before = 0, 1
    gaps = 0  # how many of OpenStack's clients claimed until then
    for generation in sorted(granted):
        purpose, amount, is_over = granted[generation]
        gaps += generation - before - 1
        before = generation
        used += amount
        least = used + sum(sorted(foreign)[:gaps])
        most = used + sum(sorted(foreign, reverse=True)[:gaps])
        limit = round_.normal(host)
        assert purpose != "normal" or least <= limit and not is_over, (
            f"a claim went over the normal limit: {amount} as generation {generation} of {host}, {least} are used of {limit}")
        assert not is_over or most > limit, f"{most} of {limit} are used, and an answer says that it is over the limit"
        assert is_over or purpose != "place" or least <= limit, (
            f"{least} of {limit} are used, and an answer does not say that it is over the limit")


def run_round(seed, number, services):
    round_ = Round(seed, number)
    print(f"limits, round {number}: {round_}", flush=True)
    round_.prepare(services)
    answers = race(round_, services)
    ledger = Ledger(services[0].database)
    for at, (consumer, purpose, amount, host) in enumerate(round_.calls):
        answer = answers[at]
        if answer.status in (200, 204):
            continue
        assert answer.status == 409, f"a claim for {purpose} was answered with {answer}"
        held = sum(ledger.holders(host).values())
        limit = round_.normal(host) if purpose == "normal" else round_.total[host]
        assert held + amount > limit, f"{amount} for {purpose} were refused, and {held} of {limit} are used on {host}"
    for host in round_.total:
        there = ledger.holders(host)
        expected = {consumer: amount for at, (consumer, _, amount, wanted) in enumerate(round_.calls)
                    if wanted == host and answers[at].status in (200, 204)}
        assert there == expected, f"{host} is held by {there}, and the answers say {expected}"
        check_order(round_, host, answers)
    assert ledger.faults() + ledger.gaps() == [], ledger.faults() + ledger.gaps()
