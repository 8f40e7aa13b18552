"""A day's churn played fast: things that come and go leave nothing behind in placet's memory.

    python -m functional_tests.churn.run [--engine ENGINE] [--seconds N] [--seed N] [--binary PATH] [--keep]

Threads make providers with inventories, traits and aggregates, claim from the providers, release, move and delete, with
a new token in each request. At any time the same number of things exists. So after a warm-up the resident memory must
stay constant. `--keep` deletes nothing, so memory grows with the number of things.
"""

import argparse
import os
import pathlib
import random
import statistics
import threading
import time
import uuid

from functional_tests.lib import engines, live
from functional_tests.lib.rest import KeptRest
from functional_tests.lib.test_counts import TestCounts
from functional_tests.process.raw_http import RawConnection

THREADS = 6
# Providers of a thread that exist at the same time.
ALIVE = 20
# Of one round of a thread: consumers that come with one request, and requests that are sent together.
CONSUMERS, TOKENS = 50, 100
SHORT_SECONDS, FULL_SECONDS = 30, 360
WARM_UP = 1 / 3
# What an allocator that is warm may still take: glibc gives each thread's arena back late. Measured: 0.9 MB after the
# warm-up of a run of 20 s with 6,608 requests. The bound is for runs of many minutes: a leak of 100 bytes for each of
# 300,000 requests is 30 MB. A short run notices only what leaks some kilobytes for each request.
MAX_GROWN_MB = 16
SHOWN_SAMPLES = 12


class Client(threading.Thread):
    """Makes one thing after the other, and removes the oldest."""

    def __init__(self, port, seed, keep, stopped):
        super().__init__()
        self.rest, self.raw, self.random = KeptRest(port), RawConnection(port), random.Random(seed)
        self.keep, self.stopped = keep, stopped
        self.made, self.requests, self.problem = [], 0, None

    def run(self):
        try:
            with self.raw:
                self.churn()
        except Exception as problem:  # reported by the run
            self.problem = problem

    def churn(self):
        while not self.stopped.is_set():
            self.made.append(self.make())
            if len(self.made) > ALIVE and not self.keep:
                self.remove(self.made.pop(0))

    def call(self, method, path, body=None, status=(200, 201, 204)):
        # A token of its own for each request, as the users of a cloud have.
        self.rest.token = f"admin:{self.id()}"
        self.requests += 1
        return self.rest.must(method, path, body, status=status).json

    def id(self):
        return str(uuid.UUID(int=self.random.getrandbits(128), version=4))

    def make(self):
        """A provider with a trait and a class of its own, a consumer on it, and a search that finds it."""
        host, consumer, name = self.id(), self.id(), self.random.getrandbits(64)
        path = f"/resource_providers/{host}"
        self.call("POST", "/resource_providers", {"name": f"host {name}", "uuid": host})
        self.call("PUT", f"/traits/CUSTOM_{name}")
        self.call("PUT", f"/resource_classes/CUSTOM_{name}")
        self.call("PUT", f"{path}/inventories", {"resource_provider_generation": 0, "inventories": {
            "VCPU": {"total": 8 + CONSUMERS}, f"CUSTOM_{name}": {"total": 8}}})
        self.call("PUT", f"{path}/traits", {"resource_provider_generation": 1, "traits": [f"CUSTOM_{name}"]})
        self.call("PUT", f"{path}/aggregates", {"resource_provider_generation": 2, "aggregates": [self.id()]})
        found = self.call("GET", f"/allocation_candidates?resources=VCPU:1,CUSTOM_{name}:1&required=CUSTOM_{name}")
        assert len(found["allocation_requests"]) == 1, found
        for amount in (1, 2):
            self.call("PUT", f"/allocations/{consumer}", {
                "allocations": {host: {"resources": {"VCPU": amount, f"CUSTOM_{name}": amount}}},
                "project_id": self.id(), "user_id": self.id(), "consumer_type": "INSTANCE",
                "consumer_generation": None if amount == 1 else 1})
        self.claim_together(host, {"VCPU": 1})
        self.read_with_new_tokens(path)
        # Refused: more than there is.
        self.call("PUT", f"/allocations/{self.id()}", {
            "allocations": {host: {"resources": {"VCPU": 8 + CONSUMERS}}}, "project_id": self.id(),
            "user_id": self.id(), "consumer_type": "INSTANCE", "consumer_generation": None}, status=(409,))
        return host, consumer, name

    def claim_together(self, host, resources):
        """Many consumers come with one request, and go with another."""
        consumers = {self.id(): {
            "allocations": {host: {"resources": resources}}, "project_id": self.id(), "user_id": self.id(),
            "consumer_type": "INSTANCE", "consumer_generation": None} for _ in range(CONSUMERS)}
        self.call("POST", "/allocations", consumers)
        if not self.keep:
            self.call("POST", "/allocations", {
                each: {**claim, "allocations": {}, "consumer_generation": 1} for each, claim in consumers.items()})

    def read_with_new_tokens(self, path):
        """Requests that are sent together, each with a token of its own."""
        sent = (f"GET {path} HTTP/1.1\r\nHost: placet\r\nX-Auth-Token: admin:{self.id()}\r\n\r\n"
                for _ in range(TOKENS))
        self.raw.send("".join(sent))
        for _ in range(TOKENS):
            assert self.raw.reply().status == 200
        self.requests += TOKENS

    def remove(self, thing):
        host, consumer, name = thing
        self.call("DELETE", f"/allocations/{consumer}")
        self.call("DELETE", f"/resource_providers/{host}")
        self.call("DELETE", f"/traits/CUSTOM_{name}")
        self.call("DELETE", f"/resource_classes/CUSTOM_{name}")


def resident_mb(pid):
    status = pathlib.Path(f"/proc/{pid}/status").read_text()
    return int(status.split("VmRSS:")[1].split()[0]) / 1024


def churn(service, seed, seconds, keep):
    """The resident memory, sampled, and the number of requests."""
    stopped, samples = threading.Event(), []
    clients = [Client(service.port, f"{seed}/{n}", keep, stopped) for n in range(THREADS)]
    for client in clients:
        client.start()
    end = time.monotonic() + seconds
    while time.monotonic() < end and all(client.is_alive() for client in clients):
        time.sleep(min(1, seconds / 30))
        samples.append(resident_mb(service.process.pid))
    stopped.set()
    for client in clients:
        client.join()
    for client in clients:
        if client.problem:
            raise client.problem
    return samples, sum(client.requests for client in clients)


def stays_bounded(service, seed, seconds, keep):
    samples, requests = churn(service, seed, seconds, keep)
    warm, last = samples[int(len(samples) * WARM_UP):][:5], samples[-5:]
    grown = statistics.median(last) - statistics.median(warm)
    shown = ", ".join(f"{each:.1f}" for each in samples[::max(1, len(samples) // SHOWN_SAMPLES)])
    print(f"{requests} requests in {seconds} s, each with a token of its own; resident MB: {shown}; "
          f"after the warm-up {grown:+.1f} MB", flush=True)
    assert requests > 20 * seconds, f"only {requests} requests: too few to test anything"
    assert grown < MAX_GROWN_MB, f"memory grew by {grown:.1f} MB after the warm-up"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--engine", choices=("sqlite", "postgresql", "mariadb"), default="sqlite")
    parser.add_argument("--seconds", type=float)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(2**32))
    parser.add_argument("--binary")
    parser.add_argument("--keep", action="store_true")
    options = parser.parse_args()
    is_full = os.environ.get("PLACET_TEST_SIZE") == "full"
    seconds = options.seconds or (FULL_SECONDS if is_full else SHORT_SECONDS)
    print(f"seed {options.seed}", flush=True)
    tests = TestCounts()
    with engines.Engine(options.engine) as engine, \
            live.Service("placet", binary=options.binary, engine=engine) as service:
        tests.step(f"memory stays bounded under churn, on {options.engine}", stays_bounded, service, options.seed,
                   seconds, options.keep)
    tests.finish()


if __name__ == "__main__":
    main()
