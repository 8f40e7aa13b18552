"""The numbers of `/metrics` equal the API's answers and the requests so far."""

import concurrent.futures
import http.client
import re
from collections import Counter

from functional_tests.lib import live, ports
from functional_tests.lib.patience import HANG_SECONDS, becomes
from functional_tests.lib.rest import KeptRest, Rest
from functional_tests.lib.servers import machine
from functional_tests.metrics import scrape

HOSTS, HOST_VCPU, RESERVED = 5, 8, 1
ODD_REQUESTS, ODD_CLIENTS = 10_000, 4
MOST_ODD_SERIES = 250  # one route `other`, with its methods and statuses, and the histogram of each


def uuid(kind, number):
    return f"{kind:08x}-0000-4000-8000-{number:012d}"


def host(number):
    return uuid(1, number)


def aggregate(number):
    return uuid(2, number)


def make_cloud(rest):
    """Hosts with VCPU and DISK_GB, in two aggregates: all in the first one, the first host in the second one too."""
    for number in range(HOSTS):
        path = f"/resource_providers/{host(number)}"
        rest.must("POST", "/resource_providers", {"name": f"host{number}", "uuid": host(number)})
        rest.must("PUT", f"{path}/inventories", {"resource_provider_generation": 0, "inventories": {
            "VCPU": {"total": HOST_VCPU, "reserved": RESERVED, "allocation_ratio": 2.5, "max_unit": 16},
            "DISK_GB": {"total": 100 + number}}})
        rest.must("PUT", f"{path}/aggregates", {
            "resource_provider_generation": 1,
            "aggregates": [aggregate(0)] + ([aggregate(1)] if number == 0 else [])})


def claim(rest, number, amount, at=0, resource_class="VCPU", **more):
    body = {"allocations": {host(at): {"resources": {resource_class: amount}}}, "project_id": "p", "user_id": "u",
            "consumer_generation": None, "consumer_type": "VM", **more}
    return rest("PUT", f"/allocations/{uuid(3, number)}", body)


def service(binary, engine, **options):
    return live.Service("placet", {"placet": {name: str(value) for name, value in options.items()}}, binary,
                        engine=engine)


def the_cloud_is_what_the_api_says(binary, engine):
    with service(binary, engine) as placet:
        rest = KeptRest(placet.port)
        make_cloud(rest)
        for number in range(7):
            assert claim(rest, number, 2, at=number % HOSTS).status == 204
        sums, free = {}, Counter()
        for number in range(HOSTS):
            path = f"/resource_providers/{host(number)}"
            usages = rest.must("GET", f"{path}/usages").json["usages"]
            for name, inventory in rest.must("GET", f"{path}/inventories").json["inventories"].items():
                capacity = int((inventory["total"] - inventory["reserved"]) * inventory["allocation_ratio"])
                of_class = sums.setdefault(name, Counter())
                of_class.update(units=inventory["total"], reserved=inventory["reserved"], capacity=capacity,
                                used=usages[name], providers=1, free=capacity - usages[name])
                of_class["largest_free"] = max(of_class["largest_free"], capacity - usages[name])
                if number == 0:
                    free[name] = capacity - usages[name]
        seen = scrape.read(placet.port)
        for family in ("units", "reserved", "capacity", "used", "free", "largest_free", "providers"):
            expected = {name: of_class[family] for name, of_class in sums.items()}
            assert seen.by(f"placet_inventory_{family}", "resource_class") == expected, (family, expected)
            everywhere = seen.by(f"placet_aggregate_inventory_{family}", "aggregate", "resource_class")
            for name, amount in expected.items():
                assert everywhere[aggregate(0), name] == amount, (family, name)
        for name, amount in free.items():
            assert seen.sum("placet_aggregate_inventory_free", aggregate=aggregate(1), resource_class=name) == amount
        assert seen.sum("placet_providers") == HOSTS
        # The pause after a count of the consumers is 99 times as long as the count.
        becomes("the number of consumers", 7, lambda: scrape.read(placet.port).sum("placet_consumers"))
        assert seen.sum("placet_snapshot_slots", state="used") == HOSTS
        assert seen.by("placet_aggregate_providers", "aggregate") == {aggregate(0): HOSTS, aggregate(1): 1}


def claims_are_counted_by_their_answers(binary, engine):
    with service(binary, engine) as placet:
        rest = KeptRest(placet.port)
        make_cloud(rest)
        before = scrape.read(placet.port)
        assert before.sum("placet_claims_granted_total") == before.sum("placet_claims_refused_total") == 0
        for number in range(4):
            assert claim(rest, number, 2).status == 204
        for refused in (
                claim(rest, 90, 17),  # more than max_unit
                claim(rest, 91, 12), claim(rest, 92, 16),  # 17.5 - 8 are free
                claim(rest, 93, 1, at=77),  # no such provider
                claim(rest, 94, 1, resource_class="MEMORY_MB"),  # no inventory of it
                claim(rest, 0, 1)):  # exists
            assert refused.status in (400, 409), refused
        everything = {"project_id": "p", "user_id": "u", "consumer_generation": None, "consumer_type": "VM"}
        rest.must("POST", "/allocations", {
            uuid(3, number): {"allocations": {host(1): {"resources": {"VCPU": 1}}}, **everything}
            for number in (10, 11, 12)})
        placed = rest.must("POST", "/v1/claims", {"consumers": [
            {"uuid": uuid(3, 20), "query": "resources=VCPU:3", "project_id": "p", "user_id": "u"}]}, status=(200, 201))
        assert placed, placed
        no_place = rest("POST", "/v1/claims", {"consumers": [
            {"uuid": uuid(3, 21), "query": "resources=VCPU:16&required=HW_CPU_X86_AVX2", "project_id": "p",
             "user_id": "u"}]})
        assert no_place.status == 409, no_place
        for number in (0, 1):
            rest.must("DELETE", f"/allocations/{uuid(3, number)}")
        seen = scrape.read(placet.port)
        assert seen.sum("placet_claims_granted_total") == 4 + 3 + 1, seen.sum("placet_claims_granted_total")
        assert seen.sum("placet_claims_released_total") == 2
        refused = {reason: count for reason, count in seen.by("placet_claims_refused_total", "reason").items() if count}
        query_reason = refused.keys() - {"units", "no_room", "provider_not_found", "no_inventory", "concurrent_update"}
        assert len(query_reason) <= 1 and sum(refused.values()) == 7, refused
        assert (refused["units"], refused["provider_not_found"], refused["concurrent_update"]) == (1, 1, 1), refused
        assert refused["no_inventory"] == 1 and refused["no_room"] >= 2, refused


def requests_are_counted_exactly(binary, engine):
    with service(binary, engine, url_prefix="/placement") as placet:
        rest = KeptRest(placet.port)
        make_cloud(rest)
        before = scrape.read(placet.port)
        sent = Counter()
        for number in range(60):
            version = ("1.0", "1.14", "1.39")[number % 3]
            for method, path, route, status in (
                    ("GET", "/resource_providers", "/resource_providers", 200),
                    ("GET", f"/placement/resource_providers/{host(0)}", "/resource_providers/{uuid}", 200),
                    ("GET", f"/resource_providers/{uuid(9, number)}", "/resource_providers/{uuid}", 404),
                    ("PATCH", "/resource_providers", "/resource_providers", 405),
                    ("GET", "/nowhere", "other", 404)):
                assert rest(method, path, version=version).status == status, path
                sent[route, method, str(status)] += 1
        found = rest.must("GET", "/allocation_candidates?resources=VCPU:1").json["allocation_requests"]
        after = scrape.read(placet.port)
        for (route, method, status), count in sent.items():
            labels = {"route": route, "method": method}
            gained = [metrics.sum("placet_http_requests_total", status=status, **labels) for metrics in (before, after)]
            assert gained[1] - gained[0] == count, (route, method, status, gained)
        name = "placet_http_requests_total"
        requests = after.sum(name) - before.sum(name)
        assert requests == sum(sent.values()) + 1 + 1, requests  # the candidates, and the first scrape
        for version in ("1.0", "1.14"):
            gained = [metrics.sum("placet_http_requests_by_microversion_total", microversion=version)
                      for metrics in (before, after)]
            assert gained[1] - gained[0] == 100, (version, gained)
        timed = after.sum("placet_http_request_duration_seconds_count")
        assert timed == after.sum(name) == after.sum("placet_http_request_duration_seconds_bucket", le="+Inf")
        assert after.sum("placet_candidate_answers_total") == 1
        assert after.sum("placet_candidates_found_total") == len(found) == HOSTS
        assert after.sum("placet_candidate_search_steps_total") > 0
        assert after.sum("placet_writer_batch_size_count") == 3 * HOSTS, "one batch for each write of a single client"


def odd_requests_make_no_series(binary, engine):
    """Methods and paths that a scanner or an attacker may send."""
    with service(binary, engine) as placet:
        Rest(placet.port).must("GET", "/resource_providers")
        before = len(scrape.read(placet.port).samples)

        def send(client):
            connection = http.client.HTTPConnection("127.0.0.1", placet.port, timeout=HANG_SECONDS)
            for number in range(ODD_REQUESTS // ODD_CLIENTS):
                odd = f"{client}x{number}"
                method = ("GET", "POST", f"M{odd}")[number % 3]
                path = (f"/odd/{odd}", f"/traits/CUSTOM_{odd}", f"/resource_providers/{odd}/x", f"/v1/{odd}")[number % 4]
                connection.request(method, path, headers={"x-auth-token": "admin", "openstack-api-version": "placement 1.39"})
                connection.getresponse().read()
            connection.close()

        with concurrent.futures.ThreadPoolExecutor(ODD_CLIENTS) as clients:
            list(clients.map(send, range(ODD_CLIENTS)))
        after = scrape.read(placet.port)
        assert after.sum("placet_http_requests_total") >= ODD_REQUESTS
        new = len(after.samples) - before
        assert new <= MOST_ODD_SERIES, f"{new} new series"


def aggregates_are_bounded(binary, engine):
    with service(binary, engine, metrics_aggregates=1) as placet:
        make_cloud(Rest(placet.port))
        seen = scrape.read(placet.port)
        assert seen.by("placet_aggregate_providers", "aggregate") == {aggregate(0): HOSTS}
        assert seen.sum("placet_aggregates_omitted") == 1
    with service(binary, engine, metrics_aggregates=0) as placet:
        make_cloud(Rest(placet.port))
        seen = scrape.read(placet.port)
        assert "placet_aggregate_" not in seen.text and seen.sum("placet_aggregates_omitted") == 2


def the_metrics_can_have_a_port_a_token_or_be_off(binary, engine):
    own, token = ports.free_port(), "a-secret-token"
    with service(binary, engine, metrics_bind=f"127.0.0.1:{own}") as placet:
        assert scrape.read(own).sum("placet_providers") == 0
        assert scrape.get(own, path="/health/ready").status == 200
        assert scrape.get(own, path="/resource_providers").status == 404
        assert scrape.get(placet.port).status == 401, "the API's port has no metrics then"
    files = {"token": token + "\n"}
    with live.Service("placet", {"placet": {"metrics_token_file": "{folder}/token"}}, binary, files=files,
                      engine=engine) as placet:
        for headers in ({}, {"authorization": "Bearer wrong"}, {"authorization": token}, {"x-auth-token": "admin"}):
            answer = scrape.get(placet.port, headers)
            assert answer.status == 401 and answer.headers["www-authenticate"] == "Bearer", (headers, answer)
            assert token not in answer.raw.decode()
        for scheme in ("Bearer", "bearer"):
            scrape.read(placet.port, {"authorization": f"{scheme} {token}"})
        (placet.folder / "token").write_text("another-token")
        assert scrape.get(placet.port, {"authorization": f"Bearer {token}"}).status == 401
        with scrape.Prometheus([placet.port], placet.folder / "token") as prometheus:
            prometheus.wait("scraped with the token", lambda: prometheus.query("placet_build_info"))
        (placet.folder / "token").unlink()
        assert scrape.get(placet.port, {"authorization": "Bearer another-token"}).status == 401
        assert token not in placet.log()
    with service(binary, engine, metrics="false") as placet:
        assert scrape.get(placet.port).status == 401 and Rest(placet.port)("GET", "/metrics").status == 404


def promtool_accepts_the_metrics(binary, engine):
    machine.program("promtool", "prometheus")
    with service(binary, engine) as placet:
        rest = Rest(placet.port)
        make_cloud(rest)
        claim(rest, 1, 1)
        rest.must("GET", "/allocation_candidates?resources=VCPU:1")
        answer = scrape.get(placet.port)
        assert answer.headers["content-type"] == "text/plain; version=0.0.4; charset=utf-8"
        said = scrape.promtool("check", "metrics", text=answer.raw.decode())
        assert not said.strip(), said
        assert rest("POST", "/metrics").status == 405


def documented():
    """The names in the table of docs/observing.md. `…_x` continues the name before it, and a name that ends with `…`
    is a prefix.
    """
    names, prefixes = set(), set()
    rows = (scrape.CONTRIB.parent / "docs" / "observing.md").read_text().splitlines()
    for cell in (row.split("|")[1] for row in rows if row.startswith("| `")):
        for name in re.findall(r"`((?:placet_|process_|…)[\w…]*)`", cell):
            if name.endswith("…"):
                prefixes.add(name.removesuffix("…"))
            elif name.startswith("…"):
                names.add(found.rsplit("_", 1)[0] + name.removeprefix("…"))
            else:
                found = name
                names.add(name)
    return names, prefixes


def the_names_are_those_of_the_documentation(binary, engine):
    """In both directions; those of Keystone are there only if placet validates tokens with it."""
    with service(binary, engine, census_interval=1) as placet:
        make_cloud(KeptRest(placet.port))
        becomes("a count in the metrics", True, lambda: "placet_replicas" in scrape.read(placet.port).text)
        text = scrape.read(placet.port).text
    there = set(re.findall(r"^# TYPE (\w+) ", text, re.MULTILINE))
    names, prefixes = documented()
    names = {name for name in names if not name.startswith("placet_keystone_")}
    assert len(names) > 40 and names <= there, names - there
    missing = {name for name in there - names if not name.startswith(tuple(prefixes))}
    assert not missing, missing


CASES = [
    the_cloud_is_what_the_api_says,
    claims_are_counted_by_their_answers,
    requests_are_counted_exactly,
    aggregates_are_bounded,
    the_metrics_can_have_a_port_a_token_or_be_off,
    promtool_accepts_the_metrics,
    odd_requests_make_no_series,
    the_names_are_those_of_the_documentation,
]
