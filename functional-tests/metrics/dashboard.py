"""The dashboard and the alert rules of `contrib/`, with a real Prometheus that scrapes a live placet under traffic."""

import json
import math
import time

from functional_tests.lib.rest import KeptRest
from functional_tests.metrics import numbers, scrape

VARIABLES = {"$job": "placet", "$instance": ".*", "$class": ".*", "$__rate_interval": "20s"}
TRAFFIC_SECONDS = 8


KEYSTONE = "Keystone: "  # the titles of panels that are empty without Keystone; functional_tests.keystone has theirs


def queries():
    """Each query of the dashboard, with the title of its panel."""
    dashboard = json.loads((scrape.CONTRIB / "grafana" / "placet.json").read_text())
    for panel in dashboard["panels"]:
        for target in panel.get("targets", ()):
            expression = target["expr"]
            for name, value in VARIABLES.items():
                expression = expression.replace(name, value)
            assert "$" not in expression, expression
            yield panel["title"], expression


def send_traffic(rest, first):
    for number in range(first, first + 5):
        numbers.claim(rest, number, 1, at=number % numbers.HOSTS)
        rest("GET", "/allocation_candidates?resources=VCPU:1")
        numbers.claim(rest, 10_000 + number, 16)
        rest("DELETE", f"/allocations/{numbers.uuid(3, number)}")
        rest("GET", "/traits/CUSTOM_NONE")


def every_query_and_every_alert_gives_an_answer(binary, engine):
    with numbers.service(binary, engine) as placet, scrape.Prometheus([placet.port]) as prometheus:
        rest = KeptRest(placet.port)
        numbers.make_cloud(rest)
        assert numbers.claim(rest, 999, 1).status == 204
        deadline, first = time.monotonic() + TRAFFIC_SECONDS, 0
        while time.monotonic() < deadline:
            send_traffic(rest, first)
            first += 5
            time.sleep(0.1)
        prometheus.wait("scraped again and again", lambda: len(prometheus.get(
            "/api/v1/query", query="placet_build_info[1m]")["result"][0]["values"]) >= 4)
        empty = []
        for title, expression in queries():
            if title.startswith(KEYSTONE):
                continue
            values = [float(sample["value"][1]) for sample in prometheus.query(expression)]
            if not values or all(math.isnan(value) for value in values):
                empty.append(f"{title}: {expression}: {values}")
        assert not empty, "\n".join(empty)
        shown = rest.must("GET", f"/resource_providers/{numbers.host(0)}/usages").json["usages"]["VCPU"]
        prometheus.wait(f"scraped after the traffic, with {shown} VCPU used", lambda: [float(sample["value"][1]) for sample in
                        prometheus.query('placet_inventory_used{resource_class="VCPU"}')] == [shown])
        check_rules(prometheus)


def check_rules(prometheus):
    """Every rule was evaluated without an error, and none about a broken placet fires."""
    prometheus.wait("evaluated", lambda: all(
        rule["health"] != "unknown" for group in prometheus.get("/api/v1/rules")["groups"] for rule in group["rules"]))
    rules = [rule for group in prometheus.get("/api/v1/rules")["groups"] for rule in group["rules"]]
    assert len(rules) >= 16, len(rules)
    for rule in rules:
        assert rule["health"] == "ok", rule
        prometheus.query(rule["query"])
        if rule["name"] != "PlacetClaimsRefused":  # the traffic is refused on purpose
            assert rule["state"] == "inactive", rule


def the_alert_rules_are_right(_binary, _engine):
    folder = scrape.CONTRIB / "prometheus"
    assert "SUCCESS" in scrape.promtool("check", "rules", folder / "alerts.yml")
    assert "SUCCESS" in scrape.promtool("test", "rules", folder / "alerts_test.yml")


CASES = [every_query_and_every_alert_gives_an_answer]
ONCE = [the_alert_rules_are_right]
