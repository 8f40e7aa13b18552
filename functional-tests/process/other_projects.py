"""The knowledge of a project's member about foreign consumers and workloads, and attempts to take these over."""

import contextlib

from functional_tests.process.cases import case, check, equal, folder
from functional_tests.process.native_claims import provider, uuid
from functional_tests.process.placet_process import Placet

MEMBER = "role:member and project_id:%(project_id)s"
RULES = {
    "placet:claims:create": "role:admin or role:member", "placet:workloads:update": "role:admin or role:member",
    "placet:workloads:delete": "role:admin or role:member", "placet:workloads:show": f"role:admin or ({MEMBER})"}
QUERY = "resources=VCPU:1"
FOREIGN, OWN, UNKNOWN, CONSUMER = uuid(1000), uuid(1001), uuid(1002), uuid(500)


def member(project):
    return {"x-auth-token": f"user:{project}", "x-roles": "member,reader"}


def workload(generation=None, **members):
    return {"generation": generation, "name": "w", "rules": [], "quorum": False,
            "roles": [{"name": "r", "count": 1, "query": QUERY}], **members}


def claim(rest, generation, project):
    consumer = {"uuid": CONSUMER, "generation": generation, "query": QUERY}
    return rest("POST", "/v1/claims", {"consumers": [consumer]}, headers=member(project))


@contextlib.contextmanager
def two_projects():
    """A placet whose members may write: project alpha has a workload and a consumer, and beta has nothing."""
    with folder() as here:
        policy = here / "policy.yaml"
        policy.write_text("".join(f'"{rule}": "{check_}"\n' for rule, check_ in RULES.items()))
        with Placet(here, {"oslo_policy": {"policy_file": str(policy)}}) as placet:
            provider(placet.rest, 1, {"VCPU": 8})
            equal(claim(placet.rest, None, "alpha").status, 200)
            answer = placet.rest("PUT", f"/v1/workloads/{FOREIGN}", workload(), headers=member("alpha"))
            equal(answer.status, 200, answer)
            yield placet, answer.json["replicas"][0]["consumer"]


def texts(answer, *names):
    """The status and the text of a refusal, with names replaced that the request itself has."""
    text = answer.json["errors"][0]["detail"]
    for name in names:
        text = text.replace(name, "NAME")
    return answer.status, text


@case("hostile_15: a consumer of another project cannot be taken over, and is refused like one that does not exist")
def taken_over():
    with two_projects() as (placet, _):
        rest = placet.rest
        generation = rest("GET", f"/allocations/{CONSUMER}").json["consumer_generation"]
        foreign = claim(rest, generation, "beta")
        equal(foreign.status, 409, foreign)
        check(f"expected null but got {generation}" in foreign.raw.decode(), foreign)
        for given in (None, generation + 1):
            answer = claim(rest, given, "beta")
            equal(answer.status, 409, answer)
            check(f"expected {generation}" not in answer.raw.decode() and "alpha" not in answer.raw.decode(), answer)
        equal(rest("GET", f"/allocations/{CONSUMER}").json["project_id"], "alpha")
        # Its own project may replace it, and so may an admin for any project.
        equal(claim(rest, generation, "alpha").status, 200)
        consumer = {"uuid": CONSUMER, "generation": generation + 1, "query": QUERY, "project_id": "beta"}
        equal(rest("POST", "/v1/claims", {"consumers": [consumer]}).status, 200)


@case("hostile_15: a workload of another project is refused like one that does not exist, by every method")
def workloads():
    with two_projects() as (placet, replica):
        def refused(method, uuid_, body=None):
            answer = placet.rest(method, f"/v1/workloads/{uuid_}", body, headers=member("beta"))
            return texts(answer, uuid_, replica, CONSUMER)

        for method in ("GET", "DELETE"):
            equal(refused(method, FOREIGN), refused(method, UNKNOWN))
            equal(refused(method, FOREIGN)[0], 404)
        for generation in (1, 2):
            equal(refused("PUT", FOREIGN, workload(generation)), refused("PUT", UNKNOWN, workload(generation)))
        equal(refused("PUT", FOREIGN, workload())[0], 404)
        for consumer in (replica, CONSUMER):
            adopting = [workload(adopt=[{"consumer": each}]) for each in (consumer, uuid(501))]
            equal(refused("PUT", OWN, adopting[0]),
                  (400, refused("PUT", OWN, adopting[1])[1].replace(uuid(501), "NAME")))
        # An admin learns more.
        answer = placet.rest("PUT", f"/v1/workloads/{FOREIGN}", workload(1, project_id="beta"))
        check("belongs to project alpha" in answer.json["errors"][0]["detail"], answer)


@case("hostile_15: a replica whose consumer another project took over is not released with its workload")
def lost_replica():
    with two_projects() as (placet, replica):
        rest = placet.rest
        found = rest("GET", f"/allocations/{replica}").json
        body = {"allocations": found["allocations"], "project_id": "beta", "user_id": "u",
                "consumer_generation": found["consumer_generation"], "consumer_type": "INSTANCE"}
        for share in body["allocations"].values():
            share.pop("generation")
        equal(rest("PUT", f"/allocations/{replica}", body).status, 204)
        shown = rest("GET", f"/v1/workloads/{FOREIGN}", headers=member("alpha")).json
        equal((shown["placed"], shown["replicas"][0]["host"]), (0, None), shown)
        equal(rest("DELETE", f"/v1/workloads/{FOREIGN}", headers=member("alpha")).status, 204)
        equal(rest("GET", f"/allocations/{replica}").json.get("project_id"), "beta")


@case("hostile_16: a native query names each parameter once, and no text of a native body or query has a NUL")
def strict_requests():
    with two_projects() as (placet, _):
        rest = placet.rest
        for method, path in (("DELETE", f"/v1/workloads/{FOREIGN}?generation=2&generation=1"),
                             ("DELETE", f"/v1/workloads/{FOREIGN}?force=false&force=true"),
                             *(("GET", f"/v1/{noun}limit=1&limit=2")
                               for noun in ("workloads?", "providers?", "domains?dimension=fault&", "violations?", "limits?"))):
            answer = rest(method, path)
            equal((answer.status, answer.code), (400, "placement.query.duplicate_key"), path)
        equal(rest("GET", f"/v1/workloads/{FOREIGN}").status, 200)
        role = {"name": "r", "count": 1, "query": QUERY}
        for wrong in ({"name": "a\x00b"}, {"roles": [role | {"name": "r\x00"}]}, {"roles": [role | {"payload": {"k\x00": 1}}]},
                      {"user_id": "u\x00"}, {"type": "A\x00"}):
            answer = rest("PUT", f"/v1/workloads/{OWN}", workload(**wrong))
            equal(answer.status, 400, wrong, answer)
        consumer = {"uuid": uuid(600), "query": QUERY, "user_id": "a\x00"}
        equal(rest("POST", "/v1/claims", {"consumers": [consumer]}).status, 400)
        description = {"generation": None, "properties": {"A\x00": 1}}
        equal(rest("PUT", f"/v1/providers/{uuid(1)}", description).status, 400)
        equal(rest("GET", "/v1/workloads?name=a%00").status, 400)
