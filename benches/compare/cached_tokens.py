"""The CPU time of a request with a cached Keystone token, compared with one under `auth_strategy = noauth2`.

    python -m benches.compare.cached_tokens [--binary PATH] [--rounds N] [--requests N]

Two services, which differ only in how they authenticate, are asked in alternation (A B B A …) over one connection each.
The request is a cheap one, so that a difference shows. The CPU time is the services' own, to the nanosecond. The ratio
is the median of the rounds' ratios. Only the first request needs Keystone (functional-tests/lib/keystone.py).
"""

import argparse
import http.client
import pathlib
import statistics
import sys

from benches.compare.systems import Placet
from functional_tests.keystone import set_ups
from functional_tests.keystone.actors import Cloud
from functional_tests.keystone.services import PATH
from functional_tests.lib.keystone import Keystone

MOST = 1.05
WARM_UP_REQUESTS = 500


class Client:
    """One connection to a service, and the service's CPU time."""

    def __init__(self, service, token):
        self.pid = service.process.pid
        self.headers = {"x-auth-token": token, "openstack-api-version": "placement 1.39"}
        self.connection = http.client.HTTPConnection("127.0.0.1", service.port, timeout=60)
        self.microseconds(WARM_UP_REQUESTS)

    def microseconds(self, requests):
        """The CPU time of each of this many requests."""
        before = self.cpu_nanoseconds()
        for _ in range(requests):
            self.connection.request("GET", PATH, headers=self.headers)
            response = self.connection.getresponse()
            response.read()
            if response.status != 200:
                raise RuntimeError(f"the request was answered with {response.status}")
        return (self.cpu_nanoseconds() - before) / requests / 1000

    def cpu_nanoseconds(self):
        threads = pathlib.Path(f"/proc/{self.pid}/task").glob("*/schedstat")
        return sum(int(thread.read_text().split()[0]) for thread in threads)


def measured(services, tokens, rounds, requests):
    """Pairs of microseconds: with Keystone, with noauth2."""
    with_keystone, without = (Client(service, token) for service, token in zip(services, tokens, strict=True))
    for number in range(rounds):
        if number % 2:
            other = without.microseconds(requests)
            yield with_keystone.microseconds(requests), other
        else:
            yield with_keystone.microseconds(requests), without.microseconds(requests)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--binary", help="placet's binary, if not that of `cargo build --release`")
    parser.add_argument("--rounds", type=int, default=21)
    parser.add_argument("--requests", type=int, default=2000, help="in each round, to each service")
    arguments = parser.parse_args()
    with Keystone() as keystone:
        cloud = Cloud(keystone)
        cloud.publish("identity", keystone.url)
        cloud.user("client", "lab", "admin")
        token, _ = cloud.token(cloud.auth("client", "lab"))
        with Placet(None, arguments.binary, set_ups.options(cloud)) as ours, Placet(None, arguments.binary) as other:
            pairs = list(measured((ours, other), (token, "admin"), arguments.rounds, arguments.requests))
    ratios = [ours / other for ours, other in pairs]
    ratio = statistics.median(ratios)
    for name, times in zip(("a cached Keystone token", "noauth2"), zip(*pairs, strict=True), strict=True):
        print(f"{name}: {statistics.median(times):.1f} microseconds of CPU for a request")
    print(f"ratio: {ratio:.3f} (rounds: {min(ratios):.3f} to {max(ratios):.3f}; at most {MOST} is wanted)")
    sys.exit(ratio > MOST)


if __name__ == "__main__":
    main()
