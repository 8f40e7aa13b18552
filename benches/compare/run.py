"""placet beside OpenStack Placement and beside what bounds both, in turns, on copies of one database.

    run.py [--engine E]… [--shape S]… [--hosts N] [--rounds N] [--scenario TEXT]… [--group G]… [--full] [--write] …

Without choices: every shape on PostgreSQL, MariaDB and SQLite; OpenStack Placement is asked in one round, and on the
first engine alone for what takes it longest; the wire once for each shape; numbers of clients that tell little more are
placet's alone, on one cloud. With --full everybody but the wire is asked everything everywhere in every round. Servers
are private and durable (fsync, a flush for every commit). Results go to a JSON file, a table to the terminal, and with
--write, which takes all of it, table and chart into README.md. The release binaries must be there: `./tox.sh bench`
builds them.
"""

import argparse
import json
import os
import pathlib
import platform
import signal
import sys
import time

import chart
import footprint
import scenarios
import table
from cloud import SHAPES
from generator import ROOT, Generator
from turns import ENGINES, Arena

import engines  # noqa: E402  (found where turns.py found live)

SIDES = ("placet", "upstream", "wire", "floor")
SEARCHED = (1_000, 10_000, 100_000, 1_000_000)
HOSTS, ROUNDS = 10_000, 3
# So small a cloud, with as many fewer consumers, shows by what the larger one costs more.
SMALL = 1_000
# Servers as an operator would run them for a cloud of this size, the same for all sides: what is read fits into memory.
SETTINGS = {
    "postgresql": {"shared_buffers": "1GB", "max_wal_size": "4GB"},
    "mariadb": {"innodb-buffer-pool-size": "1G", "innodb-log-file-size": "512M"},
}


def arguments(words=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--engine", action="append", choices=engines.ENGINES, help="again for several")
    parser.add_argument("--shape", action="append", choices=SHAPES)
    parser.add_argument("--hosts", type=int, default=HOSTS)
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--group", action="append", choices=scenarios.GROUPS)
    parser.add_argument("--scenario", action="append", default=[], help="those whose name has this text")
    parser.add_argument("--clients", type=int, action="append", help="only scenarios with so many")
    parser.add_argument("--side", action="append", choices=SIDES)
    parser.add_argument("--full", action="store_true", help="everybody, everything, everywhere, in every round")
    parser.add_argument("--binary", help="placet, if not that of `cargo build --release`")
    parser.add_argument("--generator", help="the load generator, if not that of `./tox.sh bench`")
    parser.add_argument("--json", type=pathlib.Path, default=ROOT / ".tox/bench.json")
    parser.add_argument("--write", action="store_true", help="table and chart into README.md, all tables into docs/speed.md")
    chosen = parser.parse_args(words)
    if chosen.write and not is_whole(chosen):
        parser.error("--write writes of everything that is measured: it takes no choice of a part")
    if "wire" in (chosen.side or ()) and "placet" not in chosen.side:
        parser.error("--side wire answers as many bytes as placet did: ask for --side placet too")
    return chosen


def is_whole(chosen):
    parts = (chosen.engine, chosen.shape, chosen.group, chosen.scenario, chosen.clients, chosen.side, chosen.full)
    return not any(parts) and (chosen.hosts, chosen.rounds) == (HOSTS, ROUNDS)


def main():
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    chosen = arguments()
    generator = Generator(chosen.generator)
    found = {"machine": machine(), "records": [], "search": []}
    if wants(chosen, "search"):
        found["search"] = list(search(generator, chosen))
    for engine in () if is_elsewhere(chosen) else chosen.engine or ENGINES:
        with server(engine) as it:
            for shape in chosen.shape or SHAPES:
                found["records"] += compare(it, shape, generator, chosen)
                save(chosen.json, found)
    if wants_growth(chosen):
        found["records"] += growth(generator, chosen)
    found["machine"]["seconds"] = time.monotonic() - BEGAN
    save(chosen.json, found)
    print(f"\n{table.text(found)}\n\n{len(found['records'])} records in {chosen.json}")
    if chosen.write:
        chart.write(found)
        table.write(found)


def server(engine):
    return engines.Engine(engine, durable=True, settings=SETTINGS.get(engine))


def is_elsewhere(chosen):
    """Whether what was chosen needs no cloud as large as the others."""
    return chosen.group and not set(chosen.group) - {"search", "growth"}


def is_full(chosen):
    """Whether what tells little more is asked too: where parts were chosen they are wanted whole."""
    return chosen.full or chosen.engine or chosen.shape or chosen.side or chosen.scenario or chosen.clients


def wants_growth(chosen):
    return is_whole(chosen) or chosen.full or "growth" in (chosen.group or ())


def growth(generator, chosen):
    """placet in a small cloud of the first engine and shape: what stands beside it in the table is of a larger one."""
    with server(ENGINES[0]) as it, Arena(it, SHAPES[0], SMALL, generator, chosen.binary) as arena:
        asked = filter(scenarios.is_of_growth, scenarios.scenarios(arena.cloud))
        return [record for scenario in asked for record in arena.measure(scenario, chosen.rounds, ["placet"])]


def wants(chosen, group):
    return (not chosen.group or group in chosen.group) and not (chosen.scenario and group in ("start", "search"))


def compare(engine, shape, generator, chosen):
    with Arena(engine, shape, chosen.hosts, generator, chosen.binary) as arena:
        return list(records(arena, chosen))


def records(arena, chosen):
    if wants(chosen, "start"):
        yield from footprint.start(arena, chosen.rounds)
    for scenario in scenarios.scenarios(arena.cloud):
        named = not chosen.scenario or any(text in scenario.name for text in chosen.scenario)
        crowd = not chosen.clients or scenario.clients in chosen.clients
        if named and crowd and wants(chosen, scenario.group):
            asked = arena.sides(scenario, chosen.side or SIDES, is_full(chosen))
            new = arena.measure(scenario, chosen.rounds, asked, chosen.full)
            print(table.line(new), flush=True)
            yield from new
    if wants(chosen, "start"):
        yield from footprint.memory(arena)


def search(generator, chosen):
    for hosts in SEARCHED:
        for shape in SHAPES:
            if hosts < 1_000_000 or shape == "flat":
                rounds = 21 if hosts > 100_000 else 101
                yield {"shape": shape} | generator.run("search", hosts=hosts, shape=shape, rounds=rounds)


def machine():
    """What the figures were measured on."""
    model = next((line.split(":")[1].strip() for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines()
                  if line.startswith("model name")), platform.machine())
    return {"cores": len(os.sched_getaffinity(0)), "model": model, "load": os.getloadavg()[0],
            "date": time.strftime("%Y-%m-%d")}


def save(path, found):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(found, indent=1) + "\n")


BEGAN = time.monotonic()

if __name__ == "__main__":
    main()
