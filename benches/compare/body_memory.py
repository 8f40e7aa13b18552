"""What large bodies take: the memory of an idle process, the most that it has, and what it keeps after the answer.

    python -m benches.compare.body_memory [--binary PATH] [--engine sqlite|postgresql|mariadb] [--clients N]

Prints the second table of docs/sizing.md. Each row is a new process. With `--clients` each of them sends such a body at
the same moment.
"""

import argparse
import concurrent.futures
import json
import time

from benches.compare.systems import Placet
from functional_tests.lib import engines
from functional_tests.lib.rest import Rest
from functional_tests.process.body_memory import MB, add_hosts, allocations, claims, forget_peak, resident_bytes

BODIES = {
    "`POST /v1/claims`, 20 consumers with 1,000 candidates each": ("/v1/claims", lambda: claims(20)),
    "`POST /allocations`, 150,000 consumers": ("/allocations", lambda: allocations(150_000)),
}


def row(database, binary, name, clients):
    path, make = BODIES[name]
    bodies = [json.dumps(make()).encode() for _ in range(clients)]
    with Placet(database, binary) as service, concurrent.futures.ThreadPoolExecutor(clients) as threads:
        rest, pid = Rest(service.port), service.process.pid
        add_hosts(rest)
        idle = resident_bytes(pid)
        forget_peak(pid)
        answers = list(threads.map(lambda body: rest("POST", path, body), bodies))
        peak = resident_bytes(pid, "VmHWM")
        time.sleep(1)
        after = resident_bytes(pid)
    sent = sum(map(len, bodies))
    print(f"| {name} | {clients} | {sent / MB:.0f} MB | {idle / MB:.0f} MB | {peak / MB:.0f} MB | "
          f"{(peak - idle) / sent:.1f} | {after / MB:.0f} MB | {sorted(answer.status for answer in answers)} |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binary", help="placet's binary, if not that of `cargo build --profile dist`")
    parser.add_argument("--engine", default="sqlite", choices=("sqlite", "postgresql", "mariadb"))
    parser.add_argument("--clients", type=int, default=1)
    chosen = parser.parse_args()
    print("| body | clients | together | idle | peak | factor | after | statuses |\n|---|---|---|---|---|---|---|---|")
    with engines.Engine(chosen.engine) as engine:
        for name in BODIES:
            database = engine.create()
            row(database, chosen.binary, name, chosen.clients)
            engine.drop(database)


if __name__ == "__main__":
    main()
