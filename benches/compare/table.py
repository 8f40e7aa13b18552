"""Writes the records of a bench as tables: to the terminal, and into docs/speed.md, docs/search-speed.md and
README.md.
"""

import statistics
import textwrap

from benches.compare import claims_together, first_candidates, one_call, refusals
from benches.compare.summary import (ENGINE_NAMES, cloud_of, format_duration, format_number, largest_clouds, median, rates,
                                     ratio)
from benches.compare.systems import BASELINE_NAMES, upstream_deployment
from functional_tests.lib import readme
from functional_tests.lib.root import ROOT

# The tables stand between these two lines of both pages, the ratios between these two lines of README.md.
SPEED, TABLES_BEGIN, TABLES_END = ROOT / "docs/speed.md", "<!-- bench tables begin -->", "<!-- bench tables end -->"
SEARCH_SPEED = ROOT / "docs/search-speed.md"
README, RATIOS_BEGIN, RATIOS_END = ROOT / "README.md", "<!-- bench ratios begin -->", "<!-- bench ratios end -->"
HEAD = ("| scenario | clients | placet | p50 | p99 | CPU | OpenStack Placement | p50 | p99 | CPU | ratio | baseline "
        "| of baseline | refused |\n|" + "---|" * 14)
# The ratios that README.md gives: the name of each, and which records it is of.
RATIOS = {
    "candidates": lambda record: record["group"] == "candidates",
    "lists": lambda record: record["group"] == "list",
    "claims by 32 clients": lambda record: _is(record, "claims, random hosts", 32),
    "claims by 32 clients on one shared pool": lambda record: _is(record, "claims, all on one pool", 32),
    "scheduler loop": lambda record: _is(record, "scheduler loop", 32),
    "compute node report": lambda record: _is(record, "compute node report", 32),
}
SUCCESSES = ("200", "201", "204")
MEGABYTE = 1e6
# Searches that take less CPU time are below the resolution of the system's clock.
MIN_CPU_MICROSECONDS = 5


def text(found):
    return "\n".join([*_of_service(found), "", *_search(found["search"])])


def _of_service(found):
    """All tables but those of the search alone."""
    return [*_about(found["machine"]), "", *_overview(found["records"]), *_start(found["records"]),
            *refusals.table(found["refusals"]), *claims_together.table(found["claims_together"]),
            *first_candidates.table(found["first_candidates"]), *one_call.table(found["one_call"]),
            *_sections(found["records"])]


def write(found):
    readme.write(SPEED, TABLES_BEGIN, TABLES_END, "\n".join(_of_service(found)))
    readme.write(SEARCH_SPEED, TABLES_BEGIN, TABLES_END, "\n".join(_search(found["search"])))
    readme.write(README, RATIOS_BEGIN, RATIOS_END, "\n".join(ratios(found)))


def ratios(found):
    """Lines of a table: the smallest and largest ratio to OpenStack Placement over the clouds of the first engine."""
    engine, _, hosts = largest_clouds(found["records"])[0]
    machine = f"{hosts:,} hosts, {found['machine']['cores']} cores, {ENGINE_NAMES[engine]}"
    yield f"| {machine} | requests per second, OpenStack Placement's = 1 |"
    yield "|---|---|"
    for name, is_of in RATIOS.items():
        records = [record for record in found["records"]
                   if (record["engine"], record["hosts"]) == (engine, hosts) and is_of(record)]
        found_ratios = sorted(filter(None, (ratio(systems) for clouds in rates(records).values()
                                            for systems in clouds.values())))
        if found_ratios:
            ends = dict.fromkeys(format_number(value) for value in (found_ratios[0], found_ratios[-1]))
            yield f"| {name} | {' to '.join(ends)} |"


def _is(record, scenario, clients):
    return (record["scenario"], record["clients"]) == (scenario, clients)


def line(records):
    """The row of one scenario, from the records of its systems."""
    return _row({record["system"]: record for record in records})


def _about(machine):
    """What the columns are and how they were measured, in lines."""
    minutes = f" in {machine['seconds'] / 60:.0f} minutes" if "seconds" in machine else ""
    paragraphs = (
        f"Measured {machine['date']}{minutes} on {machine['cores']} cores ({machine['model']}), which clients, service and "
        f"database shared. The load average was {machine['load']:.1f} at the start. Rounds of the systems alternated. placet "
        "worked on one copy of a database, the other systems on another copy. Servers were durable and had a gigabyte of "
        "memory. Figures are medians of rounds.",
        "Before anything was counted, placet and the SQL baseline wrote for a while, so that the servers had read what was "
        "just imported. OpenStack Placement was measured in one round, after a warm-up of 0.4 s with two clients. If a "
        "response took it more than a second in the warm-up, the warm-up is the figure, marked (2) for its two clients. It, "
        f"version 16.0.0, ran under {upstream_deployment()}.",
        "- *Baseline* is a second comparison, with a program that does only the unavoidable part. For searches and lists it "
        "is **HTTP**: the load generator's own server, which sends a canned response of the same size. It was measured once "
        "for each shape, on PostgreSQL. For claims and reports it is **SQL**: a compiled client that executes the minimal "
        "statements, one prepared statement at a time. Only a service that shares statements or transactions among requests can "
        "exceed it. *Of baseline* is placet's rate as a share of it.",
        "- *CPU* is the CPU time of the service's own processes for each request.",
        "- *Ratio* is placet's requests per second divided by OpenStack Placement's.",
        "- *Refused* counts placet's responses that were not successful.",
        "- Each request of a report counts, and in the SQL baseline each query or transaction in its place.",
        "- Rates of responses larger than a megabyte are also given in bytes per second.",
        "- *Memory* is the resident memory of all processes of a service, with shared pages counted once.",
    )
    for previous, paragraph in zip(("", *paragraphs), paragraphs):
        if previous and not (previous.startswith("-") and paragraph.startswith("-")):
            yield ""
        yield from textwrap.wrap(paragraph, 120, break_on_hyphens=False,
                                 subsequent_indent="  " if paragraph.startswith("-") else "")


def _overview(records):
    """A column for each cloud: placet's rate, its ratio to OpenStack Placement's, its share of the baseline's."""
    clouds = largest_clouds(records)
    if len(clouds) < 2:
        return
    yield "#### All clouds: placet's requests per second (ratio to OpenStack Placement; share of the baseline)\n"
    yield "| scenario | clients | " + " | ".join(f"{engine}, {shape}" for engine, shape, _ in clouds) + " |"
    yield "|" + "---|" * (2 + len(clouds))
    for (name, clients), cells in rates(records).items():
        if any(cloud in cells for cloud in clouds):
            yield f"| {name} | {clients} | " + " | ".join(_overview_cell(cells.get(cloud, {})) for cloud in clouds) + " |"
    yield ""


def _overview_cell(systems):
    placet, baseline = systems.get("placet"), systems.get("canned_server") or systems.get("sql_baseline")
    if not placet:
        return ""
    more = [f"{format_number(ratio(systems))}×"] if ratio(systems) else []
    more += [f"{placet / baseline:.0%}"] if baseline else []
    return f"{format_number(placet)} ({'; '.join(more)})" if more else format_number(placet)


def _sections(records):
    """A table for each cloud."""
    records = [record for record in records if record["group"] != "start"]
    for cloud in dict.fromkeys(map(cloud_of, records)):
        engine, shape, hosts = cloud
        yield f"\n#### {hosts:,} hosts, {shape}, {engine}\n"
        yield HEAD
        rows = {}
        for record in records:
            if cloud_of(record) == cloud:
                rows.setdefault((record["scenario"], record["clients"]), {})[record["system"]] = record
        yield from map(_row, rows.values())


def _row(systems):
    """The row of one scenario, from its records by system."""
    if not systems:
        return ""
    placet, upstream = systems.get("placet"), systems.get("upstream")
    baseline = systems.get("canned_server") or systems.get("sql_baseline")
    first = next(iter(systems.values()))
    medians = {system: median(record, "rate") for system, record in systems.items()}
    upstream_cells = _system_cells(upstream)
    if upstream and medians["upstream"] and "warm_up_clients" in upstream["rounds"][0]:
        upstream_cells[0] += f" ({upstream['rounds'][0]['warm_up_clients']})"
    cells = [first["scenario"], first["clients"], *_system_cells(placet), *upstream_cells]
    cells.append(format_number(ratio(medians)) if ratio(medians) else "")
    if baseline:
        rate = median(baseline, "rate")
        share = f"{medians['placet'] / rate:.0%}" if medians.get("placet") and rate else ""
        cells += [f"{format_number(rate)} {BASELINE_NAMES[baseline['system']]}", share]
    else:
        cells += ["", ""]
    cells.append(_refused(placet))
    return "| " + " | ".join(map(str, cells)) + " |"


def _system_cells(record):
    """Rate, median latency, 99th percentile and CPU time of one system."""
    if not record:
        return [""] * 4
    rate = median(record, "rate")
    if not rate:
        return [f"none ({_refused(record)})", "", "", ""]
    durations = (format_duration(median(record, key)) for key in ("p50_us", "p99_us", "cpu_us"))
    return [f"{format_number(rate)}/s{_bytes_per_second(record)}", *durations]


def _bytes_per_second(record):
    """The rate in bytes, if responses are larger than a megabyte."""
    large = [result["bytes"] / result["seconds"] / MEGABYTE for result in record["rounds"]
             if result["bytes"] > MEGABYTE * result["completed"]]
    if not large:
        return ""
    megabytes = statistics.median(large)
    return f" ({megabytes / 1e3:.1f} GB/s)" if megabytes >= 1e3 else f" ({format_number(megabytes)} MB/s)"


def _refused(record):
    """The outcomes that were no success, with their numbers."""
    counts = {}
    for result in record["rounds"] if record else ():
        for outcome, count in result["outcomes"].items():
            if outcome not in SUCCESSES:
                counts[outcome] = counts.get(outcome, 0) + count
    return ", ".join(f"{count} {outcome.strip()}" for outcome, count in counts.items())


def _search(results):
    if not results:
        return
    yield "#### The search alone, without HTTP and database, in microseconds\n"
    yield "| hosts | shape | request | found | p50 | p99 | CPU, mean |\n|---|---|---|---|---|---|---|"
    for result in results:
        for case in result["cases"]:
            cpu = format_number(case["cpu_us"]) if case["cpu_us"] >= MIN_CPU_MICROSECONDS else ""
            yield (f"| {result['hosts']:,} | {result['shape']} | {case['case']} | {case['found']:,} "
                   f"| {format_number(case['p50_us'])} | {format_number(case['p99_us'])} | {cpu} |")


def _start(records):
    records = [record for record in records if record["group"] == "start"]
    if not records:
        return
    yield "\n#### Start-up and memory\n"
    yield "| engine | shape | hosts | measurement | system | value |\n|---|---|---|---|---|---|"
    names = {"sql_sum": "the same sums by SQL", "upstream": "OpenStack Placement", "placet": "placet"}
    for record in records:
        seconds, size = median(record, "seconds"), median(record, "megabytes")
        value = f"{seconds:.2f} s" if seconds is not None else f"{size:.0f} MB"
        processes = f", {record['clients']} processes" if record["clients"] > 1 else ""
        yield (f"| {record['engine']} | {record['shape']} | {record['hosts']:,} | {record['scenario']} "
               f"| {names[record['system']]}{processes} | {value} |")
