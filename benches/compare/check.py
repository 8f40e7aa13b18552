"""Before anything is timed: both sides give the same answers, and the generator does what its scenarios say.

    check.py [--binary PATH] [--generator PATH]

On a small cloud of each shape: every search finds as much on either side, claims land in the tables as counted, a report
changes what it reports and moves as many generations as it says. And what is drawn and written of it is of all clouds, or
nothing.
"""

import argparse
import contextlib
import io

import chart
import run
import table
from cloud import SHAPES
from generator import Generator
from scenarios import scenarios
from turns import Arena

import engines  # noqa: E402
import rest  # noqa: E402
from tally import Tally  # noqa: E402

HOSTS = 600
# Of a report.
REQUESTS = 6


def found(service, path):
    """How many candidates or providers an answer has."""
    body = rest.Rest(service.port, version="1.39").must("GET", path).json
    return len(body.get("allocation_requests", body.get("resource_providers")))


def same_answers(arena, scenario):
    path = scenario.path.replace("{host}", arena.cloud.hosts[7].root.uuid)
    ours, theirs = (found(services[0], path) for services in (arena.placet(), arena.upstream()))
    assert ours == theirs, f"placet found {ours}, OpenStack Placement {theirs}: {path}"
    assert (ours == 0) == ("nothing" in scenario.name), f"{ours} were found: {path}"


def sums(database, *wanted):
    return [database.query(f"SELECT {it}")[0][0] for it in wanted]


def briefly(arena, scenario, side):
    """What the one round of a run was."""
    scenario.seconds = 0.3
    (record,) = arena.measure(scenario, 1, [side])
    (measured,) = record["rounds"]
    assert measured["done"] > 0, record
    return measured


def claims_land(arena, scenario, side):
    counts = [f"COUNT(*) FROM {table}" for table in ("consumers", "allocations")]
    database = database_of(arena, side)
    arena.warm_writes(scenario, side)
    consumers, allocations = sums(database, *counts)
    done = briefly(arena, scenario, side)["done"]
    more_consumers, more_allocations = sums(database, *counts)
    new, rows = more_consumers - consumers, more_allocations - allocations
    assert (new, rows) == (done, 3 * done), f"{new} new consumers with {rows} allocations, and {done} claims counted"


def report_changes(arena, scenario, side):
    moved = "SUM(generation) FROM resource_providers"
    changed = "COUNT(*) FROM inventories WHERE reserved IN (2049, 4097)"
    database = database_of(arena, side)
    arena.warm_writes(scenario, side)
    (before,) = sums(database, moved)
    measured = briefly(arena, scenario, side)
    (after,) = sums(database, moved)
    assert set(measured["answers"]) == ({"200"} if side == "placet" else set()), measured
    told = measured["done"] / REQUESTS
    assert after - before == told, f"{after - before} generations moved, and {told} reports counted"
    assert sums(database, changed)[0] > 0, "nothing is reserved otherwise than before"


def database_of(arena, side):
    return arena.own if side == "placet" else arena.other


def refuses_to_write(words):
    """What is of a part must not stand where all of it stood."""
    try:
        with contextlib.redirect_stderr(io.StringIO()) as said:
            run.arguments([*words, "--write"])
    except SystemExit:
        assert "--write" in said.getvalue(), said.getvalue()
    else:
        raise AssertionError("it would be written")


def _round(rate, size):
    """Ten seconds in which answers of so many bytes came."""
    return {"rate": rate, "done": 10 * rate, "seconds": 10.0, "bytes": 10 * rate * size, "answers": {}}


def of_one_side():
    """Chart and tables of records of which none has another side: there is nothing to compare, and no reason to fail."""
    record = {"engine": "postgresql", "shape": "flat", "hosts": 1000, "scenario": "claims, random hosts", "clients": 1,
              "group": "claims", "side": "placet", "rounds": [_round(5.0, 0)]}
    found = {"machine": run.machine(), "records": [record], "search": []}
    assert chart.svg(found).endswith("</svg>\n") and "5.0/s" in table.text(found)
    assert "side by side" not in chart.svg(found)
    other = record | {"side": "upstream", "rounds": [_round(0.5, 3e6) | {"asked_by": 2}]}
    found["records"] += [other, record | {"engine": "sqlite"}, other | {"engine": "sqlite"}]
    assert "10 ×" in chart.svg(found) and "in every cloud" in chart.svg(found) and "5.0 (10.0×)" in table.text(found)
    assert "0.5/s (1.5 MB/s) (2)" in table.text(found)
    other["rounds"] = [_round(500, 3e6)]
    assert "500/s (1.5 GB/s)" in table.text(found) and "5.0/s |" in table.text(found)
    other["rounds"] = [_round(0.5, 3e6)]
    crowd = {"clients": 32, "shape": "shared"}
    found["records"] += [record | crowd, other | crowd, record | {"clients": 32}]
    assert table.said(found).endswith("in every case and shape: claims of 32 clients 10.0"), table.said(found)


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
            else:
                judge = report_changes if scenario.what == "report" else claims_land
                for side in arena.sides(scenario, ("placet", "floor")):
                    tally.step(f"{title}, {side}", judge, arena, scenario, side)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--binary", help="placet, if not that of `cargo build --release`")
    parser.add_argument("--generator", help="the load generator, if not that of `./tox.sh bench`")
    chosen = parser.parse_args()
    tally = Tally()
    for words in (["--group", "growth"], ["--engine", "mariadb"], ["--hosts", "1000"], ["--rounds", "1"], ["--full"]):
        tally.step(f"{' '.join(words)} is not written", refuses_to_write, words)
    tally.step("chart and tables of one side, and of two", of_one_side)
    for name in SHAPES:
        tally.step(f"{name}: the cloud", shape, tally, name, chosen)
    tally.finish()


if __name__ == "__main__":
    main()
