"""Captures the statements and plans of PostgreSQL with auto_explain."""

import json
import re

from functional_tests.query_plans.judge import Access, Executed
from functional_tests.query_plans.log_tail import Tail

SETTINGS = {
    "session_preload_libraries": "auto_explain", "auto_explain.log_min_duration": "0", "auto_explain.log_analyze": "on",
    "auto_explain.log_timing": "off", "auto_explain.log_format": "json", "auto_explain.log_nested_statements": "on",
}
ENTRY = re.compile(r"LOG:  duration: [\d.]+ ms  plan:\n((?:\t.*\n)+)")


class Capture:
    """Captures everything that is executed in a database from now on."""

    def __init__(self, engine, database):
        for name, value in SETTINGS.items():
            database.run(f"ALTER DATABASE \"{database.name}\" SET {name} = '{value}'")
        self.log = Tail.from_now_on(engine.nodes[0].folder / "log")

    def follow(self, services):
        """Does nothing: the server's log has the statements of all services."""

    def taken(self, _=()):
        """The executions since the last call."""
        for entry in ENTRY.finditer(self.log.read()):
            logged = json.loads(entry[1].replace("\n\t", "\n"))
            yield Executed(logged["Query Text"], list(accesses(logged["Plan"])))


def accesses(plan):
    if "Relation Name" in plan and plan["Node Type"].endswith("Scan"):
        removed = sum(plan.get(f"Rows Removed by {what}", 0) for what in ("Filter", "Index Recheck"))
        rows = round((plan["Actual Rows"] + removed) * plan["Actual Loops"])
        by_index = plan["Node Type"] == "Bitmap Heap Scan" or "Index Cond" in plan
        yield Access(plan["Relation Name"], not by_index, rows)
    for inner in plan.get("Plans", []):
        yield from accesses(inner)
