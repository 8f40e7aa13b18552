"""What is really there: in the tables, and in the answers of a process that had no part in it."""

import time

from functional_tests.commit_outcome.expected_state import TOTALS
from functional_tests.lib.ledger import Ledger

ROWS = ("SELECT c.uuid, c.generation, p.uuid, a.used FROM consumers c"
        " LEFT JOIN allocations a ON a.consumer_id = c.uuid LEFT JOIN resource_providers p ON p.id = a.resource_provider_id")
GENERATIONS = "SELECT uuid, generation FROM resource_providers"
WAIT_SECONDS = 15


def wait_for(what, holds, seconds=WAIT_SECONDS):
    """Until it holds; of several tries the last one's error is told."""
    deadline = time.monotonic() + seconds
    while True:
        try:
            return holds()
        except Exception:  # an assertion, or what a driver or a socket says while the server comes back
            if time.monotonic() > deadline:
                print(f"        not within {seconds} s: {what}", flush=True)
                raise
        time.sleep(0.05)


def tables(database):
    """What every consumer holds with its generation, and the providers' generations. Broken promises are raised."""
    ledger = Ledger(database)
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
    """The tables are as they must be, row by row."""
    consumers, generations = tables(database)
    for consumer in expected.consumers.keys() | consumers.keys():
        must, found = expected.consumers.get(consumer), consumers.get(consumer)
        assert must == found, f"{consumer} must hold {must} by what was answered, and its rows say {found}"
    assert generations == expected.generations, f"providers' generations are {generations}, not {expected.generations}"


def check_answers(expected, rest, consumers):
    """A process answers what the tables hold: of these consumers, and of every provider, searched for too."""
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
        assert found == must, f"{rest.port} shows {name} used {found}, the tables {must}"
    for provider, generation in expected.generations.items():
        answer = rest.must("GET", f"/resource_providers/{provider}/usages").json
        found = (answer["resource_provider_generation"], sum(answer["usages"].values()))
        assert found == (generation, used[provider]), f"{rest.port} shows {found} of {provider}"
