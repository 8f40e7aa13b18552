#!/usr/bin/env python3
"""Places a stream of made-up workloads, each with one call: POST /v1/claims.

The call says what is wanted, for one consumer or for a gang, and which place is the best. The service finds that place
and claims it: no other scheduler can take it in between. The answer says where each consumer is, or why it has no
place. examples/nova-style.py does the same job in two steps: GET /allocation_candidates, then PUT /allocations.

    examples/scheduler.py --demo-cloud 3 10        # creates three hosts, then places 10 workloads
    examples/scheduler.py --rank fullest 10        # what does not fit any more is printed with the reasons

A call is repeated after 503 and after a broken connection. Its id makes that safe: if the first one was carried out,
the repetition gets its answer, and nothing is claimed twice. 409 is a refusal, with reasons. After a repetition it
counts once the first call cannot be under way. Needs the package requests. Allocations stay.
"""

import argparse
import random
import sys
import time
import uuid

import requests

HOST = {"VCPU": {"total": 16}, "MEMORY_MB": {"total": 65536}}
COMMIT_TIMEOUT = 10  # seconds: [placet] commit_timeout of the service
SIZES = {"small": "VCPU:1,MEMORY_MB:2048", "medium": "VCPU:2,MEMORY_MB:8192", "large": "VCPU:6,MEMORY_MB:16384"}


class Service:
    def __init__(self, url, token):
        self.url, self.session, self.requests, self.is_unknown = url.rstrip("/"), requests.Session(), 0, False
        self.session.headers.update({"X-Auth-Token": token, "OpenStack-API-Version": "placement 1.39"})

    def ask(self, method, path, body=None, expected=(200, 204)):
        self.is_unknown = False  # whether an earlier attempt may have been carried out, or still will be
        for delay in (0.1, 0.2, 0.4, 0.8, 1.6, None):  # seconds before each repetition
            self.requests += 1
            try:
                answer = self.session.request(method, self.url + path, json=body, timeout=30)
                if answer.status_code in expected:
                    return answer
                problem, may_repeat = f"{answer.status_code} {answer.text}", answer.status_code == 503
            except requests.RequestException as error:
                problem, may_repeat = error, True
            if not may_repeat or delay is None:
                sys.exit(f"{method} {path}: {problem}")
            self.is_unknown = True
            time.sleep(delay)


def place(service, resources, consumers, rank):
    """For each consumer its allocations, or the reasons why it has none. All of them are placed, or none is."""
    query = {"resources": resources}
    call = {"id": str(uuid.uuid4()), "consumers": [{"uuid": it, "query": query, "rank": rank} for it in consumers]}
    answer = service.ask("POST", "/v1/claims", call, expected=(200, 409))
    if answer.status_code == 409 and service.is_unknown:
        time.sleep(COMMIT_TIMEOUT)
        answer = service.ask("POST", "/v1/claims", call, expected=(200, 409))
    return [it["allocations"] if it["granted"] else [f"{why['code']}: {why['detail']}" for why in it["reasons"]]
            for it in answer.json()["consumers"]]


def show(workload, consumer, outcome):
    if isinstance(outcome, list):
        return print("refused", workload, f"{consumer}:", *outcome)
    for provider, share in outcome.items():
        amounts = ",".join(f"{name}:{amount}" for name, amount in share["resources"].items())
        print("placed", workload, f"{consumer}: {amounts} on {provider}")


def create_demo_cloud(service, hosts):
    for name in [f"demo-{number}" for number in range(hosts)]:
        host = {"name": name, "uuid": str(uuid.uuid5(uuid.NAMESPACE_DNS, name))}
        if service.ask("POST", "/resource_providers", host, expected=(200, 409)).status_code == 200:
            inventories = {"resource_provider_generation": 0, "inventories": HOST}
            service.ask("PUT", f"/resource_providers/{host['uuid']}/inventories", inventories)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("count", type=int, help="how many workloads; one in four is a gang of four equal consumers")
    parser.add_argument("--url", default="http://127.0.0.1:8778", help="the service (default: %(default)s)")
    parser.add_argument("--token", default="admin", help="X-Auth-Token (default: %(default)s)")
    parser.add_argument("--rank", default="emptiest", choices=("fullest", "emptiest", "tightest", "random"))
    parser.add_argument("--seed", type=int, default=1, help="of the sizes; equal seeds make equal streams")
    parser.add_argument("--demo-cloud", type=int, default=0, metavar="HOSTS", help="create this many hosts first")
    options = parser.parse_args()
    service, sizes, outcomes = Service(options.url, options.token), random.Random(options.seed), []
    create_demo_cloud(Service(options.url, options.token), options.demo_cloud)
    for number in range(options.count):
        size, members = sizes.choice(list(SIZES)), sizes.choice((1, 1, 1, 4))
        consumers = [str(uuid.uuid4()) for _ in range(members)]
        for consumer, outcome in zip(consumers, place(service, SIZES[size], consumers, options.rank)):
            show(f"{number} {size}", consumer, outcome)
            outcomes.append(isinstance(outcome, dict))
    print(f"{sum(outcomes)} placed, {len(outcomes) - sum(outcomes)} refused, {service.requests} requests")


main()
