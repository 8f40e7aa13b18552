"""Quiescent checks: invariants of the tables and of every process's answers while no request is in flight."""

import collections
import json

from functional_tests.chaos import topology
from functional_tests.chaos.checker import Violation
from functional_tests.chaos.history import OK, UNKNOWN
from functional_tests.lib.ledger import Ledger
from functional_tests.lib.patience import eventually

ROWS = (
    "SELECT c.uuid, c.generation, p.uuid, r.name, a.used FROM consumers c"
    " LEFT JOIN allocations a ON a.consumer_id = c.uuid LEFT JOIN resource_providers p ON p.id = a.resource_provider_id"
    " LEFT JOIN resource_classes r ON r.id = a.resource_class_id")
GENERATIONS = "SELECT uuid, generation FROM resource_providers"
WORKLOADS = "SELECT uuid, generation FROM placet_workloads"
ALONE = "SELECT consumer_id FROM placet_replicas WHERE workload NOT IN (SELECT uuid FROM placet_workloads)"
PLACES = (
    "SELECT w.uuid, w.body, r.replica, d.body FROM placet_workloads w JOIN placet_replicas r ON r.workload = w.uuid"
    " JOIN allocations a ON a.consumer_id = r.consumer_id"
    " JOIN placet_descriptions d ON d.resource_provider_id = a.resource_provider_id")
ON_ONE_HOST = (
    "SELECT r.workload, a.resource_provider_id, COUNT(*) FROM placet_replicas r JOIN allocations a"
    " ON a.consumer_id = r.consumer_id GROUP BY r.workload, a.resource_provider_id HAVING COUNT(*) > 1")
QUIESCENT_SECONDS = 0.5  # in which the tables stay the same


class QuiescentState:
    """The tables at rest: the allocations and generation of each consumer, and the providers' generations."""

    def __init__(self, database, quiescent_seconds=QUIESCENT_SECONDS):
        self.ledger = Ledger(database)
        # A dead process's statements may still be in flight.
        found = [None]

        def is_at_rest():
            found.append(self._read())
            return found[-1] == found.pop(0)

        eventually("the tables stop changing", is_at_rest, quiescent_seconds)
        [(self.consumers, self.generations)] = found
        # A row without allocations is not a consumer. OpenStack Placement leaves such rows; for placet it is a fault.
        self.consumers = {consumer: state for consumer, state in self.consumers.items() if state[0]}

    def _read(self):
        consumers = {}
        for consumer, generation, provider, name, used in self.ledger.query(ROWS):
            holds, _ = consumers.setdefault(consumer, ({}, generation))
            if provider:
                holds.setdefault(provider, {})[name] = used
        return consumers, dict(self.ledger.query(GENERATIONS))

    def record(self, history, asked):
        """Records the tables' state of all providers and of the consumers in requests, as reads in the history."""
        sees = {f"provider:{provider}": self.generations[provider] for provider in topology.PROVIDERS}
        history.begin("tables", sees=sees).end(OK)
        for consumer in asked:
            history.begin("tables", sees={f"consumer:{consumer}": self.consumers.get(consumer, ({}, None))}).end(OK)

    def used(self):
        """Provider -> class -> the sum of all allocations."""
        sums = {provider: {} for provider in topology.PROVIDERS}
        for holds, _ in self.consumers.values():
            for provider, amounts in holds.items():
                for name, amount in amounts.items():
                    sums.setdefault(provider, {}).setdefault(name, 0)
                    sums[provider][name] += amount
        return sums

    def faults(self, server, known):
        """Violated invariants of the tables. `known` are providers whose oversubscription was reported before."""
        found = []
        for fault in self.ledger.faults():
            if fault[0] == "oversubscribed":
                large = fault[1] in topology.ELASTIC and fault[2] <= topology.LARGE_ELASTIC_TOTAL
                if not large and fault[1] not in known:
                    found.append(Violation("oversubscribed", fault[1], f"in the tables: {fault}"))
            elif server == "placet" or fault[0] != "no allocations":
                found.append(Violation("orphan", fault[1], f"in the tables: {fault}"))
        return found

    def workload_faults(self, owners):
        """Broken rules, replicas without a workload, and workloads that are not what their last answer says."""
        if not owners:
            return []
        found = [Violation("broken rule", workload, f"{count} replicas of workload {workload} are on one host")
                 for workload, _, count in self.ledger.query(ON_ONE_HOST)]
        found += [Violation("broken rule", workload, text) for workload, text in in_one_domain(self.ledger.query(PLACES))]
        found += [Violation("orphan", consumer, f"replica {consumer} has no workload")
                  for (consumer,) in self.ledger.query(ALONE)]
        there = dict(self.ledger.query(WORKLOADS))
        answered = [it for owner in owners for it in owner.workloads if not it.was_unknown and it.generation != UNKNOWN]
        return found + [Violation("no order", it.uuid, (
            f"workload {it.uuid} has generation {there.get(it.uuid)} in the tables, and was answered as {it.generation}"))
            for it in answered if there.get(it.uuid) != it.generation]

    def answers(self, member, asked):
        """Differences between a process's answers and the tables, for all providers and these consumers."""
        found, used = [], self.used()
        for consumer in asked:
            answer = member.rest.must("GET", f"/allocations/{consumer}").json
            holds = {provider: it["resources"] for provider, it in answer["allocations"].items()}
            shown = holds, answer.get("consumer_generation")
            if shown != self.consumers.get(consumer, ({}, None)):
                found.append(f"{shown} of consumer {consumer}, in the tables is {self.consumers.get(consumer)}")
        for provider in topology.PROVIDERS:
            path = f"/resource_providers/{provider}"
            shown = member.rest.must("GET", f"{path}/usages").json["usages"]
            expected = {name: used[provider].get(name, 0) for name in shown}
            if shown != expected:
                found.append(f"usages {shown} of {provider}, in the tables are {expected}")
            shown = member.rest.must("GET", path).json["generation"]
            if shown != self.generations[provider]:
                found.append(f"generation {shown} of {provider}, in the tables is {self.generations[provider]}")
        return [Violation("answers differ", None, f"{member.port} shows {what}") for what in found]

    def snapshot(self, member):
        """Differences between a process's snapshot and the tables."""
        found, listed, used = [], set(), self.used()
        for name in ("VCPU", "DISK_GB"):
            answer = member.rest.must("GET", f"/allocation_candidates?resources={name}:1").json
            for provider, summary in answer["provider_summaries"].items():
                shown = summary["resources"].get(name, {}).get("used")
                listed.add(provider)
                if provider in topology.TOTALS and shown is not None and shown != used[provider].get(name, 0):
                    there = used[provider].get(name, 0)
                    found.append(f"{provider} with {shown} {name} used, in the tables are {there}")
        for row in member.rest.must("GET", "/resource_providers").json["resource_providers"]:
            if row["generation"] != self.generations[row["uuid"]]:
                found.append(f"{row['uuid']} with generation {row['generation']}, in the tables is "
                             f"{self.generations[row['uuid']]}")
        # The current totals of elastic hosts are not known here.
        free = {provider for provider, totals in topology.TOTALS.items()
                if provider not in topology.ELASTIC and sum(used[provider].values()) < sum(totals.values())}
        if free - listed:
            found.append(f"nothing of {sorted(free - listed)}, which have free capacity")
        return [Violation("answers differ", None, f"{member.port} offers {what}") for what in found]


def in_one_domain(rows):
    """Domains that hold several replicas of a workload which has one in each at most, as (workload, text).

    A row is a workload's uuid and body, the id of a replica, and the body of its host's description.
    """
    held = collections.defaultdict(set)
    for workload, body, replica, description in rows:
        domains = json.loads(description)["domains"]
        for rule in json.loads(body)["rules"] or []:
            if rule["rule"] == "spread" and rule.get("mode") == "one-each":
                for dimension in rule["dimensions"]:
                    if dimension in domains:
                        held[workload, dimension, domains[dimension]].add(replica)
    return [(workload, f"replicas {sorted(replicas)} of workload {workload} are in one domain, {dimension}:{path}")
            for (workload, dimension, path), replicas in held.items() if len(replicas) > 1]
