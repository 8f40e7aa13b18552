"""The race of a normal limit: 64 schedulers claim through several processes. Some schedulers may exceed the limit.

Each granted claim raises the generation of its provider by one, and the answer has the generation. So the answers show
the order of the claims. A claim for the purpose `normal` was within the limit on arrival, with all simultaneous grants
of peers. A claim for `place` was within the capacity, and the answer says whether the claim was over the limit. Clients
of OpenStack's routes claim too, and know the capacity alone. Workloads with one replica go over the limit if there is
no further room, and say so; their answers have no generations.

All granted claims without a word about the limit fit within the limit together: each did on arrival.
"""

import random
import threading
import uuid

from functional_tests.lib.ledger import Ledger
from functional_tests.lib.patience import HANG_SECONDS
from functional_tests.lib.rest import Rest

SCHEDULERS = 64
PURPOSES = [("normal",), ("normal", "place", "openstack"), ("workload", "openstack"), ("workload", "normal")]


class Round:
    def __init__(self, seed, number):
        chance = random.Random(f"{seed}/limits/{number}")

        def new_uuid():
            return str(uuid.UUID(int=chance.getrandbits(128), version=4))

        self.resource_class = f"CUSTOM_LIMITED_{number}"
        self.total = {new_uuid(): chance.randint(5, 30) for _ in range(chance.randint(1, 3))}
        self.buffer = chance.randint(10, 60)  # in percent
        purposes = PURPOSES[number % len(PURPOSES)]
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
        if purpose == "workload":
            query = f"resources={self.resource_class}:{amount}&in_tree={host}"
            return rest("PUT", f"/v1/workloads/{consumer}", {
                "generation": None, "name": consumer, "project_id": "race", "user_id": "race", "atomic": False, "rules": [],
                "roles": [{"name": "member", "count": 1, "query": query}]})
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
        thread.join(HANG_SECONDS)
    assert len(answers) == SCHEDULERS, f"only {len(answers)} schedulers were answered"
    return answers


class Outcome:
    """What the answer to a call says: the consumer that got a place, if any, and whether it is over the limit."""

    def __init__(self, call, answer):
        consumer, self.purpose, self.amount, self.host = call
        self.consumer, self.says_over, self.generation = None, False, None
        if self.purpose == "workload":
            assert answer.status == 200, f"a PUT of a workload was answered with {answer}"
            [replica] = answer.json["replicas"]
            self.consumer = replica["consumer"] if replica["state"] == "placed" else None
            self.says_over = bool(replica.get("over_normal"))
            return
        assert answer.status in (200, 204, 409), f"a claim for {self.purpose} was answered with {answer}"
        if answer.status != 409:
            self.consumer = consumer
        if answer.status == 200:
            [found] = answer.json["consumers"]
            self.says_over = bool(found.get("over_normal"))
            self.generation = found["allocations"][self.host]["generation"]


def check_order(round_, host, outcomes):
    """Replays the calls in the order of their generations. If others claimed in between, what they took is known by
    its sum alone: it is between that of the smallest and that of the greatest of them.
    """
    limit = round_.normal(host)
    calls = sorted((it for it in outcomes if it.generation is not None), key=lambda it: it.generation)
    others = sorted(it.amount for it in outcomes if it.generation is None)
    used = gaps = 0  # `gaps` is how many others claimed until then
    for number, call in enumerate(calls):
        gaps, used = call.generation - 2 - number, used + call.amount
        least, most = used + sum(others[:gaps]), used + sum(others[len(others) - gaps:])
        assert call.purpose != "normal" or least <= limit and not call.says_over, (
            f"a claim went over the normal limit: {call.amount} as generation {call.generation} of {host}, with it at "
            f"least {least} are used of {limit}")
        assert not call.says_over or most > limit, f"at most {most} of {limit} are used, and an answer says it is over that"
        assert call.says_over or least <= limit, f"at least {least} of {limit} are used, and an answer does not say so"


def check_host(round_, host, outcomes, there):
    """`there` is what the consumers hold by the tables."""
    granted, limit = [it for it in outcomes if it.consumer], round_.normal(host)
    expected = {it.consumer: it.amount for it in granted}
    assert there == expected, f"{host} is held by {there}, and the answers say {expected}"
    held = sum(there.values())
    for refused in outcomes:
        most = limit if refused.purpose == "normal" else round_.total[host]
        assert refused.consumer or held + refused.amount > most, (
            f"{refused.amount} for {refused.purpose} were refused, and {held} of {most} are used on {host}")
    silent = sum(it.amount for it in granted if not it.says_over and it.purpose != "openstack")
    assert silent <= limit, (
        f"{silent} of {host} were granted without a word about the normal limit, and went over the normal limit of {limit}")
    check_order(round_, host, granted)


def run_round(seed, number, services):
    round_ = Round(seed, number)
    print(f"limits, round {number}: {round_}", flush=True)
    round_.prepare(services)
    answers = race(round_, services)
    ledger = Ledger(services[0].database)
    outcomes = [Outcome(call, answers[at]) for at, call in enumerate(round_.calls)]
    for host in round_.total:
        check_host(round_, host, [it for it in outcomes if it.host == host], ledger.holders(host))
    assert ledger.faults() + ledger.gaps() == [], ledger.faults() + ledger.gaps()
