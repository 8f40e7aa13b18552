"""Measures placet, OpenStack Placement and two baselines in interleaved runs on copies of one database.

    python -m benches.compare.run [--engine E]… [--shape S]… [--hosts N] [--rounds N] [--scenario TEXT]… [--group G]…
                                  [--full] [--write] …

Without choices every shape is measured on PostgreSQL, MariaDB and SQLite, with some exceptions. OpenStack Placement is
measured in one round, and on the first engine alone for what takes it longest. The canned server is measured once for
each shape. Numbers of clients that show little more are measured on placet alone, in one cloud. With --full only the
exception of the canned server is left.

Servers are private and durable (fsync, a flush for every commit). Results go to a JSON file and to the terminal. With
--write, which takes no choice of a part, they go into docs/speed.md, docs/search-speed.md and README.md too. The
binaries of the profile dist must exist: `./tox.sh bench` builds them.
"""

import argparse
import json
import os
import pathlib
import platform
import signal
import sys
import time

from benches.compare import chart, claims_together, first_candidates, one_call, process_usage, refusals, scenarios, table
from benches.compare.cloud import SHAPES
from benches.compare.interleaved import ENGINES, Testbed, server
from benches.compare.load_generator import LoadGenerator
from benches.compare.systems import SYSTEMS
from functional_tests.lib import engines
from functional_tests.lib.root import ROOT

DEFAULT_HOSTS, DEFAULT_ROUNDS = 10_000, 3
# A smaller cloud with as many consumers per host shows how times grow with the number of hosts.
SMALL_CLOUD_HOSTS = 1_000
SEARCH_HOSTS = (1_000, 10_000, 100_000, 1_000_000)
# The largest cloud is searched in one shape, in fewer rounds.
SEARCH_ROUNDS, LARGEST_SEARCH_ROUNDS = 101, 21
EXIT_AFTER_SIGTERM = 128 + signal.SIGTERM


def arguments(words=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--engine", action="append", choices=engines.ENGINES, help="may be repeated, as all choices may")
    parser.add_argument("--shape", action="append", choices=SHAPES)
    parser.add_argument("--hosts", type=int, default=DEFAULT_HOSTS)
    parser.add_argument("--rounds", type=int, default=DEFAULT_ROUNDS)
    parser.add_argument("--group", action="append", choices=scenarios.GROUPS, help="only scenarios of this group")
    parser.add_argument("--scenario", action="append", default=[], help="only scenarios whose name contains this text")
    parser.add_argument("--clients", type=int, action="append", help="only scenarios with this number of clients")
    parser.add_argument("--system", action="append", choices=SYSTEMS)
    parser.add_argument("--full", action="store_true", help="every scenario on every system and engine, in every round")
    parser.add_argument("--binary", help="placet's binary, if not that of `cargo build --profile dist`")
    parser.add_argument("--generator", help="the load generator's binary, if not that of `./tox.sh bench`")
    parser.add_argument("--json", type=pathlib.Path, default=ROOT / ".tox/bench.json")
    parser.add_argument("--write", action="store_true",
                        help="write the tables into docs/speed.md, the chart, and the ratios into README.md")
    chosen = parser.parse_args(words)
    if chosen.write and not is_whole(chosen):
        parser.error("--write writes the results of a whole bench, so it cannot be combined with a choice of a part")
    if "canned_server" in (chosen.system or ()) and "placet" not in chosen.system:
        parser.error("--system canned_server sends bodies as long as placet's: add --system placet")
    return chosen


def is_whole(chosen):
    parts = (chosen.engine, chosen.shape, chosen.group, chosen.scenario, chosen.clients, chosen.system, chosen.full)
    return not any(parts) and (chosen.hosts, chosen.rounds) == (DEFAULT_HOSTS, DEFAULT_ROUNDS)


def main():
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(EXIT_AFTER_SIGTERM))
    start = time.monotonic()
    chosen = arguments()
    generator = LoadGenerator(chosen.generator)
    found = {"machine": machine(), "records": [], "search": []}
    if is_group_chosen(chosen, "search"):
        found["search"] = list(search(generator))
    for engine in (chosen.engine or ENGINES) if needs_clouds(chosen) else ():
        with server(engine) as running:
            for shape in chosen.shape or SHAPES:
                found["records"] += compare(running, shape, generator, chosen)
                save(chosen.json, found)
    if is_growth_chosen(chosen):
        found["records"] += growth(generator, chosen)
    found |= separate(generator, chosen)
    found["machine"]["seconds"] = time.monotonic() - start
    save(chosen.json, found)
    print(f"\n{table.text(found)}\n\n{len(found['records'])} records in {chosen.json}")
    if chosen.write:
        chart.write(found)
        table.write(found)


def needs_clouds(chosen):
    """Whether anything but the search alone and the small cloud was chosen."""
    return not chosen.group or set(chosen.group) - set(scenarios.SEPARATE_GROUPS)


def is_full(chosen):
    """Whether scenarios that show little more are measured too. A chosen part is measured whole."""
    return chosen.full or chosen.engine or chosen.shape or chosen.system or chosen.scenario or chosen.clients


def is_group_chosen(chosen, group):
    if chosen.scenario and group in ("start", *scenarios.SEPARATE_GROUPS):
        return False
    return not chosen.group or group in chosen.group


def is_growth_chosen(chosen):
    return is_whole(chosen) or chosen.full or "growth" in (chosen.group or ())


def growth(generator, chosen):
    """placet in a small cloud of the first engine and shape."""
    with server(ENGINES[0]) as running, \
            Testbed(running, SHAPES[0], SMALL_CLOUD_HOSTS, generator, chosen.binary) as testbed:
        measured = filter(scenarios.is_of_growth, scenarios.scenarios(testbed.cloud))
        return [record for scenario in measured for record in testbed.measure(scenario, chosen.rounds, ["placet"])]


def separate(generator, chosen):
    """What claims of one kind cost plain ones, how often schedulers conflict, and one-call placement: in own clouds."""
    measures = {
        "refusals": lambda engine: refusals.records(engine, generator, chosen.binary),
        "claims_together": lambda engine: claims_together.records(engine, generator, chosen.binary),
        "first_candidates": lambda engine: first_candidates.records(engine, chosen.binary),
        "one_call": lambda engine: one_call.records(engine, generator, chosen.binary, chosen.shape or SHAPES, chosen.hosts,
                                                    chosen.rounds)}
    found = {name: [] for name in measures}
    wanted = [name for name in measures if is_group_chosen(chosen, name.replace("_", "-"))]
    for kind in (chosen.engine or ENGINES) if wanted else ():
        with server(kind) as running:
            for name in wanted:
                found[name] += measures[name](running)
    return found


def compare(engine, shape, generator, chosen):
    with Testbed(engine, shape, chosen.hosts, generator, chosen.binary) as testbed:
        return list(records(testbed, chosen))


def records(testbed, chosen):
    if is_group_chosen(chosen, "start"):
        yield from process_usage.startup_records(testbed, chosen.rounds)
    for scenario in scenarios.scenarios(testbed.cloud):
        has_name = not chosen.scenario or any(text in scenario.name for text in chosen.scenario)
        has_clients = not chosen.clients or scenario.clients in chosen.clients
        if has_name and has_clients and is_group_chosen(chosen, scenario.group):
            systems = testbed.systems(scenario, chosen.system or SYSTEMS, is_full(chosen))
            new = testbed.measure(scenario, chosen.rounds, systems, chosen.full)
            print(table.line(new), flush=True)
            yield from new
    if is_group_chosen(chosen, "start"):
        yield from process_usage.memory_records(testbed)


def search(generator):
    for hosts in SEARCH_HOSTS:
        is_largest = hosts == SEARCH_HOSTS[-1]
        for shape in SHAPES[:1] if is_largest else SHAPES:
            rounds = LARGEST_SEARCH_ROUNDS if is_largest else SEARCH_ROUNDS
            yield {"shape": shape} | generator.run("search", hosts=hosts, shape=shape, rounds=rounds)


def machine():
    """The machine that the figures are of."""
    model = next((line.split(":")[1].strip() for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines()
                  if line.startswith("model name")), platform.machine())
    return {"cores": len(os.sched_getaffinity(0)), "model": model, "load": os.getloadavg()[0],
            "date": time.strftime("%Y-%m-%d")}


def save(path, found):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
