"""Captures samples of requests and answers from a live service with the cloud of sample_cloud.py.

Dates and request ids, which differ from run to run, are elided. Everything else is fixed.
"""

import json
import re

from functional_tests.reference.sample_cloud import (
    CARD, HOST, NEW_SERVER, OTHER_HOST, OTHER_SERVER, PROJECT, RACK, SPARE, USER, claim)

NEWEST_VERSION = "1.39"
SHOWN_HEADERS = ("location", "link", "last-modified", "cache-control", "allow", "retry-after")
ELIDED_HEADERS = {"last-modified": "Thu, 01 Jan 2026 00:00:00 GMT"}
MAX_ITEMS = 4
NEW_HOST = "a0000000-0000-4000-8000-000000000010"
WORKLOAD = "a0000000-0000-4000-8000-0000000000e1"
GANG = {"id": "a0000000-0000-4000-8000-0000000000f1",
        "consumers": [{"uuid": f"a0000000-0000-4000-8000-0000000000d{n}", "project_id": PROJECT, "user_id": USER,
                       "query": "resources=VCPU:1&required=CUSTOM_FAST", "rank": "fullest"} for n in (1, 2)]}

P = "/resource_providers"


def workload(generation, count):
    """One with a host that serves, and another that does not."""
    return {"generation": generation, "name": "mysql", "project_id": PROJECT, "user_id": USER,
            "roles": [{"name": "member", "count": count, "rank": "emptiest",
                       "query": {"resources": "VCPU:1", "required": "CUSTOM_FAST"}}],
            "rules": [{"rule": "spread", "dimensions": ["fault"], "mode": "quorum-safe"}]}


def report(number):
    """One of an agent, with a local disk."""
    disk = {"uuid": "a0000000-0000-4000-8000-0000000000d1", "name": "host1-disk", "traits": ["CUSTOM_NVME"],
            "inventories": {"CUSTOM_VOLUME_GB": {"total": 100, "min_unit": 100, "step_size": 100}}}
    return {"holder": "agent of host1", "boot": "2b5e0b5c-3f0e-4a3d-9a53-6f4d8f0d1f2a", "number": number, "lease": 60,
            "providers": [disk]}


# The requests: method, URL, body, version. The order matters, because requests see the effects of earlier ones.
SCENARIO = [
    ("GET", "/"),
    ("GET", "/v1/"),
    ("GET", "/resource_classes"),
    ("POST", "/resource_classes", {"name": "CUSTOM_SILVER"}),
    ("POST", "/resource_classes", {"name": "CUSTOM_SILVER"}),
    ("GET", "/resource_classes/CUSTOM_SILVER"),
    ("PUT", "/resource_classes/CUSTOM_SILVER", {"name": "CUSTOM_BRASS"}, "1.2"),
    ("PUT", "/resource_classes/CUSTOM_BRONZE"),
    ("PUT", "/resource_classes/CUSTOM_BRONZE"),
    ("DELETE", "/resource_classes/CUSTOM_BRASS"),
    ("DELETE", "/resource_classes/VCPU"),
    ("GET", "/traits?name=startswith:CUSTOM_"),
    ("GET", "/traits/CUSTOM_FAST"),
    ("PUT", "/traits/CUSTOM_QUIET"),
    ("PUT", "/traits/LOUD"),
    ("DELETE", "/traits/CUSTOM_QUIET"),
    ("DELETE", "/traits/CUSTOM_FAST"),
    ("GET", f"{P}?name=host1"),
    ("GET", f"{P}?resources=VCPU:4&required=CUSTOM_FAST&member_of={RACK}"),
    ("POST", P, {"name": "host3", "uuid": NEW_HOST}),
    ("POST", P, {"name": "host3"}),
    ("POST", P, {"name": "host4", "uuid": "a0000000-0000-4000-8000-000000000011"}, "1.0"),
    ("GET", f"{P}/{CARD}"),
    ("GET", f"{P}/{HOST}", None, "1.0"),
    ("PUT", f"{P}/{NEW_HOST}", {"name": "host3-renamed", "parent_provider_uuid": SPARE}),
    ("DELETE", f"{P}/{NEW_HOST}"),
    ("DELETE", f"{P}/{HOST}"),
    ("GET", f"{P}/{HOST}/inventories"),
    ("POST", f"{P}/{SPARE}/inventories", {"resource_class": "DISK_GB", "total": 1000, "reserved": 100}),
    ("PUT", f"{P}/{SPARE}/inventories",
     {"resource_provider_generation": 1,
      "inventories": {"VCPU": {"total": 16, "allocation_ratio": 2.0}, "DISK_GB": {"total": 2000}}}),
    ("PUT", f"{P}/{HOST}/inventories", {"resource_provider_generation": 0, "inventories": {}}),
    ("GET", f"{P}/{SPARE}/inventories/DISK_GB"),
    ("PUT", f"{P}/{SPARE}/inventories/DISK_GB",
     {"resource_provider_generation": 2, "total": 2000, "min_unit": 10, "step_size": 10}),
    ("DELETE", f"{P}/{SPARE}/inventories/DISK_GB"),
    ("DELETE", f"{P}/{HOST}/inventories/VCPU"),
    ("DELETE", f"{P}/{SPARE}/inventories"),
    ("GET", f"{P}/{HOST}/aggregates"),
    ("PUT", f"{P}/{SPARE}/aggregates", [RACK], "1.1"),
    ("PUT", f"{P}/{SPARE}/aggregates", {"resource_provider_generation": 5, "aggregates": [RACK]}),
    ("GET", f"{P}/{HOST}/traits"),
    ("PUT", f"{P}/{SPARE}/traits", {"resource_provider_generation": 6, "traits": ["CUSTOM_FAST"]}),
    ("PUT", f"{P}/{SPARE}/traits", {"resource_provider_generation": 6, "traits": []}),
    ("DELETE", f"{P}/{SPARE}/traits"),
    ("GET", "/allocation_candidates?resources=VCPU:2,MEMORY_MB:1024&required=CUSTOM_FAST"),
    ("GET", "/allocation_candidates?resources=SRIOV_NET_VF:1", None, "1.10"),
    ("GET", "/allocation_candidates?resources=NO_SUCH_THING:1"),
    ("GET", "/v1/candidates?resources=VCPU:2&required=CUSTOM_FAST&rank=emptiest&limit=1"),
    ("GET", "/v1/candidates?resources=VCPU:2&required=CUSTOM_FAST&rank=tightest&limit=1&summaries=false"),
    ("GET", "/v1/candidates?resources=VCPU:2&where=NodeName%20==%20host1&limit=1&summaries=false"),
    ("GET", "/v1/candidates?resources=VCPU:2&where=Value%20%3E%20green"),
    ("GET", "/v1/candidates?resources=VCPU:2&rank=best"),
    ("GET", "/v1/capacity?resources=VCPU:2&count=3&by=provider&limit=1"),
    ("GET", "/v1/capacity?resources=VCPU:2&by=domain"),
    ("GET", f"/v1/capacity?without=host:{HOST}"),
    ("GET", "/v1/explain?resources=VCPU:100&required=CUSTOM_FAST"),
    ("GET", "/v1/explain?resources=VCPU:2&provider=no-such-host"),
    ("GET", "/v1/explain?resources=VCPU:2&nearest=-1"),
    ("PUT", f"/allocations/{NEW_SERVER}", claim({HOST: {"VCPU": 2, "MEMORY_MB": 1024}})),
    ("PUT", f"/allocations/{NEW_SERVER}", claim({HOST: {"VCPU": 2, "MEMORY_MB": 1024}})),
    ("PUT", f"/allocations/{NEW_SERVER}", claim({HOST: {"VCPU": 100}}, 1)),
    ("PUT", f"/allocations/{NEW_SERVER}",
     {"allocations": [{"resource_provider": {"uuid": HOST}, "resources": {"VCPU": 1}}]}, "1.0"),
    ("GET", f"/allocations/{NEW_SERVER}"),
    ("GET", f"/allocations/{NEW_SERVER}", None, "1.0"),
    ("POST", "/allocations",
     {NEW_SERVER: claim({}, 2), OTHER_SERVER: claim({HOST: {"VCPU": 2, "MEMORY_MB": 4096}}, 1)}),
    ("GET", f"{P}/{HOST}/allocations"),
    ("GET", f"{P}/{HOST}/usages"),
    ("GET", f"/usages?project_id={PROJECT}&user_id={USER}"),
    ("GET", f"/v1/providers?uuid={HOST}&fields=inventories,usages,traits,aggregates,allocations,state"),
    ("GET", "/v1/providers?fields=links"),
    ("GET", f"/v1/consumers?project_id={PROJECT}&fields=allocations&limit=1"),
    ("GET", "/v1/consumers?provider=no-such-host"),
    ("GET", "/v1/usages?by=root&limit=1"),
    ("GET", f"/v1/usages?by=project&project_id={PROJECT}"),
    ("GET", "/v1/usages?by=domain"),
    ("GET", f"/usages?project_id={PROJECT}", None, "1.9"),
    ("DELETE", f"/allocations/{OTHER_SERVER}"),
    ("DELETE", f"/allocations/{OTHER_SERVER}"),
    ("POST", "/v1/claims?dry_run=true",
     {"consumers": [{"uuid": OTHER_SERVER, "query": {"resources": "VCPU:2", "required": "CUSTOM_FAST"},
                     "rank": "emptiest"}]}),
    ("POST", "/v1/claims",
     {"consumers": [{"uuid": OTHER_SERVER, "project_id": PROJECT, "user_id": USER,
                     "candidates": [{"allocations": {SPARE: {"resources": {"VCPU": 2}}}},
                                    {"allocations": {HOST: {"resources": {"VCPU": 2}}}, "mappings": {"": [HOST]}}]}]}),
    ("POST", "/v1/claims",
     {"atomic": False, "consumers": [{"uuid": NEW_SERVER, "query": "resources=VCPU:100"}]}),
    ("POST", "/v1/claims", {"consumers": [{"uuid": NEW_SERVER, "query": "resources=VCPU:100"}]}),
    ("POST", "/v1/claims", GANG),
    ("POST", "/v1/claims", GANG),
    ("DELETE", f"/allocations/{GANG['consumers'][0]['uuid']}"),
    ("DELETE", f"/allocations/{GANG['consumers'][1]['uuid']}"),
    ("GET", f"/v1/providers/{HOST}"),
    ("PUT", f"/v1/providers/{HOST}",
     {"generation": None, "type": "NodeType01", "properties": {"HasSSD": True, "SomeProperty": 5},
      "domains": {"fault": "fd:/dc1/r0", "upgrade": "UD1"}}),
    ("PUT", f"/v1/providers/{HOST}", {"generation": None}),
    ("PUT", f"/v1/providers/{HOST}", {"generation": 1, "properties": {"NodeName": "host1"}}),
    ("PUT", "/v1/providers?dry_run=true", {"providers": [{"uuid": HOST, "generation": 1, "state": "draining"}]}),
    ("PATCH", f"/v1/providers/{HOST}?dry_run=true",
     {"generation": 1, "state": "off", "properties": {"SomeProperty": 6}}),
    ("PATCH", f"/v1/providers/{HOST}", {"generation": None, "state": "off"}),
    ("PATCH", f"/v1/providers/{HOST}", {"generation": 1, "name": "host2"}),
    ("PATCH", "/v1/providers?in_domain=fault:fd:/dc1&dry_run=true", {"state": "draining"}),
    ("PATCH", "/v1/providers?in_domain=fault:fd:/dc2", {"state": "draining"}),
    ("GET", "/v1/providers?limit=1"),
    ("GET", "/v1/domains?dimension=fault"),
    ("GET", "/v1/domains?dimension=fault&type=NodeType01&where=HasSSD%20%3D%3D%20true"),
    ("PUT", "/v1/domains/zone/az1?dry_run=true", {"generation": None, "aggregate": RACK}),
    ("PUT", "/v1/domains/zone/az1", {"generation": None, "aggregate": RACK}),
    ("PUT", "/v1/domains/zone/az1", {"generation": None, "aggregate": RACK}),
    ("PATCH", "/v1/domains/zone/az1", {"generation": 1}),
    ("GET", "/v1/domains/zone/az1"),
    ("GET", "/v1/domains?dimension=zone"),
    ("DELETE", "/v1/domains/zone/az1?generation=1"),
    ("GET", "/v1/domains/zone/az1"),
    ("PUT", "/v1/types/NodeType01?dry_run=true", {"generation": None, "properties": {"HasSSD": True}}),
    ("PUT", "/v1/types/NodeType01",
     {"generation": None, "properties": {"HasSSD": True, "NodeColor": "green", "SomeProperty": 5}}),
    ("PUT", "/v1/types/NodeType01", {"generation": None, "properties": {}}),
    ("PATCH", "/v1/types/NodeType01", {"generation": 1, "properties": {"SomeProperty": 6}}),
    ("GET", "/v1/types/NodeType01"),
    ("GET", "/v1/types"),
    ("DELETE", "/v1/types/NodeType01?generation=2"),
    ("GET", "/v1/types/NodeType01"),
    ("PUT", f"/v1/hosts/{HOST}/report?dry_run=true", report(1)),
    ("PUT", f"/v1/hosts/{HOST}/report", report(1)),
    ("PUT", f"/v1/hosts/{HOST}/report", report(2)),
    ("PUT", f"/v1/hosts/{HOST}/report", report(0)),
    ("PUT", f"/v1/hosts/{HOST}/report", report(3) | {"holder": "agent of a second machine"}),
    ("GET", f"/v1/hosts/{HOST}"),
    ("GET", "/v1/hosts?limit=1"),
    ("PUT", "/v1/limits/VCPU", {"generation": None, "normal": {"buffer": "0.15"}}),
    ("PUT", "/v1/limits/VCPU?dry_run=true", {"generation": 1, "normal": "physical"}),
    ("PUT", "/v1/limits/VCPU", {"generation": None, "normal": {"buffer": "1.2"}}),
    ("PATCH", "/v1/limits/VCPU?dry_run=true", {"generation": 1, "normal": {"buffer": "0.2"}}),
    ("PATCH", "/v1/limits/VCPU", {"generation": None, "normal": None}),
    ("GET", "/v1/limits/VCPU"),
    ("GET", "/v1/limits/CUSTOM_NONE"),
    ("GET", "/v1/limits"),
    ("POST", "/v1/claims?dry_run=true",
     {"purpose": "repair", "consumers": [{"uuid": NEW_SERVER, "query": "resources=VCPU:1", "rank": "emptiest"}]}),
    ("PUT", "/v1/limits/VCPU", {"generation": 1, "normal": None}),
    ("PUT", f"/v1/workloads/{WORKLOAD}?dry_run=true", workload(None, 1)),
    ("PUT", f"/v1/workloads/{WORKLOAD}", workload(None, 1)),
    ("PUT", f"/v1/workloads/{WORKLOAD}", workload(None, 2)),
    ("PUT", f"/v1/workloads/{WORKLOAD}", workload(1, 3)),
    ("PUT", f"/v1/workloads/{WORKLOAD}", workload(1, 2) | {"atomic": False}),
    ("PATCH", f"/v1/workloads/{WORKLOAD}?dry_run=true", {"generation": 2, "quorum": False, "atomic": False}),
    ("PATCH", f"/v1/workloads/{WORKLOAD}", {"generation": 2, "replicas": 3, "count": 3, "roles": []}),
    ("PATCH", f"/v1/workloads/{WORKLOAD}", {"generation": 1, "quorum": False}),
    ("PUT", f"/v1/workloads/{OTHER_SERVER}", workload(None, 1)),
    ("GET", f"/v1/workloads/{WORKLOAD}"),
    ("PUT", f"/v1/providers/{HOST}", {"generation": 1, "domains": {"fault": "fd:/dc1/r1"}}),
    ("PUT", f"/v1/providers/{HOST}?force=true", {"generation": 1, "state": "draining"}),
    ("GET", "/v1/violations?rule=state"),
    ("GET", "/v1/refusals?kind=claim&limit=1"),
    ("GET", "/v1/refusals?kind=search"),
    ("GET", f"/v1/workloads/{OTHER_SERVER}"),
    ("GET", "/v1/workloads?name=mysql"),
    ("DELETE", f"/v1/workloads/{WORKLOAD}?generation=7"),
    ("DELETE", f"/v1/workloads/{WORKLOAD}?generation=2"),
    ("DELETE", f"/allocations/{OTHER_SERVER}"),
    ("POST", "/reshaper",
     {"inventories": {OTHER_HOST: {"resource_provider_generation": 3,
                                   "inventories": {"MEMORY_MB": {"total": 32768}}},
                      SPARE: {"resource_provider_generation": 8, "inventories": {"VCPU": {"total": 8}}}},
      "allocations": {OTHER_SERVER: claim({OTHER_HOST: {"MEMORY_MB": 4096}, SPARE: {"VCPU": 2}})}}),
    ("GET", "/openapi.json"),
]


def capture(rest):
    """Sends the requests; returns a list of samples."""
    samples = []
    for method, url, *more in SCENARIO:
        body, version = (*more, None, None)[:2]
        version = version or NEWEST_VERSION
        answer = rest(method, url, body, version, {"host": "placement.example.org"})
        headers = {name: ELIDED_HEADERS.get(name, answer.headers[name])
                   for name in SHOWN_HEADERS if name in answer.headers}
        sample = {"method": method, "url": url, "version": version}
        if body is not None:
            sample["sent"] = body
        sample |= {"status": answer.status, "headers": headers}
        if answer.raw:
            sample["answered"] = shortened(answer.json)
        samples.append(sample)
    return samples


def shortened(value):
    """An answer without what differs from run to run, and with long lists cut."""
    if isinstance(value, list):
        items = [shortened(item) for item in value[:MAX_ITEMS]]
        return items + ([f"… {len(value) - MAX_ITEMS} more"] if len(value) > MAX_ITEMS else [])
    if isinstance(value, str):
        return re.sub(r"^req-[0-9a-f-]{36}$", "req-…", value)
    if not isinstance(value, dict):
        return value
    if "process" in value:
        # A search is explained later, so the numbers of the refusals differ, too.
        refusals = [each | {"id": 17, "time": "2026-11-30T02:41:00.000Z"} for each in value["refusals"]]
        return {"process": 4321, "refusals": shortened(refusals)}
    if value.get("lease_until"):
        value |= {"lease_until": "2026-01-01T00:01:00Z"}
    if "created_at" in value:
        value |= {name: "2026-01-01T00:00:00Z" for name in ("created_at", "updated_at")}
    if "openapi" in value:
        return {"openapi": value["openapi"], "info": "…", "paths": "…", "components": "…"}
    # The API promises no order of members that are named by uuids.
    by_uuid = value and all(re.fullmatch("[0-9a-f-]{36}", name) for name in value)
    return {name: shortened(value[name]) for name in (sorted(value) if by_uuid else value)}


def text(samples):
    lines = ",\n".join(json.dumps(sample, ensure_ascii=False) for sample in samples)
    return f"[\n{lines}\n]\n"
