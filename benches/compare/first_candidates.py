"""Measures how many claims are refused if schedulers take the first candidate that they get.

    python -m benches.compare.first_candidates [--engine E]… [--hosts N] [--schedulers N] [--binary PATH] [--upstream]

Each host has room for four workloads. Each scheduler asks for ten candidates (`--limit`), claims the first, and asks
again if the claim is refused, until 90% of the room is used. A claim is refused if others have used the last room of
its host since the search.

`./tox.sh bench --group first-candidates` measures the same.
"""

import argparse
import threading
import uuid

from benches.compare.systems import Placet, Upstream
from functional_tests.lib import engines
from functional_tests.lib.rest import KeptRest

HOST_VCPUS, WORKLOAD_VCPUS = 8, 2
FILLED = 0.9
CANDIDATES = f"/allocation_candidates?resources=VCPU:{WORKLOAD_VCPUS}"
LIMIT = 10
# Hosts and schedulers. The larger cloud takes minutes, so it is measured on PostgreSQL alone.
SMALL, LARGE = (200, 8), (10_000, 32)
ENGINES = ("sqlite", "postgresql", "mariadb")
# The most claims of one workload.
ATTEMPTS = 100


class Schedulers:
    """Schedulers that place workloads at the same time."""

    def __init__(self, port, wanted, limit):
        self.port, self.left, self.lock = port, wanted, threading.Lock()
        self.path = f"{CANDIDATES}&limit={limit}" if limit else CANDIDATES
        self.granted = self.refused = 0

    def run(self, number):
        threads = [threading.Thread(target=self._work) for _ in range(number)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    def _work(self):
        rest = KeptRest(self.port)
        while self._take():
            refused = place(rest, self.path)
            with self.lock:
                self.granted, self.refused = self.granted + 1, self.refused + refused

    def _take(self):
        with self.lock:
            self.left -= 1
            return self.left >= 0


def place(rest, path):
    """Places one workload; returns how many claims were refused before."""
    for refused in range(ATTEMPTS):
        first = rest.must("GET", path).json["allocation_requests"][0]
        body = first | {"project_id": "p", "user_id": "u", "consumer_generation": None, "consumer_type": "INSTANCE"}
        answer = rest("PUT", f"/allocations/{uuid.uuid4()}", body)
        if answer.status == 204:
            return refused
        assert answer.status == 409, answer
    raise AssertionError(f"no claim was granted in {ATTEMPTS} attempts")


def create_hosts(port, hosts):
    rest = KeptRest(port)
    for number in range(hosts):
        host = str(uuid.UUID(int=number, version=4))
        rest.must("POST", "/resource_providers", {"name": host, "uuid": host})
        rest.must("PUT", f"/resource_providers/{host}/inventories", {
            "resource_provider_generation": 0, "inventories": {"VCPU": {"total": HOST_VCPUS}}})


def record(engine, hosts, schedulers, system, limit=LIMIT):
    database = engine.create()
    try:
        with system(database) as service:
            create_hosts(service.port, hosts)
            wanted = int(FILLED * hosts * HOST_VCPUS / WORKLOAD_VCPUS)
            run = Schedulers(service.port, wanted, limit)
            run.run(schedulers)
            assert run.granted == wanted, f"{run.granted} of {wanted} workloads were placed"
            return {"engine": engine.kind, "system": service.kind, "hosts": hosts, "schedulers": schedulers,
                    "limit": limit, "granted": run.granted, "refused": run.refused}
    finally:
        engine.drop(database)


def records(engine, binary=None):
    """A record for each size, of placet alone."""
    sizes = (SMALL, LARGE) if engine.kind == "postgresql" else (SMALL,)
    return [record(engine, *size, lambda database: Placet(database, binary)) for size in sizes]


def table(found):
    """The lines of a table."""
    if not found:
        return
    number = {LIMIT: "ten", 0: "all"}.get(found[0].get("limit", LIMIT), found[0].get("limit"))
    yield f"\n#### Claims refused if schedulers take the first of {number} candidates, until 90% is used\n"
    yield "| engine | hosts | schedulers | system | granted | refused | share |\n|" + "---|" * 7
    for it in found:
        share = it["refused"] / (it["granted"] + it["refused"])
        yield (f"| {it['engine']} | {it['hosts']:,} | {it['schedulers']} | {it['system']} | {it['granted']:,} "
               f"| {it['refused']:,} | {share:.1%} |")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--engine", action="append", choices=ENGINES, help="may be repeated (default: all)")
    parser.add_argument("--hosts", type=int, default=SMALL[0])
    parser.add_argument("--schedulers", type=int, default=SMALL[1])
    parser.add_argument("--limit", type=int, default=LIMIT, help="candidates of an answer; 0: all")
    parser.add_argument("--binary", help="placet's binary, if not that of `cargo build --profile dist`")
    parser.add_argument("--upstream", action="store_true", help="OpenStack Placement, too")
    chosen = parser.parse_args()
    size = (chosen.hosts, chosen.schedulers)
    systems = [lambda database: Placet(database, chosen.binary)] + [Upstream] * chosen.upstream
    found = []
    for kind in chosen.engine or ENGINES:
        with engines.Engine(kind, durable=True) as engine:
            found += [record(engine, *size, system, chosen.limit) for system in systems]
    print(*table(found), sep="\n")


if __name__ == "__main__":
    main()
