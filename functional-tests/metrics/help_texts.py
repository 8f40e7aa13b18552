"""What moves each metric: an action changes exactly the metrics whose help texts say so.

Every metric is moved by an action here, or by the test that `ELSEWHERE` names.
"""

import pathlib

from functional_tests.lib.patience import becomes, eventually
from functional_tests.lib.rest import KeptRest
from functional_tests.metrics import numbers, scrape
from functional_tests.metrics.numbers import claim, host, uuid

# Every request or the time itself moves these.
RESTLESS = ("process_", "placet_http_", "placet_database_", "placet_writer_batch_", "placet_snapshot_age_",
            "placet_snapshot_refresh_", "placet_census_", "placet_queue_length")
GRANTED = ("placet_claims_granted_total", "Consumers that requests other than reshapes gave allocations.")
REFUSED = ("placet_claims_refused_total", "Consumers that were refused allocations, by reason.")
RELEASED = ("placet_claims_released_total", "Consumers that requests other than reshapes left without allocations.")
CONSUMERS = ("placet_consumers", "Consumers with allocations.")
USED = ("placet_inventory_used", "Sum of the usages.")
FREE = ("placet_inventory_free", "What is left of the capacity, for each provider at least 0.")
LARGEST = ("placet_inventory_largest_free", "The largest hole: what is left of the capacity on one provider.")
# The first host is alone in an aggregate. In the whole cloud and in the other aggregate, other hosts have as much.
LARGEST_OF_AGGREGATE = (LARGEST[0].replace("inventory", "aggregate_inventory"), LARGEST[1])
PROVIDERS = ("placet_providers", "Resource providers.")
POOLS = ("placet_pools", "Sharing providers by state; OpenStack's routes propose them in every state.")
UNITS = ("placet_inventory_units", "Sum of the totals of inventories.")
RESERVED = ("placet_inventory_reserved", "Sum of what inventories reserve.")
CAPACITY = ("placet_inventory_capacity", "What claims may use: (total - reserved) * allocation_ratio, rounded down for each "
            "provider.")
WITH_INVENTORY = ("placet_inventory_providers", "Providers with an inventory of the class.")
MEMBERS = ("placet_aggregate_providers", "Resource providers of an aggregate.")
SLOTS = ("placet_snapshot_slots", "The size of the snapshot: its places for providers, by state.")
HOSTS = ("placet_hosts", "Root resource providers that share nothing, by state.")
WORKLOADS = ("placet_workloads", "Workloads at the last count.")
UNSAFE = ("placet_workloads_unsafe", "Workloads at the last count with safe false.")
QUORUM_LOST = ("placet_workloads_without_quorum", "Workloads at the last count with quorum_lost true.")
UNREADABLE = ("placet_workloads_unreadable", "Workloads at the last count that cannot be judged.")
REPLICAS = ("placet_replicas", "Replicas of workloads at the last count, placed and pending.")
VIOLATIONS = ("placet_violations", "Violations at the last count, by rule and level as in GET /v1/violations.")
LEASES = ("placet_leases", "Hosts that report, by the health of their lease at the last count.")
ANSWERS = ("placet_candidate_answers_total", "Answers with candidates that were sent to their end.")
FOUND = ("placet_candidates_found_total", "Candidates in these answers.")
STEPS = ("placet_candidate_search_steps_total",
         "Steps of the searches for candidates: a block of 64 providers, or a choice within a tree.")
CONFLICTS = ("placet_writer_conflicts_total", "Attempts that a commit of another process made fail.")
RETRIES = ("placet_writer_retries_total", "Attempts after the first one, by their strategy.")
RELOADS = ("placet_snapshot_reloads_total", "How often all tables had to be read again, by reason.")
LOADS = ("placet_snapshot_load_duration_seconds", "Time to read all tables in seconds, at start and again.")
# The files of the tests that move the other metrics.
ELSEWHERE = {
    "placet_aggregates_omitted": "metrics/numbers.py",
    "placet_candidates_empty_total": "process/refused_searches.py",
    "placet_degraded": "readiness/states.py",
    "placet_leader": "leader/run.py",
    "placet_log_lines_dropped_total": "process/lost_log.py",
    "placet_panics_total": "process/panics.py",
    "placet_silent_hosts": "hosts/run.py",
    "placet_writer_held_rows_total": "race/choices.py",
    "placet_writer_parked": "held_rows/log_lines.py",
    "placet_writer_queue_length": "process/locked.py",
}
# The first one never moves. The second one is 0 for the moments of a reload, which no look meets by intent.
UNMOVED = {"placet_build_info", "placet_snapshot_valid"}
SERVED, SITES = uuid(8, 1), uuid(8, 2)
SUITES = pathlib.Path(__file__).resolve().parents[1]
SHARES = "MISC_SHARES_VIA_AGGREGATE"


def help_texts(page):
    """By the name of the metric."""
    lines = [line.split(" ", 3) for line in page.text.splitlines() if line.startswith("# HELP ")]
    return {name: text for _, _, name, text in lines}


def sums(page):
    """The sum of each metric and of each of its samples that has labels; without those that move all the time."""
    found = {}
    for (name, labels), value in page.samples.items():
        if not name.startswith(RESTLESS):
            name = family(name)
            for key in {name, (name, labels)}:
                found[key] = found.get(key, 0) + value
    return found


def moved(before, after):
    """The sums of the metrics of which a sample changed."""
    before, after = sums(before), sums(after)
    changed = {key for key in before.keys() | after.keys() if before.get(key, 0) != after.get(key, 0)}
    names = {key if isinstance(key, str) else key[0] for key in changed}
    return {name: after.get(name, 0) - before.get(name, 0) for name in names}


def family(name):
    """The name in the help texts: a histogram has samples of three names."""
    for end in ("_bucket", "_count", "_sum"):
        name = name.removesuffix(end)
    return name


def with_aggregates(names):
    """The sums of the cloud, and the same sums of the aggregates."""
    return names | {name.replace("placet_inventory_", "placet_aggregate_inventory_") for name in names}


def foreign_commit(database):
    """What a commit of another program moves, and what it moves on the other engines.

    SQLite shows the commit before the next transaction, and all is read again. On a server a guard fails.
    """
    moves = {RELOADS: None, LOADS: None}, {CONFLICTS: None, RETRIES: None}
    return moves if database.engine == "sqlite" else moves[::-1]


def put_workload(rest, workload, count, generation, **more):
    roles = [{"name": "r", "count": count, "query": "resources=VCPU:1"}]
    rest.must("PUT", f"/v1/workloads/{workload}", {"generation": generation, "name": workload, "roles": roles, **more})


def describe(rest, number, generation, **what):
    rest.must("PUT", f"/v1/providers/{host(number)}", {"generation": generation, **what})


def actions(rest, database):
    """What is done; what it moves, by name and help text, and by how much in sum."""
    def claimed():
        assert claim(rest, 1, 2).status == 204

    def refused():
        assert claim(rest, 2, 16).status == claim(rest, 3, 16).status == 409

    def released():
        rest.must("DELETE", f"/allocations/{uuid(3, 1)}")

    def read():
        rest.must("GET", f"/allocations/{uuid(3, 1)}")

    def searched():
        rest.must("GET", "/allocation_candidates?resources=VCPU:1")

    def foreseen():
        body = {"consumers": [{"uuid": uuid(3, 4), "query": "resources=VCPU:1", "project_id": "p", "user_id": "u"}]}
        assert rest("POST", "/v1/claims?dry_run=true", body).status == 200

    def created():
        rest.must("POST", "/resource_providers", {"name": "new", "uuid": host(99)})

    def reported():
        rest.must("PUT", f"/v1/hosts/{host(99)}/report", {"holder": "agent", "boot": "boot", "number": 1, "lease": 86_400})

    def drained():
        describe(rest, 0, None, state="draining")

    def pending():
        put_workload(rest, SERVED, hosts, None, atomic=False)

    def shrunk():
        put_workload(rest, SERVED, 1, 1)

    def in_two_sites():
        for number in range(1, hosts):
            describe(rest, number, None, domains={"fault": f"fd:/dc{number % 2}"})

    def unsafe():
        put_workload(rest, SITES, 3, None, rules=[{"rule": "spread", "dimensions": ["fault"], "mode": "quorum-safe"}])

    def lost():
        for number in range(1, hosts):
            describe(rest, number, 1, domains={"fault": f"fd:/dc{number % 2}"}, state="lost")

    def shared():
        rest.must("PUT", f"/resource_providers/{host(99)}/traits", {
            "resource_provider_generation": 0, "traits": [SHARES]})

    def joined():
        rest.must("PUT", f"/resource_providers/{host(99)}/aggregates", {
            "resource_provider_generation": 1, "aggregates": [numbers.aggregate(0)]})

    def extended():
        rest.must("PUT", f"/resource_providers/{host(99)}/inventories", {
            "resource_provider_generation": 2, "inventories": {"VCPU": {"total": 100, "reserved": 1}}})

    def written_by_another_program():
        database.run("UPDATE placet_workloads SET body = '{' WHERE uuid = ?", [SITES])
        database.run("UPDATE resource_providers SET generation = generation + 1 WHERE uuid = ?", [host(2)])
        assert claim(rest, 5, 1, at=2).status == 204

    hosts = numbers.HOSTS
    yield claimed, {GRANTED: 1, CONSUMERS: 1, USED: 2, FREE: -2, LARGEST_OF_AGGREGATE: -2}
    yield read, {}
    yield refused, {REFUSED: 2}
    yield released, {RELEASED: 1, CONSUMERS: -1, USED: -2, FREE: 2, LARGEST_OF_AGGREGATE: 2}
    yield searched, {ANSWERS: 1, FOUND: hosts, STEPS: None}
    yield foreseen, {}
    yield created, {PROVIDERS: 1, SLOTS: None, HOSTS: 1}
    yield reported, {LEASES: 1}
    yield drained, {HOSTS: 0}
    yield pending, {WORKLOADS: 1, REPLICAS: hosts, GRANTED: hosts - 1, REFUSED: 1, CONSUMERS: hosts - 1,
                    USED: hosts - 1, FREE: 1 - hosts}
    yield shrunk, {REPLICAS: 1 - hosts, RELEASED: hosts - 2, CONSUMERS: 2 - hosts, USED: 2 - hosts, FREE: hosts - 2}
    yield in_two_sites, {}
    yield unsafe, {WORKLOADS: 1, UNSAFE: 1, REPLICAS: 3, GRANTED: 3, CONSUMERS: 3, USED: 3, FREE: -3}
    yield lost, {HOSTS: 0, QUORUM_LOST: 2, VIOLATIONS: None}
    yield shared, {HOSTS: -1, POOLS: 1}
    yield joined, {MEMBERS: 1}
    yield extended, {UNITS: 100, RESERVED: 1, CAPACITY: 99, FREE: 99, LARGEST: None, WITH_INVENTORY: 1}
    yield written_by_another_program, {
        UNREADABLE: 1, UNSAFE: -1, QUORUM_LOST: -1, VIOLATIONS: None, GRANTED: 1, CONSUMERS: 1, USED: 1, FREE: -1,
        **foreign_commit(database)[0]}


def found_u7_each_metric_is_moved_by_what_its_help_text_says(binary, engine):
    with numbers.service(binary, engine, census_interval=1, pending_interval=0) as placet:
        rest = KeptRest(placet.port)
        numbers.make_cloud(rest)

        def settled():
            """A page whose census began after this call, and whose consumers were counted after it."""
            ages = [age()]

            def is_counted():
                ages.append(age())
                return ages[-1] < ages[-2]
            for _ in range(2):
                becomes("a further count", True, is_counted)
            return scrape.read(placet.port)

        def age():
            return scrape.read(placet.port).sum("placet_census_age_seconds")

        becomes("a count in the metrics", True, lambda: "placet_replicas" in scrape.read(placet.port).text)
        before = settled()
        texts = help_texts(before)
        unmoved = {name for name in texts if not name.startswith(RESTLESS)} - ELSEWHERE.keys() - UNMOVED
        unmoved -= {name for name, _ in foreign_commit(placet.database)[1]}
        for action, expected in actions(rest, placet.database):
            action()
            names = with_aggregates({name for name, _ in expected})
            unmoved -= names
            seen = []

            def is_moved(before=before, names=names, seen=seen):
                """The consumers are counted later: the pause after a count is 99 times as long as the count."""
                seen[:] = [settled()]
                return moved(before, seen[0]).keys() == names
            eventually(lambda: f"{action.__name__}: {moved(before, seen[0]).keys() ^ names}", is_moved)
            after = seen[0]
            found = moved(before, after)
            for (name, text), amount in expected.items():
                assert texts[name] == text, (name, texts[name])
                assert amount is None or found[name] == amount, f"{action.__name__}: {name}: {found[name]}"
            before = after
        assert not unmoved, f"no action moves {unmoved}"
        for name, path in ELSEWHERE.items():
            assert name in (SUITES / path).read_text(), f"{path} does not move {name}"


CASES = [found_u7_each_metric_is_moved_by_what_its_help_text_says]
