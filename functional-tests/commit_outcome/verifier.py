"""Compares the expected state with the tables and with the answers of a process."""

import time

from functional_tests.commit_outcome.expected_state import TOTALS
from functional_tests.lib.ledger import Ledger

ROWS = ("SELECT c.uuid, c.generation, p.uuid, a.used FROM consumers c"
        " LEFT JOIN allocations a ON a.consumer_id = c.uuid"
        " LEFT JOIN resource_providers p ON p.id = a.resource_provider_id")
GENERATIONS = "SELECT uuid, generation FROM resource_providers"
WAIT_SECONDS = 15


def wait_for(what, holds, seconds=WAIT_SECONDS):
    """Calls `holds` until it does not raise, and returns its result. After the timeout the last error is raised."""
    deadline = time.monotonic() + seconds
    while True:
        try:
            return holds()
        except Exception:  # an assertion, or the error of a driver or a socket while the server restarts
            if time.monotonic() > deadline:
                print(f"        not within {seconds} s: {what}", flush=True)
                raise
        time.sleep(0.05)


def tables(database):
    """The consumers' allocations and generations, and the providers' generations. Raises on a violated invariant."""
    ledger = Ledger(database)
    if database.engine == "mariadb":
        # A node of Galera may apply a commit after another node has acknowledged it. The read waits for all of these.
        ledger.connection.execute("SET SESSION wsrep_sync_wait = 1")
    try:
        faults = ledger.faults() + ledger.gaps()
        assert not faults, f"in the tables: {faults}"
        consumers = {}
        for consumer, generation, provider, used in ledger.query(ROWS):
            consumers.setdefault(consumer, ({}, generation))[0][provider] = used
        return consumers, dict(ledger.query(GENERATIONS))
    finally:
        ledger.connection.close()


def check_tables(expected, database):
    """Compares the tables with the expected state, row by row."""
    consumers, generations = tables(database)
    for consumer in expected.consumers.keys() | consumers.keys():
        must, found = expected.consumers.get(consumer), consumers.get(consumer)
        assert must == found, f"{consumer} must hold {must} according to the answers, but its rows are {found}"
    assert generations == expected.generations, f"the generations are {generations}, not {expected.generations}"


def check_answers(expected, rest, consumers):
    """Compares a process's answers, searches included, with the expected state of these consumers and all providers."""
    for consumer in consumers:
        answer = rest.must("GET", f"/allocations/{consumer}").json
        holds = {p: sum(it["resources"].values()) for p, it in answer["allocations"].items()}
        found = (holds, answer["consumer_generation"]) if holds else None
        assert found == expected.consumers.get(consumer), f"{rest.port} shows {found} of {consumer}"
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
