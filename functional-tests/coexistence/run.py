"""placet and OpenStack Placement serve one database at the same time.

    python -m functional_tests.coexistence.run [--engine ENGINE] [--seed N] [--binary PATH]

OpenStack Placement's writes leave no rows in the change feed. placet's comparison in the background has to find the
writes. Until placet has found a write, no unfit claim may be granted. On a database server, two services of each kind
also get writes behind one balancer (rolling_switch.py).
"""

import contextlib
import os
import time

from functional_tests.coexistence import rolling_switch
from functional_tests.lib import command_line, engines, live
from functional_tests.lib.patience import becomes
from functional_tests.lib.rest import Rest
from functional_tests.lib.test_counts import TestCounts

HOSTS = 6
HOST_VCPUS = 8
OPTIONS = {"placet": {
    "comparison_interval": str(rolling_switch.COMPARISON_INTERVAL_SECONDS), "strict_step_size": "true"}}
RACES, TRAFFIC_WRITES = (20, 5000) if os.environ.get("PLACET_TEST_SIZE") == "full" else (3, 320)
AGGREGATE = "e0000000-0000-4000-8000-0000000000a1"


def uuid(kind, n):
    return f"{kind:08d}-0000-4000-8000-{n:012d}"


def host(n):
    return uuid(1, n)


def claim(service, consumer, provider, amount):
    return service("PUT", f"/allocations/{uuid(2, consumer)}", {
        "allocations": {provider: {"resources": {"VCPU": amount}}}, "consumer_generation": None,
        "consumer_type": "INSTANCE", "project_id": "p", "user_id": "u"}).status


def candidates(service, amount, more=""):
    answer = service.must("GET", f"/allocation_candidates?resources=VCPU:{amount}{more}")
    return {provider for request in answer.json["allocation_requests"] for provider in request["allocations"]}


def comes(name, expected, look):
    """Waits until `look` returns `expected`, and prints how long it took."""
    began = time.monotonic()
    becomes(name, expected, look)
    print(f"        {name}: after {time.monotonic() - began:.1f} s")


def prepare(placet):
    for n in range(HOSTS):
        placet.must("POST", "/resource_providers", {"name": f"host-{n}", "uuid": host(n)})
        placet.must("PUT", f"/resource_providers/{host(n)}/inventories", {
            "resource_provider_generation": 0, "inventories": {"VCPU": {"total": HOST_VCPUS}}})


def claims_and_releases(placet, upstream):
    assert claim(upstream, 1, host(0), HOST_VCPUS) == 204
    assert claim(placet, 2, host(0), 1) == 409, "the host is full, even if placet's snapshot shows free capacity"
    hosts = {host(n) for n in range(HOSTS)}
    comes("a claim", hosts - {host(0)}, lambda: candidates(placet, 1))
    # A release moves no generation.
    upstream.must("DELETE", f"/allocations/{uuid(2, 1)}")
    comes("a release", hosts, lambda: candidates(placet, HOST_VCPUS))


def names(placet, upstream):
    upstream.must("PUT", "/traits/CUSTOM_BESIDE")
    assert candidates(placet, 1, "&required=CUSTOM_BESIDE") == set(), "a new trait is known at once; no provider has it"
    generation = upstream.must("GET", f"/resource_providers/{host(1)}").json["generation"]
    upstream.must("PUT", f"/resource_providers/{host(1)}/traits", {
        "traits": ["CUSTOM_BESIDE"], "resource_provider_generation": generation})
    comes("a trait", {host(1)}, lambda: candidates(placet, 1, "&required=CUSTOM_BESIDE"))


def aggregates_without_generations(placet, upstream):
    # Before 1.19 this write moves no generation.
    upstream.must("PUT", f"/resource_providers/{host(2)}/aggregates", [AGGREGATE], version="1.18")
    comes("an aggregate", {host(2)}, lambda: candidates(placet, 1, f"&member_of={AGGREGATE}"))


def providers(placet, upstream):
    upstream.must("POST", "/resource_providers", {"name": "new", "uuid": host(90)})
    upstream.must("POST", "/resource_providers", {
        "name": "child", "uuid": host(91), "parent_provider_uuid": host(90)})
    upstream.must("PUT", f"/resource_providers/{host(91)}/inventories", {
        "resource_provider_generation": 0, "inventories": {"VCPU": {"total": 50}}})
    comes("a tree", {host(91)}, lambda: candidates(placet, 50))
    upstream.must("DELETE", f"/resource_providers/{host(91)}")
    upstream.must("DELETE", f"/resource_providers/{host(90)}")
    comes("a deleted tree", set(), lambda: candidates(placet, 50))


def over_capacity(service, placet):
    service.database.run(
        "INSERT INTO allocations (resource_provider_id, consumer_id, resource_class_id, used) "
        "SELECT id, 'by hand', 0, 9 FROM resource_providers WHERE uuid = ?", (host(3),))
    line = f"Provider {host(3)} is over capacity: 9 of VCPU are used, of 8 that it has"
    comes("a line of the log", 1, lambda: service.log().count(line))
    comes("an allocation written by hand", False, lambda: host(3) in candidates(placet, 1))


def one_of_each(tests, engine, binary):
    with live.Service("placet", OPTIONS, binary, engine=engine) as ours, live.Service(
            "upstream", database=ours.database) as theirs:
        placet, upstream = Rest(ours.port), Rest(theirs.port)
        prepare(placet)
        tests.step("claims and releases", claims_and_releases, placet, upstream)
        tests.step("traits", names, placet, upstream)
        tests.step("aggregates", aggregates_without_generations, placet, upstream)
        tests.step("providers", providers, placet, upstream)
        tests.step("over capacity", over_capacity, ours, placet)


def behind_one_balancer(tests, engine, binary, seed):
    database = engine.create()
    # Connections for all clients. OpenStack Placement holds up to two for each request.
    pool = {"placement_database": {"max_overflow": str(4 * rolling_switch.CLIENTS)}}
    with contextlib.ExitStack() as stack:
        def two(kind, options):
            return [stack.enter_context(live.Service(kind, options, binary, database)) for _ in range(2)]

        placets, upstreams = two("placet", OPTIONS), two("upstream", pool)
        careful = two("upstream", pool | {"placement": {"allocation_conflict_retry_count": "1"}})
        rolling_switch.run(tests, seed, placets, upstreams, careful, RACES, TRAFFIC_WRITES)


def main():
    parser = command_line.parser(__doc__, "--binary", "--engine", "--seed")
    options = parser.parse_args()
    tests = TestCounts()
    with engines.Engine(options.engine) as engine:
        one_of_each(tests, engine, options.binary)
        if engine.kind != "sqlite":
            print(f"seed {options.seed} (--seed {options.seed} makes the same choices again)", flush=True)
            behind_one_balancer(tests, engine, options.binary, options.seed)
    tests.finish()


if __name__ == "__main__":
    main()
