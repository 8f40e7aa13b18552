"""Measures placements of workloads (PUT /v1/workloads/{uuid}) beside plain claims on known hosts.

    python -m benches.compare.workloads [--engine E]… [--shape S]… [--hosts N] [--rounds N] [--seconds S]
                                        [--binary PATH] [--generator PATH]

32 clients create workloads of five replicas by the default rule: adaptive over three sites, with rows and racks of 40
hosts, and over 20 upgrade domains. Each replica takes what a plain claim takes, so the ratio of the rates of replicas
and of claims is that of allocations. Beside them stand gangs of five by query, without rules. All of it alternates on
one running placet; a ratio is the median over the rounds. The cloud has room for all that is placed, so every status
but 200 of a workload or a gang is a failure, and the command ends with status 1.
"""

import argparse
import math
import statistics
import sys

from benches.compare.cloud import SHAPES
from benches.compare.interleaved import ENGINES, Testbed, server
from benches.compare.load_generator import LoadGenerator
from benches.compare.scenarios import MANY_CLIENTS, Scenario
from functional_tests.lib import engines
from functional_tests.lib.rest import KeptRest

HOSTS, ROUNDS, ROUND_SECONDS, REPLICAS = 10_000, 5, 1.0, 5
SITES, HOSTS_A_RACK, RACKS_A_ROW, UPGRADE_DOMAINS = 3, 40, 8, 20
MAX_DESCRIBED = 1000  # in one request
PLAIN, GANGS, WORKLOADS = "plain claims", f"gangs of {REPLICAS}", f"workloads of {REPLICAS}"


def scenarios(clients, seconds=ROUND_SECONDS):
    def scenario(name, kind, **more):
        return Scenario(name, kind, clients, seconds=seconds, group="workloads", more=more)

    return [scenario(PLAIN, "claims"), scenario(GANGS, "one-call", consumers=REPLICAS),
            scenario(WORKLOADS, "workloads", replicas=REPLICAS)]


def domains(number):
    """Of the host with this number."""
    site, rack = number // HOSTS_A_RACK % SITES, number // HOSTS_A_RACK // SITES
    return {"fault": f"fd:/dc{site}/row{rack // RACKS_A_ROW}/rack{rack % RACKS_A_ROW}",
            "upgrade": f"UD{number % UPGRADE_DOMAINS}"}


def describe_hosts(testbed):
    """Says of all hosts in which domains they are."""
    rest = KeptRest(testbed.placet()[0].port, timeout=600)
    all_hosts = [{"uuid": host.root.uuid, "generation": None, "domains": domains(number)}
                 for number, host in enumerate(testbed.cloud.hosts)]
    for first in range(0, len(all_hosts), MAX_DESCRIBED):
        rest.must("PUT", "/v1/providers", {"providers": all_hosts[first:first + MAX_DESCRIBED]})


def record(testbed, rounds=ROUNDS, seconds=ROUND_SECONDS):
    """The results of each round by scenario."""
    found = {scenario.name: [] for scenario in scenarios(MANY_CLIENTS)}
    for number in range(rounds):
        all_scenarios = scenarios(MANY_CLIENTS, seconds)
        # Each round begins with another scenario, because tables grow and servers write back all the time.
        turn = number % len(all_scenarios)
        for scenario in all_scenarios[turn:] + all_scenarios[:turn]:
            (measured,) = testbed.measure(scenario, 1, ["placet"])
            found[scenario.name] += measured["rounds"]
    return {"engine": testbed.engine.kind, "shape": testbed.shape, "hosts": testbed.hosts, "scenarios": found}


def placements(each, name):
    """Claims or replicas a second, by round."""
    count = 1 if name == PLAIN else REPLICAS
    return [result["rate"] * count for result in each["scenarios"][name]]


def ratio(each, name):
    pairs = zip(placements(each, name), placements(each, PLAIN), strict=True)
    return statistics.median(one / (plain or math.nan) for one, plain in pairs)


def failures(each):
    """Outcomes of workloads and gangs that are no success."""
    results = each["scenarios"][GANGS] + each["scenarios"][WORKLOADS]
    return sorted({outcome for result in results for outcome in result["outcomes"] if outcome != "200"})


def row(each):
    cells = [each["engine"], each["shape"], f"{each['hosts']:,}"]
    for name in (PLAIN, GANGS, WORKLOADS):
        of_name = each["scenarios"][name]
        cpu, p50 = (statistics.median(result[key] or math.nan for result in of_name) for key in ("cpu_us", "p50_us"))
        count = 1 if name == PLAIN else REPLICAS
        share = "" if name == PLAIN else f" ({ratio(each, name):.0%})"
        cells.append(f"{statistics.median(placements(each, name)):,.0f}/s{share}, {p50 / 1000:.1f} ms, {cpu / count:,.0f} µs")
    return f"| {' | '.join(cells)} |"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--engine", action="append", choices=engines.ENGINES, help="may be repeated (default: all)")
    parser.add_argument("--shape", action="append", choices=SHAPES, help="may be repeated (default: flat)")
    parser.add_argument("--hosts", type=int, default=HOSTS)
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--seconds", type=float, default=ROUND_SECONDS, help="of each scenario of a round")
    parser.add_argument("--binary", help="placet's binary, if not that of `cargo build --profile dist`")
    parser.add_argument("--generator", help="the load generator's binary, if not that of `./tox.sh bench`")
    chosen = parser.parse_args()
    rows, failed = [], []
    for kind in chosen.engine or ENGINES:
        with server(kind) as engine:
            for shape in chosen.shape or SHAPES[:1]:
                with Testbed(engine, shape, chosen.hosts, LoadGenerator(chosen.generator), chosen.binary) as testbed:
                    describe_hosts(testbed)
                    found = record(testbed, chosen.rounds, chosen.seconds)
                    rows.append(row(found))
                    failed += failures(found)
    print("\nPlacements a second (ratio to plain claims), median of a request, placet's CPU for a placement\n")
    print(f"| engine | shape | hosts | {PLAIN} | {GANGS} | {WORKLOADS} |\n|{'---|' * 6}")
    print(*rows, sep="\n")
    if failed:
        sys.exit(f"placements failed: {', '.join(failed)}")


if __name__ == "__main__":
    main()
