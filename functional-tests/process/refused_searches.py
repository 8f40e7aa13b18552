"""Searches without a candidate are explained: in the log with the ids of their requests, in the metrics, and by
GET /v1/refusals, beside refused claims and workloads.
"""

import uuid

from functional_tests.lib.patience import becomes, eventually
from functional_tests.metrics import scrape
from functional_tests.process.cases import case, check, equal, folder
from functional_tests.process.claims import claim
from functional_tests.process.pending import WISH, WORKLOAD, add_host, host
from functional_tests.process.placet_process import Placet

SEARCH = "/allocation_candidates?resources=VCPU:{}&limit=1000"
EMPTY = "placet_candidates_empty_total"
MAX_NOTES = 50
# The newest part of the log's line, by the query of a search that two hosts with 4 VCPUs cannot serve.
CAUSES = {
    "resources=VCPU:5": "2 hosts are too small for VCPU: 5 requested, at most 4.",
    "resources=VCPU:1&required=HW_CPU_X86_AVX512F": "2 hosts lack trait HW_CPU_X86_AVX512F of required.",
    "resources=PCPU:1": "2 hosts have no inventory of PCPU.",
    "resources=VCPU:1,MEMORY_MB:512": "2 hosts have no inventory of MEMORY_MB.",
    "resources=VCPU:1&member_of=6f000000-0000-4000-8000-00000000000a": "2 hosts are not in the aggregates of member_of: ",
}


def new_id():
    return f"req-{uuid.uuid4()}"


def listed(rest, query=""):
    return rest.must("GET", f"/v1/refusals{query}").json["refusals"]


def two_hosts(rest):
    for number in (1, 2):
        add_host(rest, number)


@case("a search without a candidate has a line in the log, with the cause and with the ids of the client and of placet")
def lines():
    with folder() as here, Placet(here, {}) as placet:
        two_hosts(placet.rest)
        ids = {}
        for query in CAUSES:
            sent = new_id()
            answer = placet.rest("GET", f"/allocation_candidates?{query}", headers={"x-openstack-request-id": sent})
            equal((answer.status, answer.json["allocation_requests"]), (200, []))
            ids[query] = sent, answer.headers["x-openstack-request-id"]
        becomes("the number of refusals", len(CAUSES), lambda: len(listed(placet.rest)))
        log = placet.log()
        for query, cause in CAUSES.items():
            line = [line for line in log.splitlines() if "no candidates: " in line and ids[query][0] in line]
            equal(len(line), 1, query, log)
            start = f"no candidates: None of the 2 hosts can serve the query. {cause}"
            check(start in line[0] and ids[query][1] in line[0], line[0])


@case("GET /v1/refusals has the query, the time, the project and the ids of a search, and finds it by an id")
def answers():
    with folder() as here, Placet(here, {}) as placet:
        two_hosts(placet.rest)
        sent = [new_id(), new_id()]
        for amount, each in zip((5, 6), sent, strict=True):
            placet.rest("GET", SEARCH.format(amount), headers={"x-openstack-request-id": each})
        becomes("the number of refusals", 2, lambda: len(listed(placet.rest)))
        newest, oldest = listed(placet.rest)
        equal([newest["id"], oldest["id"]], [2, 1])
        check(oldest["time"] <= newest["time"], oldest, newest)
        equal((oldest["kind"], oldest["query"], oldest["count"]), ("allocation_candidates", "resources=VCPU:5", 1))
        equal([reason["code"] for reason in oldest["reasons"]], ["placet.no_candidate", "placet.no_room"])
        equal(oldest["counts"], {"placet.no_candidate": 1, "placet.no_room": 2})
        equal([each["id"] for each in listed(placet.rest, f"?request_id={sent[1]}")], [2])
        equal(listed(placet.rest, "?kind=claim"), [])
        equal([each["id"] for each in listed(placet.rest, "?limit=1")], [2])
        explained = placet.rest.must("GET", oldest["explain"]).json
        equal(explained["detail"], oldest["reasons"][0]["detail"])


@case("equal searches of a moment are one refusal with their number, and the metric counts each")
def equal_searches():
    with folder() as here, Placet(here, {}) as placet:
        two_hosts(placet.rest)
        for _ in range(40):
            placet.rest("GET", SEARCH.format(5))
        becomes("the counted searches", 40, lambda: scrape.read(placet.port).sum(EMPTY, reason="no_room"))
        refusals = listed(placet.rest)
        equal(sum(each["count"] for each in refusals), 40)
        check(len(refusals) < 40, len(refusals))
        equal(scrape.read(placet.port).sum(EMPTY), 40)


@case("of many different searches of a moment the first are explained, and the metric counts the others as unexplained")
def a_flood():
    with folder() as here, Placet(here, {}) as placet:
        two_hosts(placet.rest)
        count = 400
        for amount in range(count):
            placet.rest("GET", SEARCH.format(5 + amount))
        becomes("the counted searches", count, lambda: scrape.read(placet.port).sum(EMPTY))
        explained = scrape.read(placet.port).sum(EMPTY, reason="no_room")
        equal(len(listed(placet.rest)), explained)
        check(MAX_NOTES <= explained <= count, explained)


@case("refused claims of both APIs and refused workloads are listed with their reasons, and dry runs are not")
def claims_and_workloads():
    with folder() as here, Placet(here, {}) as placet:
        two_hosts(placet.rest)
        rest, consumer = placet.rest, "6f000000-0000-4000-8000-0000000000c1"
        too_much = claim(host(1)) | {"allocations": {host(1): {"resources": {"VCPU": 5}}}}
        equal(rest("PUT", f"/allocations/{consumer}", too_much).status, 409)
        call = {"consumers": [{"uuid": consumer, "project_id": "p", "user_id": "u", "query": "resources=VCPU:5"}]}
        equal(rest("POST", "/v1/claims?dry_run=true", call).status, 409)
        equal(rest("POST", "/v1/claims", call).status, 409)
        equal(rest("PUT", WORKLOAD, WISH | {"atomic": True}).status, 409)
        equal(rest("PUT", WORKLOAD, WISH).status, 200)
        refusals = eventually("four refusals", lambda: (found := listed(rest)) and len(found) == 4 and found)
        kinds = [(each["kind"], each["count"]) for each in reversed(refusals)]
        equal(kinds, [("claim", 1), ("claim", 1), ("workload", 3), ("workload", 1)])
        equal([each["uuid"] for each in refusals[2:]], [consumer, consumer])
        equal([each.get("query") for each in refusals[2:]], ["resources=VCPU:5", None])
        check(all(each["reasons"] for each in refusals), refusals)
