"""The race of two simultaneous placements of workloads through two processes, with a rule between the workloads.

In half of the pairs both workloads name each other, in the other half only one has the rule. Each pair is placed and
emptied several times. Afterwards no fault domain, or no host, holds replicas of both.
"""

import random
import threading

from functional_tests.lib.ledger import Ledger
from functional_tests.lib.patience import HANG_SECONDS
from functional_tests.lib.rest import Rest
from functional_tests.race.workloads import new_uuid

HOSTS, DOMAINS, ROOM, PAIRS = 8, 4, 4, 4
PLACES = (
    "SELECT r.workload, p.uuid FROM placet_replicas r JOIN allocations a ON a.consumer_id = r.consumer_id"
    " JOIN resource_providers p ON p.id = a.resource_provider_id")


class Pair:
    """Two workloads with a rule between them."""

    def __init__(self, chance, number):
        self.uuids = [new_uuid(chance), new_uuid(chance)]
        self.dimension = chance.choice(("fault", "host"))
        self.is_mutual = number % 2 == 0
        self.generations = [None, None]

    def rules(self, member):
        """Those of the first one are without the second, which does not exist yet, until both are there."""
        if member == 0 and (not self.is_mutual or self.generations[1] is None):
            return []
        return [{"rule": "apart", "workload": self.uuids[1 - member], "dimension": self.dimension}]


class Round:
    def __init__(self, seed, number):
        chance = random.Random(f"{seed}/neighbours/{number}")
        self.number, self.pairs = number, [Pair(chance, n) for n in range(PAIRS)]
        self.hosts = {new_uuid(chance): f"fd:/near-{number}-{at % DOMAINS}" for at in range(HOSTS)}

    def prepare(self, rest):
        described = []
        for host, domain in self.hosts.items():
            rest.must("POST", "/resource_providers", {"name": host, "uuid": host})
            rest.must("PUT", f"/resource_providers/{host}/inventories",
                      {"resource_provider_generation": 0, "inventories": {"VCPU": {"total": ROOM}}})
            described.append({"uuid": host, "generation": None, "properties": {"NearRound": self.number},
                              "domains": {"fault": domain}})
        rest.must("PUT", "/v1/providers", {"providers": described})
        for pair in self.pairs:
            for member in range(2):
                self.put(rest, pair, member, 0)

    def put(self, rest, pair, member, count):
        query = {"resources": "VCPU:1", "where": f"NearRound == {self.number}"}
        answer = rest("PUT", f"/v1/workloads/{pair.uuids[member]}", {
            "generation": pair.generations[member], "name": pair.uuids[member], "project_id": "race", "user_id": "race",
            "roles": [{"name": "member", "count": count, "query": query}], "rules": pair.rules(member), "atomic": False})
        assert answer.status == 200, f"a PUT of a workload was answered with {answer}"
        assert answer.json["violations"] == [], f"a rule was broken by a placement: {answer}"
        pair.generations[member] = answer.json["generation"]


def place_at_once(round_, services, chance):
    """Places both of each pair at the same moment, through different processes."""
    start, wrong = threading.Barrier(2 * PAIRS), []
    counts = [chance.randint(1, 2) for _ in range(2 * PAIRS)]

    def owner(at):
        try:
            rest = Rest(services[at % len(services)].port)
            start.wait()
            round_.put(rest, round_.pairs[at // 2], at % 2, counts[at])
        except Exception as error:  # the race reports it
            wrong.append(repr(error))

    threads = [threading.Thread(target=owner, args=(at,)) for at in range(2 * PAIRS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(HANG_SECONDS)
        assert not thread.is_alive(), "an owner is still waiting for an answer"
    assert not wrong, "\n".join(wrong)


def check(round_, services):
    places = {}
    for workload, host in Ledger(services[0].database).query(PLACES):
        places.setdefault(workload, set()).add(host)
    for pair in round_.pairs:
        names = [{host if pair.dimension == "host" else round_.hosts[host] for host in places.get(uuid, ())}
                 for uuid in pair.uuids]
        assert names[0].isdisjoint(names[1]), (
            f"a rule was broken by a placement: both of {pair.uuids} are in {names[0] & names[1]}, and are apart by "
            f"{pair.dimension}")
    for service in services:
        for pair in round_.pairs:
            for uuid in pair.uuids:
                shown = Rest(service.port).must("GET", f"/v1/workloads/{uuid}").json
                assert shown["violations"] == [], f"a rule was broken by a placement: {shown}"
                assert {it["host"] for it in shown["replicas"]} - {None} == places.get(uuid, set()), shown


def run_round(seed, number, services, times):
    round_ = Round(seed, number)
    print(f"neighbours, round {number}: {PAIRS} pairs on {HOSTS} hosts, {times} times", flush=True)
    round_.prepare(Rest(services[0].port))
    chance = random.Random(f"{seed}/neighbours/{number}/counts")
    for _ in range(times):
        place_at_once(round_, services, chance)
        check(round_, services)
        for pair in round_.pairs:
            for member in range(2):
                round_.put(Rest(services[0].port), pair, member, 0)
    ledger = Ledger(services[0].database)
    assert ledger.faults() + ledger.gaps() == [], ledger.faults() + ledger.gaps()
