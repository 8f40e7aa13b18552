"""Before anything is timed: both sides give the same answers, and the generator does what its scenarios say.

    check.py [--binary PATH] [--generator PATH]

On a small cloud of each shape: every search finds as much on either side, claims land in the tables as counted, the
loop claims what was offered, and a report changes what it reports.
"""

import argparse

from cloud import SHAPES
from generator import Generator
from scenarios import scenarios
from turns import Arena

import engines  # noqa: E402
import rest  # noqa: E402
from tally import Tally  # noqa: E402

HOSTS = 600


def found(service, path):
    """How many candidates or providers an answer has."""
    body = rest.Rest(service.port, version="1.39").must("GET", path).json
    return len(body.get("allocation_requests", body.get("resource_providers")))


def same_answers(arena, scenario):
    path = scenario.path.replace("{host}", arena.cloud.hosts[7].root.uuid)
    ours, theirs = (found(services[0], path) for services in (arena.placet(), arena.upstream()))
    assert ours == theirs, f"placet found {ours}, OpenStack Placement {theirs}: {path}"
    assert (ours == 0) == ("nothing" in scenario.name), f"{ours} were found: {path}"


def consumers(database):
    return [database.query(f"SELECT COUNT(*) FROM {table}")[0][0] for table in ("consumers", "allocations")]


def claims_land(arena, scenario, side):
    database = arena.floor() if side == "floor" else getattr(arena, side)()[0].database
    consumers_before, rows_before = consumers(database)
    scenario.seconds = 0.5
    (record,) = arena.measure(scenario, 1, [side])
    consumers_after, rows_after = consumers(database)
    done = record["rounds"][0]["done"]
    assert done > 0, record
    new, rows = consumers_after - consumers_before, rows_after - rows_before
    assert (new, rows) == (done, 3 * done), f"{new} new consumers with {rows} allocations, and {done} claims counted"


def report_changes(arena, scenario):
    scenario.seconds = 0.5
    (record,) = arena.measure(scenario, 1, ["placet"])
    assert set(record["rounds"][0]["answers"]) == {"200"}, record
    sql = "SELECT COUNT(*) FROM inventories WHERE reserved IN (2049, 4097)"
    assert arena.placet()[0].database.query(sql)[0][0] > 0, "nothing is reserved otherwise than before"


def shape(tally, name, chosen):
    generator = Generator(chosen.generator)
    with engines.Engine("sqlite", durable=True) as server, \
            Arena(server, name, HOSTS, generator, chosen.binary) as arena:
        for scenario in scenarios(arena.cloud):
            if scenario.processes > 1 or scenario.clients > 8:
                continue
            title = f"{name}: {scenario.name}, {scenario.clients} clients"
            if scenario.what == "get":
                tally.step(title, same_answers, arena, scenario)
            elif scenario.what == "report":
                tally.step(title, report_changes, arena, scenario)
            else:
                for side in arena.sides(scenario, ("placet", "floor")):
                    tally.step(f"{title}, {side}", claims_land, arena, scenario, side)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--binary", help="placet, if not that of `cargo build --release`")
    parser.add_argument("--generator", help="the load generator, if not that of `./tox.sh bench`")
    chosen = parser.parse_args()
    tally = Tally()
    for name in SHAPES:
        tally.step(f"{name}: the cloud", shape, tally, name, chosen)
    tally.finish()


if __name__ == "__main__":
    main()
