"""Measures what replicas take in memory and on disk on top of their consumers and allocations.

    python -m benches.compare.replica_memory [--binary PATH] [--engine sqlite|postgresql|mariadb]

A cloud of 10,000 flat hosts with 30 consumers each is read by a new process, three times. Then each five consumers
become a workload, by SQL, and it is read again, three times. A difference of the medians is divided by the number of
consumers.
"""

import argparse
import json
import statistics
import uuid

from benches.compare import cpu_ratio
from benches.compare.bulk_load import CREATED_AT
from benches.compare.process_usage import resident_bytes
from benches.compare.sizing import SIZES, disk_bytes, prepare
from benches.compare.systems import Placet
from functional_tests.lib import engines

HOSTS, CONSUMERS, REPLICAS, STARTS = 10_000, 30, 5, 3
BODY = json.dumps({"roles": [{"name": "member", "count": REPLICAS, "query": "resources=VCPU:1"}]})


def memory_bytes(database, binary):
    """Of a process that has read the cloud and answered a search."""
    found = []
    for _ in range(STARTS):
        with Placet(database, binary) as service:
            client = cpu_ratio.Client(service, path="/resource_providers?name=host-0")
            client.ask("GET", "/allocation_candidates?resources=VCPU:1&limit=1000")
            found.append(resident_bytes(service.process.pid))
    return statistics.median(found)


def make_workloads(database):
    """Each five consumers become the replicas of a workload. Returns the number of consumers."""
    consumers = [name for name, in database.query("SELECT uuid FROM consumers ORDER BY id")]
    workloads, replicas = [], []
    for first in range(0, len(consumers), REPLICAS):
        workload = str(uuid.UUID(int=first, version=4))
        workloads.append(f"('{workload}', 'bench', '{workload}', 'bench', 1, 1, '{BODY}', '{CREATED_AT}')")
        replicas += [f"('{consumer}', '{workload}', '{number}', 'member', 1, 0, '{CREATED_AT}')"
                     for number, consumer in enumerate(consumers[first:first + REPLICAS])]
    insert(database, "placet_workloads (uuid, project_id, name, user_id, generation, revision, body, created_at)", workloads)
    insert(database, "placet_replicas (consumer_id, workload, replica, role, revision, adopted, created_at)", replicas)
    return len(consumers)


def insert(database, into, rows):
    for first in range(0, len(rows), 1000):
        database.run(f"INSERT INTO {into} VALUES {', '.join(rows[first:first + 1000])}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binary", help="placet's binary, if not that of `cargo build --profile dist`")
    parser.add_argument("--engine", default="sqlite", choices=("sqlite", *SIZES))
    chosen = parser.parse_args()
    with engines.Engine(chosen.engine) as engine:
        database = engine.create()
        prepare(database, "flat", HOSTS, CONSUMERS, chosen.binary)
        before = memory_bytes(database, chosen.binary), disk_bytes(database)
        count = make_workloads(database)
        after = memory_bytes(database, chosen.binary), disk_bytes(database)
        engine.drop(database)
    memory, disk = ((new - old) / count for old, new in zip(before, after, strict=True))
    print(f"{count:,} replicas: {memory:.0f} bytes of memory and {disk:.0f} bytes on disk a replica")


if __name__ == "__main__":
    main()
