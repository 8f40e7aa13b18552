"""What moves each metric: an action changes exactly the metrics whose help texts say so."""

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
PROVIDERS = ("placet_providers", "Resource providers.")
SLOTS = ("placet_snapshot_slots", "The size of the snapshot: its places for providers, by state.")
HOSTS = ("placet_hosts", "Root resource providers that share nothing, by state.")
WORKLOADS = ("placet_workloads", "Workloads at the last count.")
UNSAFE = ("placet_workloads_unsafe", "Workloads at the last count with safe false.")
REPLICAS = ("placet_replicas", "Replicas of workloads at the last count, placed and pending.")
VIOLATIONS = ("placet_violations", "Violations at the last count, by rule and level as in GET /v1/violations.")
ANSWERS = ("placet_candidate_answers_total", "Answers with candidates that were sent to their end.")
FOUND = ("placet_candidates_found_total", "Candidates in these answers.")
STEPS = ("placet_candidate_search_steps_total",
         "Steps of the searches for candidates: a block of 64 providers, or a choice within a tree.")
WORKLOAD = f"/v1/workloads/{uuid(8, 1)}"


def help_texts(page):
    """By the name of the metric."""
    lines = [line.split(" ", 3) for line in page.text.splitlines() if line.startswith("# HELP ")]
    return {name: text for _, _, name, text in lines}


def sums(page):
    """The sum of each metric and of each of its samples that has labels; without those that move all the time."""
    found = {}
    for (name, labels), value in page.samples.items():
        if not name.startswith(RESTLESS) and not name.startswith("placet_aggregate_"):
            for key in {name, (name, labels)}:
                found[key] = found.get(key, 0) + value
    return found


def moved(before, after):
    """The sums of the metrics of which a sample changed."""
    before, after = sums(before), sums(after)
    changed = {key for key in before.keys() | after.keys() if before.get(key, 0) != after.get(key, 0)}
    names = {key if isinstance(key, str) else key[0] for key in changed}
    return {name: after.get(name, 0) - before.get(name, 0) for name in names}


def put_workload(rest, count, generation, **more):
    roles = [{"name": "r", "count": count, "query": "resources=VCPU:1"}]
    rest.must("PUT", WORKLOAD, {"generation": generation, "name": "web", "roles": roles, **more})


def describe(rest, generation, **what):
    rest.must("PUT", f"/v1/providers/{host(0)}", {"generation": generation, **what})


def actions(rest):
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

    def drained():
        describe(rest, None, state="draining")

    hosts = numbers.HOSTS
    yield claimed, {GRANTED: 1, CONSUMERS: 1, USED: 2, FREE: -2}
    yield read, {}
    yield refused, {REFUSED: 2}
    yield released, {RELEASED: 1, CONSUMERS: -1, USED: -2, FREE: 2}
    yield searched, {ANSWERS: 1, FOUND: hosts, STEPS: None}
    yield foreseen, {}
    yield created, {PROVIDERS: 1, SLOTS: None, HOSTS: 1}
    yield drained, {HOSTS: 0}
    yield lambda: put_workload(rest, hosts, None, atomic=False), {
        WORKLOADS: 1, REPLICAS: hosts, GRANTED: hosts - 1, REFUSED: 1, CONSUMERS: hosts - 1, USED: hosts - 1,
        FREE: 1 - hosts}
    yield lambda: put_workload(rest, 1, 1), {
        REPLICAS: 1 - hosts, RELEASED: hosts - 2, CONSUMERS: 2 - hosts, USED: 2 - hosts, FREE: hosts - 2}


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
        for action, expected in actions(rest):
            action()
            names = {name for name, _ in expected}
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


CASES = [found_u7_each_metric_is_moved_by_what_its_help_text_says]
