"""What placet needs for a cloud of a given size: memory, disk, start, and the CPU time of requests.

    python -m benches.compare.sizing [--binary PATH] [--engine sqlite|postgresql|mariadb]

Prints the tables of docs/sizing.md. Each row is a new process that has read the cloud from its database.
"""

import argparse
import json
import statistics
import time
import uuid

from benches.compare import cpu_ratio
from benches.compare.bulk_load import load
from benches.compare.cloud import Cloud
from benches.compare.process_usage import resident_bytes
from benches.compare.systems import Placet
from functional_tests.lib import engines

# Shape, hosts, and consumers of a host.
CLOUDS = (("flat", 0, 0), ("flat", 1_000, 30), ("flat", 10_000, 0), ("flat", 10_000, 30), ("nested", 10_000, 0),
          ("nested", 10_000, 30), ("flat", 40_000, 0), ("flat", 40_000, 30))
ROUNDS, REQUESTS, SCRAPES = 5, 300, 9
SCRAPE_PAUSE_SECONDS = 5  # the number of consumers is kept for 99 times the duration of a count
SIZES = {"postgresql": "SELECT pg_database_size(current_database())",
         "mariadb": "SELECT SUM(data_length + index_length) FROM information_schema.tables WHERE table_schema = DATABASE()"}


def prepare(database, shape, hosts, consumers, binary):
    """Makes the tables and the standard names, by a first start, and fills the tables."""
    with Placet(database, binary):
        pass
    cloud = Cloud(shape, hosts, [name for name, in database.query("SELECT name FROM traits")])
    cloud.consumers = [each[:consumers] for each in cloud.consumers]
    load(database, cloud)
    return cloud


def disk_bytes(database):
    if database.engine == "sqlite":
        return sum(file.stat().st_size for file in database.path.parent.glob(f"{database.path.name}*"))
    return int(database.query(SIZES[database.engine])[0][0])


def requests(client, cloud):
    """By name a function that sends one request."""
    host = cloud.hosts[0].root
    return {
        "`GET /resource_providers/{uuid}`": lambda: client.ask("GET", f"/resource_providers/{host.uuid}"),
        "`GET /resource_providers/{uuid}/usages`": lambda: client.ask("GET", f"/resource_providers/{host.uuid}/usages"),
        "`GET /allocation_candidates?resources=VCPU:1,MEMORY_MB:1024&limit=10`": lambda: client.ask(
            "GET", "/allocation_candidates?resources=VCPU:1,MEMORY_MB:1024&limit=10"),
        "the same with `limit=1000`": lambda: client.ask(
            "GET", "/allocation_candidates?resources=VCPU:1,MEMORY_MB:1024&limit=1000"),
        "a claim and its release": lambda: claim(client, host),
    }


def claim(client, host):
    """A claim, and its release."""
    consumer = f"/allocations/{uuid.uuid4()}"
    client.ask("PUT", consumer, json.dumps({
        "allocations": {host.uuid: {"resources": {"VCPU": 1}}}, "project_id": "p", "user_id": "u",
        "consumer_generation": None, "consumer_type": "INSTANCE"}), (204,))
    client.ask("DELETE", consumer, status=(204,))


def scrape_microseconds(client, cloud):
    """The CPU time of a scrape of the metrics: a claim has changed their sums, and consumers are counted again."""
    times = []
    for _ in range(SCRAPES):
        time.sleep(SCRAPE_PAUSE_SECONDS)
        claim(client, cloud.hosts[0].root)
        before = client.cpu_nanoseconds()
        client.ask("GET", "/metrics")
        times.append((client.cpu_nanoseconds() - before) / 1000)
    return statistics.median(times)


def microseconds(client, send):
    rounds = []
    for _ in range(ROUNDS):
        before = client.cpu_nanoseconds()
        for _ in range(REQUESTS):
            send()
        rounds.append((client.cpu_nanoseconds() - before) / REQUESTS / 1000)
    return statistics.median(rounds)


def row(database, shape, hosts, consumers, cloud, binary):
    began = time.monotonic()
    with Placet(database, binary) as service:
        client = cpu_ratio.Client(service, path="/resource_providers?name=host-0")
        started = time.monotonic() - began
        memory = resident_bytes(service.process.pid)
    print(f"| {shape} | {hosts:,} | {len(cloud.providers):,} | {hosts * consumers:,} | {memory / 1e6:.0f} MB | "
          f"{disk_bytes(database) / 1e6:.0f} MB | {started:.1f} s |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--binary", help="placet's binary, if not that of `cargo build --profile dist`")
    parser.add_argument("--engine", default="sqlite", choices=("sqlite", *SIZES))
    chosen = parser.parse_args()
    print("| shape | hosts | providers | consumers | memory | disk | start |\n|---|---|---|---|---|---|---|")
    with engines.Engine(chosen.engine) as engine:
        for shape, hosts, consumers in CLOUDS:
            database = engine.create()
            cloud = prepare(database, shape, hosts, consumers, chosen.binary)
            row(database, shape, hosts, consumers, cloud, chosen.binary)
            if (shape, hosts, consumers) == ("flat", 10_000, 30):
                with Placet(database, chosen.binary) as service:
                    client = cpu_ratio.Client(service)
                    costs = {name: microseconds(client, send) for name, send in requests(client, cloud).items()}
                    costs["a scrape of `/metrics`"] = scrape_microseconds(client, cloud)
            engine.drop(database)
    print("\n| request | CPU |\n|---|---|")
    for name, cost in costs.items():
        print(f"| {name} | {cost:,.0f} µs |")


if __name__ == "__main__":
    main()
