"""What a request costs with the binary of `cargo build --release`, and with that of the profile `dist`.

    python -m benches.compare.profiles [--hosts N] [--rounds N] [--release PATH] [--dist PATH]

Both binaries serve copies of one SQLite file, and take turns. Prints the table of docs/speed.md: medians of rounds.
"""

import argparse
import contextlib
import http.client
import json
import pathlib
import shutil
import statistics
import tempfile
import time
import uuid

from functional_tests.lib import live
from functional_tests.lib.root import TARGET

HEADERS = {"X-Auth-Token": "admin", "OpenStack-API-Version": "placement latest", "Content-Type": "application/json"}
RESOURCES = "resources=VCPU:2,MEMORY_MB:4096,DISK_GB:20"
# What is asked, and how often in a round.
SEARCHES = {
    "candidates, 10 of 10,000": (f"/allocation_candidates?{RESOURCES}&limit=10", 40),
    "candidates, none fits": ("/allocation_candidates?resources=VCPU:65", 40),
    "candidates of three groups, 50": (
        "/allocation_candidates?resources1=VCPU:2&resources2=MEMORY_MB:4096&resources3=DISK_GB:10"
        "&group_policy=none&limit=50", 40),
    "candidates, all 10,000": (f"/allocation_candidates?{RESOURCES}", 3),
}
CLAIMS = 100


class Client:
    def __init__(self, service):
        self.connection = http.client.HTTPConnection("127.0.0.1", service.port)

    def __call__(self, method, path, body=None):
        self.connection.request(method, path, None if body is None else json.dumps(body), HEADERS)
        answer = self.connection.getresponse()
        text = answer.read()
        assert answer.status < 300, (method, path, answer.status, text[:500])


def fill(ask, hosts):
    """Hosts with three classes, through the API."""
    inventories = {"VCPU": {"total": 64}, "MEMORY_MB": {"total": 262144}, "DISK_GB": {"total": 2000}}
    for number in range(hosts):
        host = str(uuid.UUID(int=number + 1))
        ask("POST", "/resource_providers", {"name": f"host{number}", "uuid": host})
        ask("PUT", f"/resource_providers/{host}/inventories",
            {"resource_provider_generation": 0, "inventories": inventories})


def claim_and_release(ask):
    host, consumer = str(uuid.UUID(int=1)), uuid.uuid4()
    ask("PUT", f"/allocations/{consumer}",
        {"allocations": {host: {"resources": {"VCPU": 1}}}, "project_id": "p", "user_id": "u",
         "consumer_generation": None, "consumer_type": "VM"})
    ask("DELETE", f"/allocations/{consumer}")


def place(ask):
    consumer = {"uuid": str(uuid.uuid4()), "query": "resources=VCPU:1,MEMORY_MB:512", "project_id": "p", "user_id": "u"}
    ask("POST", "/v1/claims", {"consumers": [consumer]})


def timed(work, count):
    """Milliseconds of one."""
    began = time.perf_counter()
    for _ in range(count):
        work()
    return (time.perf_counter() - began) / count * 1000


def measure(binaries, file, rounds, folder):
    """By case, then by binary: the median."""
    found = {}
    with contextlib.ExitStack() as stack:
        clients = {}
        for name, binary in binaries.items():
            copy = pathlib.Path(folder, f"{name}.sqlite")
            shutil.copy(file, copy)
            clients[name] = Client(stack.enter_context(live.Service("placet", {}, binary, database=copy)))
        for _ in range(rounds):
            for name, ask in clients.items():
                cases = {case: timed(lambda path=path: ask("GET", path), count) for case, (path, count) in SEARCHES.items()}
                cases["a claim and its release"] = timed(lambda: claim_and_release(ask), CLAIMS)
                cases["`POST /v1/claims` with a query"] = timed(lambda: place(ask), CLAIMS)
                for case, took in cases.items():
                    found.setdefault(case, {}).setdefault(name, []).append(took)
    return {case: {name: statistics.median(times) for name, times in by_name.items()} for case, by_name in found.items()}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--hosts", type=int, default=10_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--release", default=TARGET / "release/placet")
    parser.add_argument("--dist", default=TARGET / "dist/placet")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder, "cloud.sqlite")
        with live.Service("placet", {}, options.dist, database=file) as service:
            fill(Client(service), options.hosts)
        found = measure({"release": options.release, "dist": options.dist}, file, options.rounds, folder)
    print("| one client, SQLite | `release` | `dist` | ratio |\n|---|---|---|---|")
    for case, took in found.items():
        print(f"| {case} | {took['release']:.2f} ms | {took['dist']:.2f} ms | {took['release'] / took['dist']:.1f} |")


if __name__ == "__main__":
    main()
