"""Records as tables: in the terminal, in docs/speed.md, and of the first engine and shape in README.md."""

import statistics
import textwrap

from figures import ENGINES, duration, largest, median, number, place, rates
from generator import ROOT
from sides import told

import readme  # noqa: E402  (sides.py has found it)

BEGIN, END = "<!-- benches/compare/run.py --write begins here -->", "<!-- and ends here too -->"
HEAD = ("| | clients | placet | p50 | p99 | CPU | OpenStack Placement | p50 | p99 | CPU | ratio | measure | placet by it "
        "| refused |\n|" + "---|" * 14)
SAID_BEGIN, SAID_END = "<!-- run.py --write begins -->", "<!-- run.py --write ends -->"
# What README says at a glance: in whose words, and which records that is about.
SAID = {
    "candidates": lambda it: it["group"] == "candidates",
    "lists": lambda it: it["group"] == "list",
    "claims of 32 clients": lambda it: it["scenario"] == "claims, random hosts" and it["clients"] == 32,
    "and on one shared pool": lambda it: it["scenario"] == "claims, all on one pool" and it["clients"] == 32,
    "a scheduler's loop": lambda it: it["group"] == "scheduler" and it["clients"] == 32,
    "a compute node's report": lambda it: it["group"] == "report" and it["clients"] == 32,
}
# A refusal of these is an answer that the question asked for.
GOOD = ("200", "201", "204")


def text(found):
    return "\n".join([*_about(found["machine"]), "", *_glance(found["records"]), *_search(found["search"]),
                      *_start(found["records"]), *_sections(found["records"])])


def write(found):
    picture = "![Requests a second of placet and OpenStack Placement, side by side](docs/bench.svg)"
    first = found["records"][0]
    there = [it for it in found["records"] if place(it) == place(first)]
    short = "\n".join([*_about(found["machine"]), *_sections(there)])
    more = "Every engine and shape, the search alone, start-up and memory: [docs/speed.md](docs/speed.md)."
    readme.write(BEGIN, END, f"{picture}\n\n{short}\n\n{more}")
    readme.replace(SAID_BEGIN, SAID_END, said(found))
    lead = "`./tox.sh bench` measured this and wrote this page; [README](../README.md#speed) says what the clouds are."
    (ROOT / "docs/speed.md").write_text(f"# Speed\n\n{lead}\n\n{text(found)}\n")


def said(found):
    """In a sentence: how many times as much as OpenStack Placement, least and most, over the first engine's clouds."""
    engine, _, hosts = largest(found["records"])[0]
    parts = []
    for name, is_meant in SAID.items():
        meant = [it for it in found["records"] if (it["engine"], it["hosts"]) == (engine, hosts) and is_meant(it)]
        sides = [sides for places in rates(meant).values() for sides in places.values()]
        times = sorted(it["placet"] / it["upstream"] for it in sides if it.get("placet") and it.get("upstream"))
        if times:
            parts.append(f"{name} " + " to ".join(dict.fromkeys(number(it) for it in (times[0], times[-1]))))
    machine = f"{hosts:,} hosts on {found['machine']['cores']} cores, {ENGINES[engine]}"
    return f"{machine}, times as many a second in every case and shape: {', '.join(parts)}"


def line(records):
    """What was measured of one scenario."""
    return _row({it["side"]: it for it in records})


def _about(machine):
    minutes = f", in {machine['seconds'] / 60:.0f} minutes" if "seconds" in machine else ""
    about = (
        f"Measured {machine['date']}{minutes} on {machine['cores']} cores ({machine['model']}), which clients, service and "
        f"database shared; load average {machine['load']:.1f} at its begin. Sides took turns, placet on a copy of the "
        "database that the others worked on, with durable settings and a gigabyte of memory for its server; figures are "
        "medians of rounds. Before it counted, placet and the floor wrote for a while, so that servers had read what was "
        "just imported. OpenStack Placement was asked in one round, after 0.4 s of two clients that do not count; but "
        "where an answer took it more than a second, that is what counts, marked (2) for its two clients. "
        f"It, version 16.0.0, ran under {told()}. *Measure* is what placet is held against. For searches and "
        "lists that is the wire (w): the load generator's own stub, which answers with as many bytes, made before, asked once "
        "for each shape, on PostgreSQL. For claims and reports it is the floor (f): a compiled client that does by SQL alone, statement by "
        "statement, each prepared once, the least that they can be, which only those that share a statement or a "
        "transaction exceed. *CPU* is what the service's own processes spent on one. *Refused* counts placet's answers "
        "that were no success. Each request of a report counts, and so does each question or change that the floor has "
        "in its place. Where answers are larger than a megabyte it is said how many bytes a second they were. *Memory* is what "
        "is resident of all processes of a service, pages that they share counted once.")
    return textwrap.wrap(about, 120)


def _glance(records):
    """Every cloud beside the others: placet's rate, how many times OpenStack Placement's it is, which part of its measure."""
    places = largest(records)
    if len(places) < 2:
        return
    yield "#### All clouds: placet a second (times OpenStack Placement; part of the wire or floor)\n"
    yield "| | clients | " + " | ".join(f"{engine}, {shape}" for engine, shape, _ in places) + " |"
    yield "|" + "---|" * (2 + len(places))
    for (name, clients), cells in rates(records).items():
        if any(place in cells for place in places):
            yield f"| {name} | {clients} | " + " | ".join(_brief(cells.get(it, {})) for it in places) + " |"
    yield ""


def _brief(rate):
    """What of one cloud stands in a cell."""
    ours, bound = rate.get("placet"), rate.get("wire") or rate.get("floor")
    if not ours:
        return ""
    more = [f"{number(ours / rate['upstream'])}×"] if rate.get("upstream") else []
    more += [f"{ours / bound:.0%}"] if bound else []
    return f"{number(ours)} ({'; '.join(more)})" if more else number(ours)


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
    if upstream and rate["upstream"] and "asked_by" in upstream["rounds"][0]:
        cells[6] += f" ({upstream['rounds'][0]['asked_by']})"
    cells.append(f"{number(ours / rate['upstream'])}" if ours and rate.get("upstream") else "")
    if bound:
        limit = median(bound, "rate")
        cells += [f"{number(limit)} {bound['side'][0]}", f"{ours / limit:.0%}" if ours and limit else ""]
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
    return [f"{number(rate)}/s{_bytes(record)}", *(duration(median(record, it)) for it in ("p50_us", "p99_us", "cpu_us"))]


def _bytes(record):
    """How many bytes a second those were, where one is larger than a megabyte."""
    many = [it["bytes"] / it["seconds"] / 1e6 for it in record["rounds"] if it["bytes"] > 1e6 * it["done"]]
    if not many:
        return ""
    each = statistics.median(many)
    return f" ({each / 1e3:.1f} GB/s)" if each >= 1e3 else f" ({number(each)} MB/s)"


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
                   f"| {number(case['p50_us'])} | {number(case['p99_us'])} | {_mean(case['cpu_us'])} |")


def _mean(micros):
    """The system's clock of CPU time is coarse: of short searches it says nothing."""
    return number(micros) if micros >= 5 else ""


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
