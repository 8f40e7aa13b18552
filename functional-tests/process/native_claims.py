"""`POST /v1/claims` of one process: its options, who may claim for whom, and dry runs beside claims."""

import sqlite3

from functional_tests.lib.patience import HANG_SECONDS, becomes
from functional_tests.process.cases import case, check, equal, folder
from functional_tests.process.locked import serving
from functional_tests.process.placet_process import Placet, run

# Answers are pruned for the first time this long after the start.


def uuid(number):
    return f"{number:08}-0000-4000-8000-00000000000a"


def provider(rest, number, inventories, parent=None):
    body = {"name": uuid(number), "uuid": uuid(number)} | ({"parent_provider_uuid": uuid(parent)} if parent else {})
    rest.must("POST", "/resource_providers", body)
    if inventories:
        body = {"resource_provider_generation": 0, "inventories": {name: {"total": n} for name, n in inventories.items()}}
        rest.must("PUT", f"/resource_providers/{uuid(number)}/inventories", body)


def claim(rest, consumers, parameters="", headers=None, **members):
    return rest("POST", f"/v1/claims{parameters}", {"consumers": consumers, **members}, headers=headers)


def granted(answer):
    """The providers of each consumer."""
    equal(answer.status, 200, answer)
    return [sorted(consumer["allocations"]) for consumer in answer.json["consumers"]]


@case("claim_memory, rank and max_combinations in [placet] are what a call goes by")
def options():
    with folder() as here, Placet(here, serving(claim_memory=60, rank="fullest", max_combinations=3)) as placet:
        rest = placet.rest
        for host in (1, 2, 3):
            provider(rest, host, {"VCPU": 8})
        query = "resources=VCPU:1"
        # One call chooses any of the empty hosts. All others go where it went.
        places = [granted(claim(rest, [{"uuid": uuid(n), "query": query}]))[0] for n in range(100, 108)]
        equal(places, places[:1] * 8)

        provider(rest, 10, {})
        for device in (11, 12, 13, 14):
            provider(rest, device, {"PGPU": 2}, parent=10)
        for name, is_exact in [("PGPU", False), ("VCPU", True)]:
            pair = f"resources_A={name}:1&resources_B={name}:1&group_policy=none"
            answer = claim(rest, [{"uuid": uuid(200), "query": pair}], "?dry_run=true")
            equal(answer.json["exact"], is_exact, answer)

        call = {"id": uuid(300), "consumers": [{"uuid": uuid(301), "query": query}]}
        first = rest("POST", "/v1/claims", call)
        equal((first.status, rest("POST", "/v1/claims", call).raw), (200, first.raw))
        connection = sqlite3.connect(placet.database, timeout=HANG_SECONDS)
        connection.execute("UPDATE placet_claims SET created_at = datetime('now', '-2 minutes')")
        connection.commit()
        becomes("the number of stored answers", (0,), lambda: connection.execute(
            "SELECT COUNT(*) FROM placet_claims").fetchone(), pause=0.5)
        connection.close()
        equal(rest("POST", "/v1/claims", call).code, "placement.concurrent_update")
        placet.alive()


@case("a caller without placet:claims:create:other_projects claims for the project of the token alone")
def other_projects():
    rule = "placet:claims:create:other_projects"
    with folder() as here:
        policy = here / "policy.yaml"
        policy.write_text(f'"{rule}": "role:admin"\n')
        with Placet(here, {"oslo_policy": {"policy_file": str(policy)}}) as placet:
            provider(placet.rest, 1, {"VCPU": 8})
            service = {"x-auth-token": "user:own", "x-roles": "service"}

            def member(number, project):
                return {"uuid": uuid(number), "project_id": project, "query": "resources=VCPU:1"}

            equal(claim(placet.rest, [member(2, "own")], headers=service).status, 200)
            for consumers in ([member(3, "other")], [member(4, "own"), member(5, "other")]):
                answer = claim(placet.rest, consumers, headers=service)
                equal(answer.status, 403, answer)
                check(rule in answer.json["errors"][0]["detail"], answer)
            equal(placet.rest("GET", f"/allocations/{uuid(4)}").json["allocations"], {})
            equal(claim(placet.rest, [member(3, "other")]).status, 200)


@case("hostile_14: a policy file that closes rules of OpenStack's routes closes the native routes that do the same")
def inherited_rules():
    closed = ("allocations:update", "allocations:list", "allocation_candidates:list", "resource_providers:list",
              "resource_providers:update", "resource_providers:traits:update")
    service = {"x-auth-token": "user:own", "x-roles": "service"}
    with folder() as here:
        policy = here / "policy.yaml"
        policy.write_text("")
        with Placet(here, {"oslo_policy": {"policy_file": str(policy)}}) as placet:
            provider(placet.rest, 1, {"VCPU": 8})
            query = "resources=VCPU:1"
            description = [{"uuid": uuid(1), "generation": None, "state": "draining"}]
            requests = [
                ("POST", "/v1/claims", {"consumers": [{"uuid": uuid(2), "query": query}]}),
                ("GET", f"/v1/candidates?{query}", None), ("GET", "/v1/providers", None),
                ("PUT", "/v1/providers", {"providers": description})]

            def statuses():
                return [placet.rest(*request, headers=service).status for request in requests]

            policy.write_text("".join(f'"placement:{rule}": "!"\n' for rule in closed))
            equal(statuses(), [403] * 4)
            checked = run(here, "--config-file", here / "placement.conf", "config", "check")
            equal(checked.code, 0, checked)
            check("note: policy: placet:claims:create follows placement:allocation_candidates:list" in checked.out, checked)
            policy.write_text('"placet:api:use": "!"\n')
            equal(statuses(), [403] * 4)
            equal(placet.rest("GET", "/v1/").status, 403)
            equal(placet.rest("GET", "/resource_providers", headers=service).status, 200)
            policy.write_text("")
            equal(statuses(), [200] * 4)


@case("a dry run shows the place that the claim gets, and equal places are spread over consumers")
def dry_runs():
    with folder() as here, Placet(here, {}) as placet:
        rest = placet.rest
        for host in range(1, 9):
            provider(rest, host, {"VCPU": 100})
        for rank in ("fullest", "emptiest", "tightest"):
            places = set()
            for number in range(100, 110):
                consumer = [{"uuid": uuid(number), "query": "resources=VCPU:1", "rank": rank}]
                shown = [granted(claim(rest, consumer, "?dry_run=true")) for _ in range(3)]
                got = granted(claim(rest, consumer))
                equal(shown, [got] * 3, rank)
                equal(rest("DELETE", f"/allocations/{uuid(number)}").status, 204)
                places.add(got[0][0])
            check(len(places) > 2, rank, places)


@case("dry_run given twice is refused, and a dry run of a remembered call is none that is answered from memory")
def repeated_dry_runs():
    with folder() as here, Placet(here, {}) as placet:
        provider(placet.rest, 1, {"VCPU": 8})
        call = {"id": uuid(300), "consumers": [{"uuid": uuid(2), "query": "resources=VCPU:1"}]}
        twice = placet.rest("POST", "/v1/claims?dry_run=true&dry_run=false", call)
        equal((twice.status, twice.code), (400, "placement.query.duplicate_key"))
        equal(placet.rest("GET", f"/allocations/{uuid(2)}").json["allocations"], {})
        equal(placet.rest("POST", "/v1/claims", call).status, 200)
        equal(placet.rest("POST", "/v1/claims?dry_run=true", call).code, "placement.concurrent_update")
        placet.rest("DELETE", f"/allocations/{uuid(2)}")
        equal(placet.rest("POST", "/v1/claims?dry_run=true", call).json["dry_run"], True)
        # The same members in another order, with other white space.
        again = f'{{"consumers": [{{"query": "resources=VCPU:1", "uuid": "{uuid(2)}"}}], "id": "{uuid(300)}"}}'
        equal(placet.rest("POST", "/v1/claims", again.encode()).json["granted"], 1)
        equal(placet.rest("GET", f"/allocations/{uuid(2)}").json["allocations"], {})
