"""Reads placet's committed transactions from a node's binary logs.

Each transaction inserts a row with its commit token into placet_changes. lost_writes.py compares these commits with the
tables, to distinguish a write lost by the cluster from a write without a commit by placet.
"""

import re
import subprocess
from collections import Counter
from dataclasses import dataclass, field

from functional_tests.lib.servers import machine

ROW = re.compile(r"### (INSERT INTO|DELETE FROM|UPDATE) `([^`]*)`\.`([^`]*)`")
VALUE = re.compile(r"###   @(\d+)=(.*)")
POSITION = re.compile(r"# at (\d+)")
GTID = re.compile(r"\tGTID (\d+-\d+-\d+)")
# The log names columns by their number.
WRITER, REVISION, TOKEN = 1, 2, 3  # of placet_changes
ID, PROVIDER, CONSUMER, CLASS, USED = 3, 4, 5, 6, 7  # of allocations
UUID, GENERATION = 4, 6  # of resource_providers


@dataclass
class Commit:
    """One transaction.

    - `allocations`: consumer -> the allocations that the transaction left to it, as row's id -> (provider's id,
      class's id, amount). placet deletes all rows that the consumer had, then inserts all that it has now.
    - `generations`: provider's uuid -> (generation before, generation after).
    """

    file: str
    position: int
    gtid: str
    writer: str = None
    revision: int = None
    token: str = None
    allocations: dict = field(default_factory=dict)
    generations: dict = field(default_factory=dict)

    @property
    def place(self):
        return f"{self.file}, position {self.position}, GTID {self.gtid}, writer {self.writer}, revision {self.revision}"

    def add_row(self, action, table, images):
        """Adds one changed row. An image maps numbers of columns to values; an UPDATE has two, before and after."""
        values = images[-1]
        if table == "resource_providers" and action == "UPDATE":
            before, _ = self.generations.get(values[UUID], (int(images[0][GENERATION]), None))
            self.generations[values[UUID]] = before, int(values[GENERATION])
        elif table == "placet_changes" and action == "INSERT INTO":
            self.writer, self.revision, self.token = values[WRITER], int(values[REVISION]), values[TOKEN]
        elif table == "allocations" and action != "UPDATE":
            rows = self.allocations.setdefault(values[CONSUMER], {})
            if action == "INSERT INTO":
                rows[values[ID]] = int(values[PROVIDER]), int(values[CLASS]), int(values[USED])
            else:
                rows.pop(values[ID], None)

    def leaves_exactly(self, consumer, allocations):
        """Whether the transaction left exactly these allocations, a Counter, to the consumer."""
        return consumer in self.allocations and Counter(self.allocations[consumer].values()) == allocations


def commits(node, database):
    """All transactions with a commit token that the node ever logged for the database, in the order of the log."""
    found = []
    for path in node.binary_logs():
        found += [commit for commit in _transactions(path, database) if commit.token]
    return found


def _transactions(path, database):
    """The committed transactions of one file."""
    lines = subprocess.run(
        [machine.program("mariadb-binlog", "mariadb-client"), "--no-defaults", "--base64-output=DECODE-ROWS", "-v",
         f"--database={database}", str(path)],
        capture_output=True, text=True, errors="replace", check=True).stdout.splitlines()
    commit = row = None  # a row: action, table, images
    at = 0
    for line in lines:
        if value := VALUE.match(line):
            row[2][-1][int(value[1])] = value[2].strip("'")
            continue
        if line in ("### SET", "### WHERE"):
            row[2].append({})
            continue
        # Any other line ends the row before it.
        if commit and row:
            commit.add_row(*row)
        began = ROW.match(line)
        row = (began[1], began[3], []) if began else None
        if position := POSITION.match(line):
            at = int(position[1])
        elif gtid := GTID.search(line):
            # lib/servers/galera.py keeps the files as `<inode>-<name>`.
            commit = Commit(path.name.split("-", 1)[1], at, gtid[1])
        elif line.startswith("COMMIT") and commit:
            yield commit
            commit = None
