"""The race of workloads, claims and OpenStack's own clients for the room of the same hosts, through several processes.

Owners change workloads with rules: more and fewer replicas, new ids, adopted consumers, deletion, and two owners share
one workload. Callers claim by query (`POST /v1/claims`), and clients of OpenStack's routes claim on named hosts. Both
release again, and clients of OpenStack's routes take the allocations of replicas away. The processes place pending
replicas again every second. `workload_rules.py` judges the tables and the answers of every process afterwards.
"""

import random
import threading
import uuid
from typing import NamedTuple

from functional_tests.lib.ledger import Ledger
from functional_tests.lib.patience import HANG_SECONDS
from functional_tests.lib.rest import Rest
from functional_tests.race import workload_rules

OWNERS, CALLERS, OTHERS = 4, 2, 2
SITES, RACKS, HOSTS, UPGRADES, ROOM = 3, 2, 2, 3, 6
MOST_REPLICAS = 6
MOST_REPETITIONS = 10  # of a PUT, until nothing more gets a place
RULES = {
    "one-each": [{"rule": "spread", "dimensions": ["fault"], "mode": "one-each"}],
    "even": [{"rule": "spread", "dimensions": ["fault", "upgrade"], "mode": "max-difference"}],
    "free": [],
    "default": None}
# Without a release, and so without a rule that is broken because a replica left.
GROWING = ("even",)
# Adopted consumers stand where they stood.
ADOPTING = ("free", "default")


class Host(NamedTuple):
    uuid: str
    site: str
    rack: str
    upgrade: str


class Workload:
    """A workload, and what its last answer said. A shared one is also changed by another owner."""

    def __init__(self, identity, kind, amount, is_shared=False):
        self.uuid, self.kind, self.amount, self.is_shared = identity, kind, amount, is_shared
        self.answer = None  # of the last change; None if there is no workload
        self.count = 0

    def body(self, round_, generation, count, more):
        resources = {"resources": f"VCPU:{self.amount}", "where": f"RaceRound == {round_.number}"}
        rules = {} if RULES[self.kind] is None else {"rules": RULES[self.kind]}
        return {"generation": generation, "name": self.uuid, "project_id": "race", "user_id": "race",
                "roles": [{"name": "member", "count": count, "query": resources}]} | rules | more


class Round:
    def __init__(self, seed, number, steps):
        self.number, self.steps, self.seed = number, steps, f"{seed}/workloads/{number}"
        self.chance = random.Random(self.seed)
        self.hosts = []
        for at in range(SITES * RACKS * HOSTS):
            site = f"fd:/{number}-{at // (RACKS * HOSTS)}"
            rack, upgrade = f"{site}/{at // HOSTS % RACKS}", f"{number}-{at % UPGRADES}"
            self.hosts.append(Host(new_uuid(self.chance), site, rack, upgrade))
        kinds = [*RULES, *RULES]
        self.owned = [[Workload(new_uuid(self.chance), kinds[2 * owner + n], self.chance.randint(1, 2)) for n in range(2)]
                      for owner in range(OWNERS)]
        self.shared = Workload(new_uuid(self.chance), "one-each", 1, is_shared=True)
        self.held = {}  # consumer -> {host: VCPU} of callers and others, as answered
        self.taken_away = set()  # consumers of replicas whose allocations another client deleted
        self.asked_away = set()  # the same, from before the request that deletes them
        self.wrong = []

    def __str__(self):
        return (f"{OWNERS} owners of {2 * OWNERS + 1} workloads, {CALLERS} callers and {OTHERS} of OpenStack's clients on "
                f"{len(self.hosts)} hosts with {ROOM} each, {self.steps} steps")

    def workloads(self):
        return [workload for owned in self.owned for workload in owned] + [self.shared]

    def prepare(self, rest):
        described = []
        for host in self.hosts:
            rest.must("POST", "/resource_providers", {"name": host.uuid, "uuid": host.uuid})
            rest.must("PUT", f"/resource_providers/{host.uuid}/inventories",
                      {"resource_provider_generation": 0, "inventories": {"VCPU": {"total": ROOM}}})
            described.append({"uuid": host.uuid, "generation": None, "properties": {"RaceRound": self.number},
                              "domains": {"fault": host.rack, "upgrade": host.upgrade}})
        rest.must("PUT", "/v1/providers", {"providers": described})


def new_uuid(chance):
    return str(uuid.UUID(int=chance.getrandbits(128), version=4))


class Client:
    """A client with a seed of its own, each of whose requests goes through another process."""

    def __init__(self, round_, name, services):
        self.round, self.services, self.chance = round_, services, random.Random(f"{round_.seed}/{name}")
        self.own = []  # consumers

    def rest(self):
        return Rest(self.chance.choice(self.services).port)

    def run(self):
        try:
            for _ in range(self.round.steps):
                self.step()
        except Exception as error:  # the race reports it
            self.round.wrong.append(repr(error))

    def answered(self, what, answer, *codes):
        """Whether the request was granted. Only these codes may refuse it."""
        if answer.status in (200, 204):
            return True
        if answer.status != 409 or answer.code not in codes:
            self.round.wrong.append(f"{what} was answered with {answer}")
        return False

    def release(self):
        consumer = self.own.pop(self.chance.randrange(len(self.own)))
        if self.answered("a release", self.rest()("DELETE", f"/allocations/{consumer}")):
            self.round.held.pop(consumer)


class Caller(Client):
    def step(self):
        if self.own and self.chance.random() < 0.5:
            return self.release()
        consumers = [new_uuid(self.chance) for _ in range(self.chance.randint(1, 2))]
        query = {"resources": f"VCPU:{self.chance.randint(1, 2)}", "where": f"RaceRound == {self.round.number}"}
        answer = self.rest()("POST", "/v1/claims", {"consumers": [
            {"uuid": it, "project_id": "race", "user_id": "race", "type": "CALLER", "query": query} for it in consumers]})
        if self.answered("a call", answer, "placet.claim_refused"):
            for found in answer.json["consumers"]:
                self.own.append(found["uuid"])
                self.round.held[found["uuid"]] = {
                    host: share["resources"]["VCPU"] for host, share in found["allocations"].items()}


class Other(Client):
    """A client of OpenStack's routes."""

    def step(self):
        if self.own and self.chance.random() < 0.4:
            return self.release()
        if self.chance.random() < 0.3:
            return self.take_away()
        consumer, host = new_uuid(self.chance), self.chance.choice(self.round.hosts).uuid
        if claim(self, consumer, host, self.chance.randint(1, 3)):
            self.own.append(consumer)

    def take_away(self):
        """Deletes the allocations of a replica, which is pending then."""
        some = self.chance.choice([it for it in self.round.workloads() if it.kind not in GROWING and not it.is_shared])
        placed = [it for it in (some.answer or {"replicas": []})["replicas"] if it["state"] == "placed"]
        if placed:
            consumer = self.chance.choice(placed)["consumer"]
            self.round.asked_away.add(consumer)
            answer = self.rest()("DELETE", f"/allocations/{consumer}")
            if answer.status == 204:
                self.round.taken_away.add(consumer)
            elif answer.status != 404:
                self.round.wrong.append(f"DELETE of a replica's allocations was answered with {answer}")


def claim(client, consumer, host, amount):
    answer = client.rest()("PUT", f"/allocations/{consumer}", {
        "allocations": {host: {"resources": {"VCPU": amount}}}, "project_id": "race", "user_id": "race",
        "consumer_generation": None, "consumer_type": "SERVER"})
    is_granted = client.answered("PUT /allocations", answer, "placement.undefined_code")
    if is_granted:
        client.round.held[consumer] = {host: amount}
    return is_granted


class Owner(Client):
    def __init__(self, round_, number, services):
        super().__init__(round_, f"owner {number}", services)
        self.workloads = round_.owned[number]

    def step(self):
        if self.chance.random() < 0.2:
            return self.change_shared()
        workload = self.chance.choice(self.workloads)
        if workload.answer and workload.kind not in GROWING and self.chance.random() < 0.15:
            return self.delete(workload)
        least = workload.count if workload.kind in GROWING else 0
        more = {"atomic": self.chance.random() < 0.6}
        count = self.chance.randint(least, max(least, MOST_REPLICAS))
        if workload.kind in ADOPTING and self.chance.random() < 0.2:
            more["adopt"] = self.adopted()
            count = max(count, workload.count + len(more["adopt"]))
        self.put(workload, count, more)

    def adopted(self):
        consumer = new_uuid(self.chance)
        host = self.chance.choice(self.round.hosts).uuid
        return [{"consumer": consumer}] if claim(self, consumer, host, 1) else []

    def put(self, workload, count, more):
        generation = workload.answer and workload.answer["generation"]
        answer = self.rest()("PUT", f"/v1/workloads/{workload.uuid}", workload.body(self.round, generation, count, more))
        if workload.answer and is_stale(answer):
            return self.read_again(workload)
        if self.answered("a PUT of a workload", answer, "placet.no_place", "placet.no_capacity"):
            self.round.wrong += workload_rules.broken_by_answer(workload, answer.json, count, more["atomic"])
            workload.answer, workload.count = answer.json, count
            # One that was taken away gets a new place, which it keeps when it leaves.
            self.round.held |= {it["consumer"]: {host: share["resources"]["VCPU"] for host, share in it["allocations"].items()}
                                for it in answer.json["replicas"] if it["adopted"] and it["state"] == "placed"}

    def delete(self, workload):
        path = f"/v1/workloads/{workload.uuid}?generation={workload.answer['generation']}"
        answer = self.rest()("DELETE", path)
        if is_stale(answer):
            return self.read_again(workload)
        if self.answered("a DELETE of a workload", answer):
            workload.answer, workload.count = None, 0

    def read_again(self, workload):
        """Reads a workload that was refused as stale: a process must have placed replicas that lacked a place."""
        before, asked_away = workload.answer, self.round.asked_away.copy()
        answer = self.rest().must("GET", f"/v1/workloads/{workload.uuid}").json
        had = {it["consumer"] for it in before["replicas"] if it["state"] == "placed"} - asked_away
        has = {it["consumer"] for it in answer["replicas"] if it["state"] == "placed"}
        # A replica that was placed may have lost its place again to a caller.
        lost = {it["consumer"] for it in before["replicas"]} & self.round.asked_away - has
        if answer["generation"] <= before["generation"] or not (has - had or lost):
            self.round.wrong.append(f"stale, but nothing was placed: {before} is now {answer}")
        self.round.wrong += workload_rules.broken_by_answer(workload, answer, workload.count, is_atomic=False)
        workload.answer = answer

    def settle(self, workload):
        """Asks for the same until nothing more gets a place. After that the processes have nothing to place either."""
        for _ in range(MOST_REPETITIONS):
            before = workload.answer
            if before is None:
                return
            self.put(workload, workload.count, {"atomic": False})
            if workload.answer["generation"] == before["generation"]:
                return
        self.round.wrong.append(f"replicas still get places after {MOST_REPETITIONS} requests: {workload.answer}")

    def change_shared(self):
        """Another owner may be first."""
        shared, rest = self.round.shared, self.rest()
        found = rest("GET", f"/v1/workloads/{shared.uuid}")
        generation = found.json["generation"] if found.status == 200 else None
        body = shared.body(self.round, generation, self.chance.randint(0, SITES), {})
        self.answered("a PUT of the shared workload", rest("PUT", f"/v1/workloads/{shared.uuid}", body),
                      "placet.no_place", "placet.no_capacity", "placement.concurrent_update")


def is_stale(answer):
    return answer.status == 409 and answer.code == "placement.concurrent_update"


def run_round(seed, number, services, steps):
    round_ = Round(seed, number, steps)
    print(f"workloads, round {number}: {round_}", flush=True)
    round_.prepare(Rest(services[0].port))
    clients = [*(Owner(round_, n, services) for n in range(OWNERS)),
               *(Caller(round_, f"caller {n}", services) for n in range(CALLERS)),
               *(Other(round_, f"other {n}", services) for n in range(OTHERS))]
    threads = [threading.Thread(target=client.run) for client in clients]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(HANG_SECONDS)
        assert not thread.is_alive(), "a client is still waiting for an answer"
    for owner in clients[:OWNERS]:
        for workload in owner.workloads:
            owner.settle(workload)
    assert not round_.wrong, "\n".join(round_.wrong[:5])
    faults = workload_rules.Tables(Ledger(services[0].database), round_).faults()
    assert not faults, "\n".join(faults[:5])
    faults = workload_rules.differing_answers(round_, services)
    assert not faults, "\n".join(faults[:5])
