"""A host that is claimed from, and how often a process has read everything again."""

from functional_tests.lib.test_counts import Skipped

HOST = "00000000-0000-4000-8000-000000000001"
SEARCH = "/allocation_candidates?resources=VCPU:1"


def needs_server(database):
    if database.engine == "sqlite":
        raise Skipped("SQLite is served by one process, over no connection that could be cut")


def reloads(service):
    """How often the process has read everything again, by its log."""
    return (service.folder / "log").read_text(errors="replace").count("The snapshot was reloaded")


def claim(rest, number, amount=1):
    return rest("PUT", f"/allocations/00000000-0000-4000-8000-{number:012d}", {
        "allocations": {HOST: {"resources": {"VCPU": amount}}}, "project_id": "p", "user_id": "u",
        "consumer_generation": None, "consumer_type": "VM"})


def used(rest):
    """What the process shows from its memory."""
    found = rest.must("GET", SEARCH).json
    return found["provider_summaries"][HOST]["resources"]["VCPU"]["used"]


def add_host(rest):
    rest.must("POST", "/resource_providers", {"name": "host", "uuid": HOST})
    rest.must("PUT", f"/resource_providers/{HOST}/inventories", {
        "resource_provider_generation": 0, "inventories": {"VCPU": {"total": 1000}}})
