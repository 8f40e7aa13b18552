"""Medians of records, and figures as text. Tables and chart use them."""

import statistics

ENGINE_NAMES = {"postgresql": "PostgreSQL", "mariadb": "MariaDB", "sqlite": "SQLite"}


def cloud_of(record):
    """The cloud that a record was measured in: engine, shape and number of hosts."""
    return record["engine"], record["shape"], record["hosts"]


def median(record, key):
    values = [result[key] for result in record["rounds"] if result.get(key) is not None]
    return statistics.median(values) if values else None


def rates(records):
    """Requests per second by system, by cloud, by scenario and clients. Scenarios of one group are adjacent."""
    records = [record for record in records if record["group"] != "start"]
    groups = list(dict.fromkeys(record["group"] for record in records))
    found = {}
    for record in sorted(records, key=lambda record: groups.index(record["group"])):
        clouds = found.setdefault((record["scenario"], record["clients"]), {})
        clouds.setdefault(cloud_of(record), {})[record["system"]] = median(record, "rate")
    return found


def ratio(systems):
    """placet's rate divided by OpenStack Placement's, or None if one of them is missing."""
    return systems["placet"] / systems["upstream"] if systems.get("placet") and systems.get("upstream") else None


def largest_clouds(records):
    """The clouds with the most hosts, in the order in which they were measured."""
    records = [record for record in records if record["group"] != "start"]
    most = max((record["hosts"] for record in records), default=0)
    return list(dict.fromkeys(cloud_of(record) for record in records if record["hosts"] == most))


def format_number(value):
    return f"{value:,.0f}" if value >= 20 else f"{value:.1f}"


def format_duration(microseconds):
    if microseconds is None:
        return ""
    if microseconds < 1000:
        return f"{microseconds:.0f} µs"
    return f"{microseconds / 1000:.1f} ms" if microseconds < 1e6 else f"{microseconds / 1e6:.1f} s"
