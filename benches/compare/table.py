"""Records as tables: in the terminal, in docs/speed.md, and of the first engine and shape in README.md."""

import statistics
import textwrap

from generator import ROOT
from sides import told

import readme  # noqa: E402  (sides.py has found it)

BEGIN, END = "<!-- benches/compare/run.py --write begins here -->", "<!-- and ends here too -->"
HEAD = ("| | clients | placet | p50 | p99 | CPU | OpenStack Placement | p50 | p99 | CPU | ratio | measure | placet by it "
        "| refused |\n|" + "---|" * 14)
# A refusal of these is an answer that the question asked for.
GOOD = ("200", "201", "204")


def text(found):
    return "\n".join([*_about(found["machine"]), "", *_search(found["search"]), *_start(found["records"]),
                      *_sections(found["records"])])


def write(found):
    picture = "![Requests a second of placet and OpenStack Placement, side by side](docs/bench.svg)"
    first = found["records"][0]
    there = [it for it in found["records"] if place(it) == place(first)]
    short = "\n".join([*_about(found["machine"]), *_sections(there)])
    more = "Every engine and shape, the search alone, start-up and memory: [docs/speed.md](docs/speed.md)."
    readme.write(BEGIN, END, f"{picture}\n\n{short}\n\n{more}")
    lead = "`./tox.sh bench` measured this and wrote this page; [README](../README.md#speed) says what the clouds are."
    (ROOT / "docs/speed.md").write_text(f"# Speed\n\n{lead}\n\n{text(found)}\n")


def place(it):
    """Which of the clouds it was measured in."""
    return it["engine"], it["shape"], it["hosts"]


def line(records):
    """What was measured of one scenario."""
    return _row({it["side"]: it for it in records})


def median(record, what):
    values = [it[what] for it in record["rounds"] if it.get(what) is not None]
    return statistics.median(values) if values else None


def _about(machine):
    about = (
        f"Measured {machine['date']} on {machine['cores']} cores ({machine['model']}), which clients, service and "
        f"database shared; load average {machine['load']:.1f} at its begin. Sides took turns, each on its own copy of "
        f"one database with durable settings and a gigabyte of memory for its server; figures are medians of rounds, and "
        "OpenStack Placement was asked in one, where its answers come fast after half a second that does not count. It, "
        "version 16.0.0, ran under "
        f"{told()}. *Measure* is what a read or a claim is held against: for reads the wire (w), the load generator's "
        "own stub that answers with as many bytes at once, which no service exceeds; for claims the floor (f), a "
        "compiled client that writes the least that a claim can be, statement by statement, to the same database, "
        "which only claims that share a transaction exceed. *CPU* is what the service's own processes spent on one. "
        "*Refused* counts placet's answers that were no success.")
    return textwrap.wrap(about, 120)


def _sections(records):
    places = dict.fromkeys(place(it) for it in records if it["group"] != "start")
    for engine, shape, hosts in places:
        yield f"\n#### {hosts:,} hosts, {shape}, {engine}\n"
        yield HEAD
        rows = {}
        for it in records:
            if place(it) == (engine, shape, hosts) and it["group"] != "start":
                rows.setdefault((it["scenario"], it["clients"]), {})[it["side"]] = it
        yield from map(_row, rows.values())


def _row(sides):
    if not sides:
        return ""
    placet, upstream = sides.get("placet"), sides.get("upstream")
    bound = sides.get("wire") or sides.get("floor")
    first = next(iter(sides.values()))
    rate = {side: median(it, "rate") for side, it in sides.items()}
    ours = rate.get("placet")
    cells = [first["scenario"], first["clients"], *_side(placet), *_side(upstream)]
    cells.append(f"{_number(ours / rate['upstream'])}" if ours and rate.get("upstream") else "")
    if bound:
        limit = median(bound, "rate")
        cells += [f"{_number(limit)} {bound['side'][0]}", f"{ours / limit:.0%}" if ours and limit else ""]
    else:
        cells += ["", ""]
    cells.append(_refused(placet))
    return "| " + " | ".join(map(str, cells)) + " |"


def _side(record):
    if not record:
        return [""] * 4
    rate = median(record, "rate")
    if not rate:
        return [f"none ({_refused(record)})", "", "", ""]
    return [f"{_number(rate)}/s", *(_time(median(record, it)) for it in ("p50_us", "p99_us", "cpu_us"))]


def _refused(record):
    bad = {}
    for it in record["rounds"] if record else ():
        for answer, count in it["answers"].items():
            if answer not in GOOD:
                bad[answer] = bad.get(answer, 0) + count
    return ", ".join(f"{count} {answer.strip()}" for answer, count in bad.items())


def _search(found):
    if not found:
        return
    yield "#### The search alone, in microseconds\n"
    yield "| hosts | shape | asked | found | p50 | p99 | CPU, mean |\n|---|---|---|---|---|---|---|"
    for it in found:
        for case in it["cases"]:
            yield (f"| {it['hosts']:,} | {it['shape']} | {case['case']} | {case['found']:,} "
                   f"| {_number(case['p50_us'])} | {_number(case['p99_us'])} | {_number(case['cpu_us'])} |")


def _start(records):
    found = [it for it in records if it["group"] == "start"]
    if not found:
        return
    yield "\n#### Start-up and memory\n"
    yield "| engine | shape | hosts | | of | |\n|---|---|---|---|---|---|"
    names = {"sums": "the database's own sums", "upstream": "OpenStack Placement", "placet": "placet"}
    for it in found:
        seconds, size = median(it, "seconds"), median(it, "megabytes")
        value = f"{seconds:.2f} s" if seconds is not None else f"{size:.0f} MB"
        processes = f", {it['clients']} processes" if it["clients"] > 1 else ""
        yield (f"| {it['engine']} | {it['shape']} | {it['hosts']:,} | {it['scenario']} "
               f"| {names[it['side']]}{processes} | {value} |")


def _number(value):
    return f"{value:,.0f}" if value >= 20 else f"{value:.1f}"


def _time(micros):
    if micros is None:
        return ""
    if micros < 1000:
        return f"{micros:.0f} µs"
    return f"{micros / 1000:.1f} ms" if micros < 1e6 else f"{micros / 1e6:.1f} s"
