"""What MariaDB executed, and how: its own account of each statement, in the log of slow ones, to which all are slow."""

import re

from functional_tests.query_plans.judge import Access, Executed
from functional_tests.query_plans.log_tail import Tail

SETTINGS = {
    "slow_query_log_file": "'{}'", "log_output": "'FILE'", "long_query_time": "0",
    "log_slow_verbosity": "'query_plan,explain'", "slow_query_log": "1",
}
NOT_OURS = ("SESSION_VARIABLES", "SESSION_STATUS", "tables")


class Capture:
    """From now on all that is executed is kept."""

    def __init__(self, engine, database):
        path = engine.nodes[0].folder / "statements"
        connection = engine.nodes[0].database("").connect()
        for name, value in SETTINGS.items():
            connection.execute(f"SET GLOBAL {name} = {value.format(path)}")
        connection.close()
        self.log = Tail.from_now_on(path)

    def follow(self, services):
        """There is nothing to find: the server's log has the statements of all of them."""

    def taken(self, _=()):
        """What was executed since the last time."""
        for entry in self.log.read().split("# User@Host: ")[1:]:
            plan = re.findall(r"^# explain: (\d.*)$", entry, re.M)
            sql = re.search(r"^SET timestamp=\d+;\n(.*)", entry, re.M | re.S)
            if sql:
                # The time of the next entry may stand behind it.
                text = re.sub(r"\n# Time: .*\n?$", "", sql[1].rstrip()).rstrip().rstrip(";")
                examined = int(re.search(r"Rows_examined: (\d+)", entry)[1])
                yield Executed(text, list(accesses(plan, text)), examined)


def accesses(plan, sql):
    """Of a table that is joined the rows are those for one row of the others; the whole is what is counted."""
    for line in plan:
        _, _, alias, kind, _, _, _, _, _, read, *_ = line.split("\t")
        # What was not looked at, and what a statement made by itself.
        if read == "NULL" or alias.startswith("<") or alias == "NULL" or alias in NOT_OURS:
            continue
        yield Access(table_of(alias, sql), kind in ("ALL", "index"), round(float(read)))


def table_of(alias, sql):
    """The table behind a short name: `FROM placet_changes c`."""
    named = re.search(rf"\b(?:FROM|JOIN)\s+(\w+)\s+{re.escape(alias)}\b", sql)
    return named[1] if named else alias
