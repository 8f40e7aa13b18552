"""What tables and chart say of records: medians, and numbers as text."""

import statistics

ENGINES = {"postgresql": "PostgreSQL", "mariadb": "MariaDB", "sqlite": "SQLite"}


def place(it):
    """Which of the clouds it was measured in."""
    return it["engine"], it["shape"], it["hosts"]


def median(record, what):
    values = [it[what] for it in record["rounds"] if it.get(what) is not None]
    return statistics.median(values) if values else None


def rates(records):
    """By scenario and clients, and by place: requests a second of each side. What belongs together stands together."""
    records = [it for it in records if it["group"] != "start"]
    groups = list(dict.fromkeys(it["group"] for it in records))
    found = {}
    for it in sorted(records, key=lambda it: groups.index(it["group"])):
        sides = found.setdefault((it["scenario"], it["clients"]), {}).setdefault(place(it), {})
        sides[it["side"]] = median(it, "rate")
    return found


def largest(records):
    """The clouds that have most hosts, in the order in which they were measured."""
    records = [it for it in records if it["group"] != "start"]
    most = max((it["hosts"] for it in records), default=0)
    return list(dict.fromkeys(place(it) for it in records if it["hosts"] == most))


def number(value):
    return f"{value:,.0f}" if value >= 20 else f"{value:.1f}"


def duration(micros):
    if micros is None:
        return ""
    if micros < 1000:
        return f"{micros:.0f} µs"
    return f"{micros / 1000:.1f} ms" if micros < 1e6 else f"{micros / 1e6:.1f} s"
