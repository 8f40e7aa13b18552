"""The CPU time of a request to a service that is scraped, compared with one whose metrics are off.

    python -m benches.compare.metrics_cost [--binary PATH] [--starts N] [--rounds N] [--requests N]

Two services with 10,000 hosts and 300,000 consumers differ only in `[placet] metrics` (cpu_ratio.py): without it no
request is counted. The CPU time of a scrape every 15 seconds is measured by itself.
"""

import argparse
import sys

from benches.compare import cpu_ratio
from benches.compare.sizing import prepare, scrape_microseconds
from benches.compare.systems import Placet
from functional_tests.lib import engines

MOST = 1.01
HOSTS, CONSUMERS = 10_000, 30
SCRAPE_INTERVAL_SECONDS = 15


def main():
    arguments = cpu_ratio.arguments(argparse.ArgumentParser(description=__doc__.splitlines()[0]))
    with engines.Engine("sqlite") as engine:
        databases = [engine.create(), engine.create()]
        cloud, _ = (prepare(database, "flat", HOSTS, CONSUMERS, arguments.binary) for database in databases)
        off = {"placet": {"metrics": "false"}}
        starts = (lambda: (Placet(databases[0], arguments.binary), "admin"),
                  lambda: (Placet(databases[1], arguments.binary, off), "admin"))
        found = list(cpu_ratio.measured(starts, arguments))
        with Placet(databases[0], arguments.binary) as service:
            scrape = scrape_microseconds(cpu_ratio.Client(service), cloud)
    share = scrape / (SCRAPE_INTERVAL_SECONDS * 1_000_000)
    print(f"a scrape: {scrape / 1000:.1f} ms of CPU, every {SCRAPE_INTERVAL_SECONDS} s: {share:.2%} of one core")
    sys.exit(not cpu_ratio.report(("metrics are counted", "metrics are off"), found, MOST))


if __name__ == "__main__":
    main()
