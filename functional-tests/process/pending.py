"""Pending replicas get a place as soon as there is room, without a further request."""

import time

from functional_tests.lib.patience import becomes
from functional_tests.process.cases import case, check, equal, folder
from functional_tests.process.placet_process import Placet

WORKLOAD = "/v1/workloads/6f000000-0000-4000-8000-000000000001"
ROLES = [{"name": "member", "count": 3, "query": "resources=VCPU:1"}]
WISH = {"generation": None, "name": "db", "atomic": False, "project_id": "p", "user_id": "u", "roles": ROLES}


def host(number):
    return f"{number:08}-0000-4000-8000-000000000000"


def add_host(rest, number):
    rest.must("POST", "/resource_providers", {"name": f"host{number}", "uuid": host(number)})
    inventories = {"VCPU": {"total": 4}}
    rest.must("PUT", f"/resource_providers/{host(number)}/inventories",
              {"resource_provider_generation": 0, "inventories": inventories})


def placed(rest):
    return rest.must("GET", WORKLOAD).json["placed"]


def are_placed(rest, count):
    becomes("the number of placed replicas", count, lambda: placed(rest))


@case("pending replicas are placed when there is room, and again after another client deleted their allocations")
def pending_replicas_are_placed():
    with folder() as here, Placet(here, {"placet": {"pending_interval": "1"}}) as placet:
        rest = placet.rest
        add_host(rest, 1)
        equal(rest.must("PUT", WORKLOAD, WISH).json["pending"], 2)
        for number in (2, 3):
            add_host(rest, number)
            are_placed(rest, number)
        workload = rest.must("GET", WORKLOAD).json
        equal((workload["generation"], workload["pending"]), (3, 0))
        consumer = workload["replicas"][0]["consumer"]
        rest.must("DELETE", f"/allocations/{consumer}")
        are_placed(rest, 3)
        equal(len(rest.must("GET", f"/allocations/{consumer}").json["allocations"]), 1)
        lines = [line for line in placet.log().splitlines() if "Pending replicas have a place now: granted: workload " in line]
        equal(len(lines), 3, lines)
        equal(placet.rest("GET", "/health/ready").status, 200)


@case("with pending_interval 0 pending replicas wait for the next request")
def pending_replicas_wait():
    with folder() as here, Placet(here, {"placet": {"pending_interval": "0"}}) as placet:
        add_host(placet.rest, 1)
        equal(placet.rest.must("PUT", WORKLOAD, WISH).json["pending"], 2)
        add_host(placet.rest, 2)
        time.sleep(2)
        equal(placed(placet.rest), 1)
        equal(placet.rest.must("PUT", WORKLOAD, WISH | {"generation": 1}).json["placed"], 2)


@case("a workload that cannot be placed any more keeps no other one from its place")
def a_bad_workload_is_passed_over():
    with folder() as here, Placet(here, {"placet": {"pending_interval": "1"}}) as placet:
        rest = placet.rest
        add_host(rest, 1)
        rest.must("PUT", "/traits/CUSTOM_GONE")
        first = WORKLOAD.replace("6f", "5f", 1)
        roles = [ROLES[0] | {"query": "resources=VCPU:1&required=CUSTOM_GONE"}]
        equal(rest.must("PUT", first, WISH | {"name": "first", "roles": roles}).json["pending"], 3)
        rest.must("DELETE", "/traits/CUSTOM_GONE")
        equal(rest.must("PUT", WORKLOAD, WISH).json["pending"], 2)
        add_host(rest, 2)
        are_placed(rest, 2)
        check(f"Workload {first.rpartition('/')[2]}: its pending replicas cannot be placed" in placet.log(), placet.log())
