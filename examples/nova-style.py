#!/usr/bin/env python3
"""Places a stream of made-up workloads, each in two steps: GET /allocation_candidates, then PUT /allocations.

This is how Nova uses the API. The service says where a consumer fits, the scheduler chooses, and claims the place. In
between another scheduler may have taken it: 409. Then both steps begin again, a few times. The consumers of a gang are
claimed one after the other. If one gets no place, those before it are given back. The service says that there is no
candidate, but not why. examples/scheduler.py does the same job with one call for each workload: POST /v1/claims.

    examples/nova-style.py --demo-cloud 3 10        # creates three hosts, then places 10 workloads
    examples/nova-style.py --rank fullest 10        # what does not fit any more is printed

A request is repeated after 503 and after a broken connection, whose outcome may be unknown. Then the first
answer is lost, and the consumer may exist. So the repeat is refused with 409. The script then reads what it has.

Needs the package requests. Allocations stay until DELETE /allocations/{consumer}; nothing else is written.
"""

import argparse
import random
import sys
import time
import uuid

import requests

HOST = {"VCPU": {"total": 16}, "MEMORY_MB": {"total": 65536}}
SIZES = {"small": "VCPU:1,MEMORY_MB:2048", "medium": "VCPU:2,MEMORY_MB:8192", "large": "VCPU:6,MEMORY_MB:16384"}
ATTEMPTS = 4  # claims of one consumer
LIMIT = 1000  # candidates of one answer, as of Nova


class Service:
    def __init__(self, url, token):
        self.url, self.session, self.requests = url.rstrip("/"), requests.Session(), 0
        self.conflicts = 0
        self.session.headers.update({"X-Auth-Token": token, "OpenStack-API-Version": "placement 1.39"})

    def ask(self, method, path, body=None, expected=(200, 204)):
        """Returns the answer, and whether an earlier attempt may have been carried out although its answer was lost."""
        for attempt, delay in enumerate((0.1, 0.2, 0.4, 0.8, 1.6, None)):  # seconds before each repeat
            self.requests += 1
            try:
                answer = self.session.request(method, self.url + path, json=body, timeout=30)
                if answer.status_code in expected:
                    return answer, attempt > 0
                problem, may_repeat = f"{answer.status_code} {answer.text}", answer.status_code == 503
            except requests.RequestException as error:
                problem, may_repeat = error, True
            if not may_repeat or delay is None:
                sys.exit(f"{method} {path}: {problem}")
            time.sleep(delay)


def place(service, resources, consumers, rank):
    """For each consumer its allocations, or the reasons why it has none. All of them are placed, or none is."""
    placed = {}
    for consumer in consumers:
        outcome = place_one(service, resources, consumer, rank)
        if isinstance(outcome, list):
            for given_back in placed:
                service.ask("DELETE", f"/allocations/{given_back}", expected=(204, 404))
            other = ["Another consumer of this gang has no place."]
            return [outcome if it == consumer else other for it in consumers]
        placed[consumer] = outcome
    return list(placed.values())


def place_one(service, resources, consumer, rank):
    """The allocations of one consumer, or the reasons why it has none."""
    for _ in range(ATTEMPTS):
        found = service.ask("GET", f"/allocation_candidates?resources={resources}&limit={LIMIT}")[0].json()
        if not found["allocation_requests"]:
            return ["No candidate: no reason is known."]
        best = min(found["allocation_requests"], key=lambda it: cost(it, found["provider_summaries"], rank))
        claim = {**best, "project_id": "demo", "user_id": "demo", "consumer_type": "INSTANCE",
                 "consumer_generation": None}
        answer, is_repeat = service.ask("PUT", f"/allocations/{consumer}", claim, expected=(204, 409))
        if answer.status_code == 204:
            return best["allocations"]
        held = is_repeat and service.ask("GET", f"/allocations/{consumer}")[0].json()["allocations"]
        if held:
            return held
        service.conflicts += 1
    return [f"Conflict: other schedulers took each of the {ATTEMPTS} places that were tried."]


def cost(candidate, summaries, rank):
    """How bad a candidate is, by the shares of its providers and classes that would be used after the claim."""
    shares = []
    for provider, share in candidate["allocations"].items():
        for name, amount in share["resources"].items():
            now = summaries[provider]["resources"][name]
            shares.append((now["used"] + amount) / now["capacity"])
    return {"fullest": -max(shares), "emptiest": max(shares), "tightest": sum(1 - it for it in shares),
            "random": random.random()}[rank]


def show(workload, consumer, outcome):
    if isinstance(outcome, list):
        return print("refused", workload, f"{consumer}:", *outcome)
    for provider, share in outcome.items():
        amounts = ",".join(f"{name}:{amount}" for name, amount in share["resources"].items())
        print("placed", workload, f"{consumer}: {amounts} on {provider}")


def create_demo_cloud(service, hosts):
    for name in [f"demo-{number}" for number in range(hosts)]:
        host = {"name": name, "uuid": str(uuid.uuid5(uuid.NAMESPACE_DNS, name))}
        if service.ask("POST", "/resource_providers", host, expected=(200, 409))[0].status_code == 200:
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
    print(f"{sum(outcomes)} placed, {len(outcomes) - sum(outcomes)} refused, {service.requests} requests, "
          f"{service.conflicts} conflicts")


main()
