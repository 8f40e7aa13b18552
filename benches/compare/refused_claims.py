"""Measures what a refused claim costs, in two builds of placet.

    python -m benches.compare.refused_claims BEFORE AFTER [--shape S] [--hosts N] [--rounds N] [--requests N]

BEFORE and AFTER are binaries of the profile dist. Each serves a copy of one cloud, from a file of its own. In each
round one client sends claims that no host can serve to one build, and then to the other build. A claim by query repeats
an amount, as callers do in a full cloud, or asks for a new amount each time, so that no reason is known. The third
claim is a PUT of too large an amount on one host. A ratio is AFTER divided by BEFORE in the same round, and the median
over the rounds.
"""

import itertools
import json
import statistics
import time
import uuid

from benches.compare import builds, cpu_ratio

TOO_MANY = 100_000
FIGURES = ("median", "CPU")


def by_query(amounts):
    """A claim whose query is for the next amount."""
    consumer = {"uuid": str(uuid.uuid4()), "project_id": "p", "user_id": "u", "query": f"resources=VCPU:{next(amounts)}"}
    return "POST", "/v1/claims", {"consumers": [consumer]}


def on_host(host):
    """A claim on one host."""
    return "PUT", f"/allocations/{uuid.uuid4()}", {
        "allocations": {host: {"resources": {"VCPU": TOO_MANY}}}, "project_id": "p", "user_id": "u",
        "consumer_generation": None, "consumer_type": "INSTANCE"}


def measured(client, requests, claim):
    """The median time and the CPU time of a refusal, in microseconds."""
    times, cpu = [], client.cpu_nanoseconds()
    for _ in range(requests):
        method, path, body = claim()
        text = json.dumps(body)
        begin = time.perf_counter()
        client.ask(method, path, text, status=(409,))
        times.append(time.perf_counter() - begin)
    return statistics.median(times) * 1e6, (client.cpu_nanoseconds() - cpu) / requests / 1000


def main():
    options = builds.parser(__doc__, rounds=9)
    options.add_argument("--requests", type=int, default=200, help="of each kind, in each round, to each build")
    chosen = options.parse_args()
    with builds.running(chosen) as (services, cloud):
        clients = [cpu_ratio.Client(service) for service in services]
        # Both builds get the same amounts.
        same, new = itertools.repeat(TOO_MANY), [itertools.count(TOO_MANY) for _ in clients]
        host = cloud.hosts[0].root.uuid
        claims = {
            "`POST /v1/claims`, the same query": lambda _: by_query(same),
            "`POST /v1/claims`, a new query": lambda at: by_query(new[at]),
            "`PUT /allocations/{uuid}`": lambda _: on_host(host),
        }
        found = {name: builds.alternating(
            chosen.rounds, lambda at, claim=claim: measured(clients[at], chosen.requests, lambda: claim(at)))
            for name, claim in claims.items()}
    print(f"| refused claim | figure | {' | '.join(builds.NAMES)} | ratio |\n|---|---|---|---|---|")
    for name, rounds in found.items():
        for at, figure in enumerate(FIGURES):
            before, after = (statistics.median(each[side][at] for each in rounds) for side in (0, 1))
            ratio = statistics.median(each[1][at] / each[0][at] for each in rounds)
            print(f"| {name} | {figure} | {before:,.0f} µs | {after:,.0f} µs | {ratio:.2f} |")


if __name__ == "__main__":
    main()
