"""Compares the expected state with the tables and with the answers of a process."""

from functional_tests.commit_outcome.expected_state import TOTALS
from functional_tests.lib.ledger import Ledger

ROWS = ("SELECT c.uuid, c.generation, p.uuid, a.used FROM consumers c"
        " LEFT JOIN allocations a ON a.consumer_id = c.uuid"
        " LEFT JOIN resource_providers p ON p.id = a.resource_provider_id")
GENERATIONS = "SELECT uuid, generation FROM resource_providers"
WORKLOADS = ("SELECT w.uuid, w.generation, r.consumer_id FROM placet_workloads w"
             " LEFT JOIN placet_replicas r ON r.workload = w.uuid")
ALONE = "SELECT consumer_id FROM placet_replicas WHERE workload NOT IN (SELECT uuid FROM placet_workloads)"


def tables(database):
    """The consumers' allocations and generations, the providers' generations, and the workloads with the consumers of
    their replicas. Raises on a violated invariant."""
    ledger = Ledger(database)
    try:
        faults = ledger.faults() + ledger.gaps()
        assert not faults, f"in the tables: {faults}"
        consumers = {}
        for consumer, generation, provider, used in ledger.query(ROWS):
            consumers.setdefault(consumer, ({}, generation))[0][provider] = used
        workloads = {}
        for workload, generation, consumer in ledger.query(WORKLOADS):
            _, replicas = workloads.get(workload, (generation, frozenset()))
            workloads[workload] = generation, replicas | ({consumer} if consumer else set())
        alone = ledger.query(ALONE)
        assert not alone, f"replicas without a workload: {alone}"
        return consumers, dict(ledger.query(GENERATIONS)), workloads
    finally:
        ledger.connection.close()


def check_tables(expected, database):
    """Compares the tables with the expected state, row by row."""
    consumers, generations, workloads = tables(database)
    for consumer in expected.consumers.keys() | consumers.keys():
        must, found = expected.consumers.get(consumer), consumers.get(consumer)
        assert must == found, f"{consumer} must hold {must} according to the answers, but its rows are {found}"
    for workload in expected.workloads.keys() | workloads.keys():
        must, found = expected.workloads.get(workload), workloads.get(workload)
        assert must == found, f"workload {workload} must be {must} according to the answers, but its rows are {found}"
    assert generations == expected.generations, f"the generations are {generations}, not {expected.generations}"


def check_answers(expected, rest, consumers):
    """Compares a process's answers, searches included, with the expected state of these consumers and all providers."""
    for consumer in consumers:
        answer = rest.must("GET", f"/allocations/{consumer}").json
        holds = {p: sum(it["resources"].values()) for p, it in answer["allocations"].items()}
        found = (holds, answer["consumer_generation"]) if holds else None
        assert found == expected.consumers.get(consumer), f"{rest.port} shows {found} of {consumer}"
        if workload := expected.workload_of.get(consumer):
            answer = rest("GET", f"/v1/workloads/{workload}")
            found = answer.status == 200 and answer.json
            shown = (found["generation"], frozenset(it["consumer"] for it in found["replicas"])) if found else None
            assert shown == expected.workloads.get(workload), f"{rest.port} shows {answer} of workload {workload}"
    used = expected.used()
    for name in ("VCPU", "DISK_GB"):
        summaries = rest.must("GET", f"/allocation_candidates?resources={name}:1").json["provider_summaries"]
        found = {p: it["resources"][name]["used"] for p, it in summaries.items()}
        must = {p: used[p] for p, (its, _) in TOTALS.items() if its == name}
        assert found == must, f"{rest.port} shows {name} used {found}, expected are {must}"
    for provider, generation in expected.generations.items():
        answer = rest.must("GET", f"/resource_providers/{provider}/usages").json
        found = (answer["resource_provider_generation"], sum(answer["usages"].values()))
        assert found == (generation, used[provider]), f"{rest.port} shows {found} of {provider}"
