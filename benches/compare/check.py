"""Checks the bench before it measures: both services give the same responses, and the generator does what it counts.

    python -m benches.compare.check [--binary PATH] [--generator PATH]

On a small cloud of each shape, every search finds the same number on both services. The tables have as many claims as
were counted. One-call placement refuses nothing while there is room. A report changes an inventory, and increments as
many generations as reports were counted. Tables and chart are checked with records of one system and of two, and
--write is refused for a part.
"""

import argparse
import contextlib
import io

from benches.compare import chart, one_call, run, table, workloads
from benches.compare.cloud import SHAPES
from benches.compare.interleaved import Testbed
from benches.compare.load_generator import LoadGenerator
from benches.compare.scenarios import scenarios
from functional_tests.lib import engines
from functional_tests.lib.rest import Rest
from functional_tests.lib.test_counts import TestCounts

HOSTS = 600
# Scenarios with more clients do the same.
MAX_CLIENTS = 8
ROUND_SECONDS = 0.3
REQUESTS_PER_REPORT = 6
ALLOCATIONS_PER_CLAIM = 3


def count_found(service, path):
    """The number of candidates or providers in a response."""
    body = Rest(service.port, version="1.39").must("GET", path).json
    return len(body.get("allocation_requests", body.get("resource_providers")))


def same_responses(testbed, scenario):
    path = scenario.path.replace("{host}", testbed.cloud.hosts[7].root.uuid)
    placets, upstreams = (count_found(services[0], path) for services in (testbed.placet(), testbed.upstream()))
    assert placets == upstreams, f"placet found {placets}, OpenStack Placement {upstreams}: {path}"
    assert (placets == 0) == ("nothing" in scenario.name), f"{placets} were found: {path}"


def select(database, *expressions):
    return [database.query(f"SELECT {expression}")[0][0] for expression in expressions]


def measure_once(testbed, scenario, system):
    """The result of one short round."""
    scenario.seconds = ROUND_SECONDS
    (record,) = testbed.measure(scenario, 1, [system])
    (result,) = record["rounds"]
    assert result["completed"] > 0, record
    return result


def claims_are_written(testbed, scenario, system):
    counts = [f"COUNT(*) FROM {table}" for table in ("consumers", "allocations")]
    database = database_of(testbed, system)
    testbed.warm_up_writes(scenario, system)
    consumers, allocations = select(database, *counts)
    result = measure_once(testbed, scenario, system)
    claims = result["completed"] * one_call.placements(scenario)
    failures = one_call.failures(scenario, result)
    assert not failures, f"one-call placement failed although there is room: {failures}"
    consumers_after, allocations_after = select(database, *counts)
    new_consumers, new_allocations = consumers_after - consumers, allocations_after - allocations
    assert (new_consumers, new_allocations) == (claims, ALLOCATIONS_PER_CLAIM * claims), \
        f"{new_consumers} new consumers with {new_allocations} allocations, but {claims} claims were counted"


def reports_are_written(testbed, scenario, system):
    generations = "SUM(generation) FROM resource_providers"
    changed = "COUNT(*) FROM inventories WHERE reserved IN (2049, 4097)"
    database = database_of(testbed, system)
    testbed.warm_up_writes(scenario, system)
    (before,) = select(database, generations)
    result = measure_once(testbed, scenario, system)
    (after,) = select(database, generations)
    assert set(result["outcomes"]) == ({"200"} if system == "placet" else set()), result
    reports = result["completed"] / REQUESTS_PER_REPORT
    assert after - before == reports, f"{after - before} generations were incremented, but {reports} reports were counted"
    assert select(database, changed)[0] > 0, "no inventory has changed"


def database_of(testbed, system):
    return testbed.own if system == "placet" else testbed.other


def write_is_refused(words):
    """The results of a part must not replace those of a whole bench."""
    try:
        with contextlib.redirect_stderr(io.StringIO()) as stderr:
            run.arguments([*words, "--write"])
    except SystemExit:
        assert "--write" in stderr.getvalue(), stderr.getvalue()
    else:
        raise AssertionError("it would be written")


def _result(rate, body_bytes):
    """Of a round of ten seconds."""
    completed = 10 * rate
    return {"rate": rate, "completed": completed, "seconds": 10.0, "bytes": completed * body_bytes, "outcomes": {}}


def tables_and_chart():
    """With one system there is nothing to compare, which must not fail."""
    placet = {"engine": "postgresql", "shape": "flat", "hosts": 1000, "scenario": "claims, random hosts", "clients": 1,
              "group": "claims", "system": "placet", "rounds": [_result(5.0, 0)]}
    found = {"machine": run.machine(), "records": [placet], "search": [], "refusals": [],
             "claims_together": [], "first_candidates": [], "one_call": []}
    assert chart.svg(found).endswith("</svg>\n") and "5.0/s" in table.text(found)
    assert "Requests per second" not in chart.svg(found)
    upstream = placet | {"system": "upstream", "rounds": [_result(0.5, 3e6) | {"warm_up_clients": 2}]}
    found["records"] += [upstream, placet | {"engine": "sqlite"}, upstream | {"engine": "sqlite"}]
    assert "10 ×" in chart.svg(found) and "in every cloud" in chart.svg(found) and "5.0 (10.0×)" in table.text(found)
    assert "0.5/s (1.5 MB/s) (2)" in table.text(found)
    upstream["rounds"] = [_result(500, 3e6)]
    assert "500/s (1.5 GB/s)" in table.text(found) and "5.0/s |" in table.text(found)
    upstream["rounds"] = [_result(0.5, 3e6)]
    many_clients = {"clients": 32, "shape": "shared"}
    found["records"] += [placet | many_clients, upstream | many_clients, placet | {"clients": 32}]
    head, _, *ratios = table.ratios(found)
    assert head.startswith("| 1,000 hosts, ") and ratios == ["| claims by 32 clients | 10.0 |"], (head, ratios)


def one_call_table(testbed):
    """Of one short round; a refusal is shown."""
    record = one_call.record(testbed, MAX_CLIENTS, 1, ROUND_SECONDS)
    assert not one_call.failures_of([record]), record
    of_one, of_gangs = (line for line in one_call.table([record]) if line.startswith("| sqlite"))
    assert of_one.endswith("×) |  |") and of_gangs.endswith("ms) |  |"), (of_one, of_gangs)
    record["scenarios"]["query"][0]["failures"] = {"409 placet.claim_refused": 2}
    assert any("2 409 placet.claim_refused" in line for line in one_call.table([record]))


def check_shape(counts, shape, chosen):
    generator = LoadGenerator(chosen.generator)
    with engines.Engine("sqlite", durable=True) as server, \
            Testbed(server, shape, HOSTS, generator, chosen.binary) as testbed:
        for scenario in scenarios(testbed.cloud):
            if scenario.processes > 1 or scenario.clients > MAX_CLIENTS:
                continue
            title = f"{shape}: {scenario.name}, {scenario.clients} clients"
            if scenario.kind == "get":
                counts.step(title, same_responses, testbed, scenario)
            else:
                are_written = reports_are_written if scenario.kind == "report" else claims_are_written
                for system in testbed.systems(scenario, ("placet", "sql_baseline")):
                    counts.step(f"{title}, {system}", are_written, testbed, scenario, system)
        for scenario in one_call.scenarios(MAX_CLIENTS):
            counts.step(f"{shape}: one call, {scenario.name}", claims_are_written, testbed, scenario, "placet")
        counts.step(f"{shape}: the table of one call", one_call_table, testbed)
        workloads.describe_hosts(testbed)
        counts.step(f"{shape}: workloads", claims_are_written, testbed, workloads.scenarios(MAX_CLIENTS)[-1], "placet")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--binary", help="placet's binary, if not that of `cargo build --profile dist`")
    parser.add_argument("--generator", help="the load generator's binary, if not that of `./tox.sh bench`")
    chosen = parser.parse_args()
    counts = TestCounts()
    for words in (["--group", "growth"], ["--engine", "mariadb"], ["--hosts", "1000"], ["--rounds", "1"], ["--full"]):
        counts.step(f"{' '.join(words)} is not written", write_is_refused, words)
    counts.step("tables and chart of one system, and of two", tables_and_chart)
    for shape in SHAPES:
        counts.step(f"{shape}: the cloud", check_shape, counts, shape, chosen)
    counts.finish()


if __name__ == "__main__":
    main()
