"""Captures the statements and plans of MariaDB from its slow query log, which logs all statements here."""

import re

from functional_tests.query_plans.judge import Access, Executed
from functional_tests.query_plans.log_tail import Tail

SETTINGS = {
    "slow_query_log_file": "'{}'", "log_output": "'FILE'", "long_query_time": "0",
    "log_slow_verbosity": "'query_plan,explain'", "slow_query_log": "1",
}
NOT_OURS = ("SESSION_VARIABLES", "SESSION_STATUS", "tables")


class Capture:
    """Captures everything that is executed from now on."""

    def __init__(self, engine, database):
        path = engine.nodes[0].folder / "statements"
        connection = engine.nodes[0].database("").connect()
        for name, value in SETTINGS.items():
            connection.execute(f"SET GLOBAL {name} = {value.format(path)}")
        connection.close()
        self.log = Tail.from_now_on(path)

    def follow(self, services):
        """Does nothing: the server's log has the statements of all services."""

    def taken(self, _=()):
        """The executions since the last call."""
        for entry in self.log.read().split("# User@Host: ")[1:]:
            plan = re.findall(r"^# explain: (\d.*)$", entry, re.M)
            sql = re.search(r"^SET timestamp=\d+;\n(.*)", entry, re.M | re.S)
            if sql:
                # The time of the next entry may follow the statement.
                text = re.sub(r"\n# Time: .*\n?$", "", sql[1].rstrip()).rstrip().rstrip(";")
                examined = int(re.search(r"Rows_examined: (\d+)", entry)[1])
                yield Executed(text, list(accesses(plan, text)), examined)


def accesses(plan, sql):
    """For a joined table MariaDB logs the rows for one row of the other tables. Rows_examined has the whole number."""
    for line in plan:
        _, _, alias, kind, _, _, _, _, _, read, *_ = line.split("\t")
        # Skips tables that were not read, and temporary tables.
        if read == "NULL" or alias.startswith("<") or alias == "NULL" or alias in NOT_OURS:
            continue
        yield Access(table_of(alias, sql), kind in ("ALL", "index"), round(float(read)))


def table_of(alias, sql):
    """The table of an alias, as in `FROM placet_changes c`."""
    named = re.search(rf"\b(?:FROM|JOIN)\s+(\w+)\s+{re.escape(alias)}\b", sql)
    return named[1] if named else alias
