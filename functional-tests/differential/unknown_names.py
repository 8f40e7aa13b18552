"""A table of requests about names and ids that are missing in the database.

The random runs nearly always ask a database with providers. This table also asks an empty database. An unknown resource
class has to be refused even without a provider to search (`test_fail_if_unknown_rc` of osc-placement's tests).

Each parameter has known and unknown values. The table has each value alone, at the microversions that changed its
parameter and at the microversions just before, and each pair of values of two parameters. run.py counts each route in
each state as one test.
"""

import json
import urllib.parse
from itertools import combinations

from functional_tests.differential.request import (
    AGGREGATES, CONSUMERS, NEWEST_MINOR, PROVIDERS, Request, consumer_generation, provider_generation)

HOST, CHILD, OTHER_HOST = PROVIDERS[:3]
AGGREGATE = AGGREGATES[0]
CONSUMER = CONSUMERS[0]
UNKNOWN = "f0000000-0000-4000-8000-00000000000f"
CLASS, TRAIT = "CUSTOM_UNHEARD", "CUSTOM_UNHEARD"
# The host has the first trait. No provider has the second, which is a known one.
PRESENT, ABSENT = "HW_CPU_X86_AVX2", "COMPUTE_NODE"

# The order matters: the first state is a database that never had a provider.
NEW, POPULATED, CLEARED = "a new database", "a populated database", "a database that lost all providers"
STATES = (NEW, POPULATED, CLEARED)

# Parameters of a query, with known values, unknown values and both.
# Capital letters are another spelling: MariaDB's collation equates it, other databases do not.
FILTERS = {
    "resources": ["VCPU:1", f"{CLASS}:1", f"VCPU:1,{CLASS}:1", "VCPU:99999"],
    "required": [PRESENT, ABSENT, "UNHEARD", f"!{TRAIT}", f"in:{TRAIT},{PRESENT}", f"{ABSENT},!{TRAIT}"],
    "member_of": [
        AGGREGATE, AGGREGATE.upper(), UNKNOWN, f"in:{UNKNOWN},{AGGREGATE}", f"!{UNKNOWN}", f"!in:{UNKNOWN},{AGGREGATE}"],
    "in_tree": [CHILD, CHILD.upper(), UNKNOWN],
}
CANDIDATES = FILTERS | {"root_required": [PRESENT, ABSENT, "UNHEARD", f"!{TRAIT}"], "limit": ["1"]}
PROVIDER_LIST = FILTERS | {"name": ["host", "HOST", "unheard"], "uuid": [HOST, HOST.upper(), UNKNOWN]}
# The microversions that changed the meaning of a parameter, and those just before.
VERSIONS = {
    "/allocation_candidates": {
        "resources": [9, 10, 12, 29], "required": [16, 17, 21, 22, 38], "member_of": [20, 21, 23, 24, 31, 32],
        "in_tree": [30, 31], "root_required": [34, 35], "limit": [15, 16]},
    "/resource_providers": {
        "resources": [3, 4], "required": [17, 18, 21, 22, 38], "member_of": [2, 3, 23, 24, 31, 32], "in_tree": [13, 14],
        "name": [0], "uuid": [0]},
}
# The parameters of one group of a request for candidates, without the suffix.
GROUPS = [
    {"resources": "VCPU:1"}, {"resources": f"{CLASS}:1"}, {"resources": "VCPU:99999"}, {"required": TRAIT},
    {"required": ABSENT}, {"resources": "VCPU:1", "required": f"!{TRAIT}"}, {"resources": "VCPU:1", "member_of": UNKNOWN},
    {"resources": "VCPU:1", "in_tree": UNKNOWN},
]
# Claims: the amounts by class, by provider.
CLAIMS = [
    {UNKNOWN: {"VCPU": 1}}, {UNKNOWN: {CLASS: 1}}, {HOST: {CLASS: 1}}, {HOST: {"VCPU": 1, CLASS: 1}},
    {HOST: {"VCPU": 1}, UNKNOWN: {"VCPU": 1}}, {HOST: {"DISK_GB": 1}},
]


def ask(method, path, body=None, minor=NEWEST_MINOR):
    return Request(method, path, None if body is None else json.dumps(body), f"1.{minor}")


def query(path, pairs, minor=NEWEST_MINOR):
    return ask("GET", f"{path}?{urllib.parse.urlencode(pairs)}", minor=minor)


def filters(path, parameters, also=()):
    """Each value alone, at every version of VERSIONS, and each pair of two values. The path requires `also`."""
    values = [(name, value) for name, given in parameters.items() for value in given]
    for name, value in values:
        for minor in [*VERSIONS[path][name], NEWEST_MINOR]:
            yield query(path, [(name, value), *(pair for pair in also if pair[0] != name)], minor)
    for first, second in combinations(values, 2):
        if first[0] != second[0]:
            yield query(path, [first, second, *(pair for pair in also if pair[0] not in (first[0], second[0]))])


def groups():
    """Two groups in both orders. The first may end the search before the names of the second are looked up."""
    def suffixed(group, suffix):
        return [(name + suffix, value) for name, value in group.items()]

    path = "/allocation_candidates"
    for one in GROUPS:
        for other in GROUPS:
            yield query(path, [*suffixed(one, "1"), *suffixed(other, "2"), ("group_policy", "none")])
        yield query(path, [*suffixed(one, "1"), ("resources", "MEMORY_MB:1")])
        yield query(path, [("resources", f"{CLASS}:1"), *suffixed(one, "1")])
        yield query(path, [*suffixed(one, "1"), *suffixed(one, "2"), ("group_policy", "isolate"), ("same_subtree", "1,2")])
    yield query(path, [("resources1", "VCPU:1"), ("same_subtree", "1,2")])
    yield query(path, [("resources1", f"{CLASS}:1"), ("group_policy", "unheard")])


def provider():
    """Everything of an unknown provider, and unknown names of a known provider."""
    unknown, known = f"/resource_providers/{UNKNOWN}", f"/resource_providers/{HOST}"
    guarded = {"resource_provider_generation": provider_generation(HOST)}
    for minor in (0, 14, NEWEST_MINOR):
        for noun in ("", "/inventories", "/inventories/VCPU", "/usages", "/aggregates", "/traits", "/allocations"):
            yield ask("GET", unknown + noun, minor=minor)
        for name in (CLASS, "UNHEARD", "DISK_GB", "vcpu"):
            yield ask("GET", f"{known}/inventories/{name}", minor=minor)
            yield ask("DELETE", f"{known}/inventories/{name}", minor=minor)
        yield ask("POST", "/resource_providers", {"name": "new", "uuid": PROVIDERS[3], "parent_provider_uuid": UNKNOWN}, minor)
    for noun in ("", "/inventories", "/inventories/VCPU", "/traits"):
        yield ask("DELETE", unknown + noun)
    yield ask("PUT", unknown, {"name": "new"})
    yield ask("PUT", known, {"name": "host", "parent_provider_uuid": UNKNOWN})
    for path in (unknown, known):
        yield ask("PUT", f"{path}/traits", guarded | {"traits": [TRAIT]})
        yield ask("PUT", f"{path}/traits", guarded | {"traits": [PRESENT, "UNHEARD"]})
        yield ask("PUT", f"{path}/inventories", guarded | {"inventories": {CLASS: {"total": 1}}})
        yield ask("PUT", f"{path}/inventories", guarded | {"inventories": {"VCPU": {"total": 8}, "UNHEARD": {"total": 1}}})
        yield ask("POST", f"{path}/inventories", guarded | {"resource_class": CLASS, "total": 1})
        yield ask("PUT", f"{path}/inventories/{CLASS}", guarded | {"total": 1})
        yield ask("PUT", f"{path}/inventories/DISK_GB", guarded | {"total": 1})
    yield ask("PUT", f"{unknown}/aggregates", guarded | {"aggregates": [UNKNOWN]})
    yield ask("PUT", f"{unknown}/aggregates", [UNKNOWN], 18)


def names():
    """Classes and traits by name."""
    for minor in (1, 2, 6, NEWEST_MINOR):
        for noun in ("resource_classes", "traits"):
            for name in (CLASS, "UNHEARD", "unheard", "vcpu", PRESENT.lower()):
                yield ask("GET", f"/{noun}/{name}", minor=minor)
                yield ask("DELETE", f"/{noun}/{name}", minor=minor)
        yield ask("PUT", f"/resource_classes/{CLASS}", {"name": "CUSTOM_OTHER"}, minor=min(minor, 6))
    yield ask("PUT", "/resource_classes/UNHEARD")
    yield ask("PUT", "/traits/UNHEARD")
    for value in (f"in:{TRAIT}", f"in:{TRAIT},{ABSENT}", "startswith:UNHEARD", TRAIT, "startswith:", "in:"):
        for pairs in ([], [("associated", "true")], [("associated", "false")]):
            yield query("/traits", [("name", value), *pairs])
    yield query("/traits", [("associated", "true")])


def owners():
    """Usages by projects, users and types of consumers; allocations of a consumer."""
    for minor in (8, 9, 37, 38, NEWEST_MINOR):
        for project in ("lab", "unheard"):
            yield query("/usages", [("project_id", project)], minor)
            for user in ("ada", "unheard"):
                yield query("/usages", [("project_id", project), ("user_id", user)], minor)
            for kind in ("INSTANCE", "UNHEARD", "unheard", "unknown", "all"):
                yield query("/usages", [("project_id", project), ("consumer_type", kind)], minor)
                yield query("/usages", [("project_id", project), ("user_id", "ada"), ("consumer_type", kind)], minor)
        yield query("/usages", [("user_id", "unheard")], minor)
        yield query("/usages", [("consumer_type", "UNHEARD")], minor)
    for minor in (0, 11, 12, 28, 38):
        yield ask("GET", f"/allocations/{UNKNOWN}", minor=minor)
        yield ask("DELETE", f"/allocations/{UNKNOWN}", minor=minor)


def claims():
    """Claims that are refused, by a new consumer and by one with allocations."""
    for wanted in CLAIMS:
        for minor in (7, 11, 27, 37, NEWEST_MINOR):
            yield ask("PUT", f"/allocations/{UNKNOWN}", claim(UNKNOWN, wanted, minor), minor)
        for minor in (13, NEWEST_MINOR):
            yield ask("POST", "/allocations", {UNKNOWN: claim(UNKNOWN, wanted, minor)}, minor)
        yield ask("PUT", f"/allocations/{CONSUMER}", claim(CONSUMER, wanted))
        yield ask("PUT", f"/allocations/{UNKNOWN}", claim(UNKNOWN, wanted) | {"consumer_generation": 5})
        yield ask("POST", "/allocations", {CONSUMER: claim(CONSUMER, wanted), UNKNOWN: claim(UNKNOWN, CLAIMS[0])})
        yield reshape({}, {UNKNOWN: claim(UNKNOWN, wanted)})
    for uuid, inventories in (
            (UNKNOWN, {}), (UNKNOWN, {"VCPU": {"total": 8}}), (UNKNOWN, {CLASS: {"total": 8}}), (HOST, {CLASS: {"total": 8}}),
            (HOST, {"VCPU": {"total": 8}, "UNHEARD": {"total": 1}})):
        yield reshape({uuid: inventories}, {})
        yield reshape({uuid: inventories}, {UNKNOWN: claim(UNKNOWN, CLAIMS[0])})
        yield reshape({uuid: inventories}, {CONSUMER: claim(CONSUMER, CLAIMS[2])})


def claim(consumer, wanted, minor=NEWEST_MINOR):
    allocations = {uuid: {"resources": resources} for uuid, resources in wanted.items()}
    if minor < 12:
        allocations = [{"resource_provider": {"uuid": uuid}} | share for uuid, share in allocations.items()]
    body = {"allocations": allocations}
    if minor >= 8:
        body |= {"project_id": "lab", "user_id": "unheard"}
    if minor >= 28:
        body["consumer_generation"] = consumer_generation(consumer)
    if minor >= 38:
        body["consumer_type"] = "UNHEARD"
    return body


def reshape(inventories, allocations):
    inventories = {uuid: {"inventories": given, "resource_provider_generation": provider_generation(uuid)}
                   for uuid, given in inventories.items()}
    return ask("POST", "/reshaper", {"inventories": inventories, "allocations": allocations})


TABLE = {
    "GET /allocation_candidates": lambda: filters("/allocation_candidates", CANDIDATES, [("resources", "VCPU:1")]),
    "GET /allocation_candidates of several groups": groups,
    "GET /resource_providers": lambda: filters("/resource_providers", PROVIDER_LIST),
    "/resource_providers/{uuid}": provider,
    "/resource_classes and /traits": names,
    "/usages and /allocations": owners,
    "claims": claims,
}


def populating():
    """Creates two trees with inventories, traits, aggregates and allocations."""
    for uuid, name, parent in ((HOST, "host", None), (CHILD, "child", HOST), (OTHER_HOST, "other", None)):
        yield ask("POST", "/resource_providers", {"name": name, "uuid": uuid, "parent_provider_uuid": parent})
        yield give(uuid, "inventories", {"VCPU": {"total": 8}, "MEMORY_MB": {"total": 64}})
    yield give(HOST, "traits", [PRESENT])
    yield give(HOST, "aggregates", [AGGREGATE])
    yield ask("PUT", f"/allocations/{CONSUMER}", claim(CONSUMER, {HOST: {"VCPU": 1}}) | {
        "user_id": "ada", "consumer_type": "INSTANCE"})


def give(uuid, noun, value):
    generation = {"resource_provider_generation": provider_generation(uuid)}
    return ask("PUT", f"/resource_providers/{uuid}/{noun}", generation | {noun: value})


def check(pair, tests, verbose, report, states=STATES):
    """Compares the answers to the table in each state of the two databases. Both databases have to be new."""
    for state in states:
        if state == POPULATED:
            compare(pair, tests, verbose, report, f"unknown names, {state}: preparation", populating(), succeeds=True)
        elif state == CLEARED:
            pair.clear()
        for name, requests in TABLE.items():
            compare(pair, tests, verbose, report, f"unknown names, {state}: {name}", requests())


def compare(pair, tests, verbose, report, name, requests, succeeds=False):
    sent, wrong = 0, []
    for sent, request in enumerate(requests, 1):
        found = pair.step(request)
        if found or (succeeds and pair.status >= 400):
            wrong.append(report(request, found, pair.status))
    if wrong:
        tests.fail(f"{name}: {len(wrong)} of {sent} requests", "\n".join(wrong[:5]))
    else:
        tests.ok(f"{name}: {sent} requests", show=verbose)
