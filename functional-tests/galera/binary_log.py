"""Reads a node's binary logs: the committed transactions of placet's writers, which are known by their token."""

import re
import subprocess
from collections import Counter
from dataclasses import dataclass, field

from functional_tests.lib.servers import machine

ROW = re.compile(r"### (INSERT INTO|DELETE FROM|UPDATE) `([^`]*)`\.`([^`]*)`")
VALUE = re.compile(r"###   @(\d+)=(.*)")
POSITION = re.compile(r"# at (\d+)")
GTID = re.compile(r"\tGTID (\d+-\d+-\d+)")
# The numbers of columns, by which the log names them.
WRITER, REVISION, TOKEN = 1, 2, 3  # of placet_changes
PROVIDER, CONSUMER, CLASS, USED = 4, 5, 6, 7  # of allocations
UUID, GENERATION = 4, 6  # of resource_providers


@dataclass
class Commit:
    """One transaction.

    - `inserted`, `deleted`: consumer -> its inserted and deleted allocations, as (provider's id, class's id, amount).
    - `generations`: provider -> (generation before, generation after).
    """

    file: str
    position: int
    gtid: str
    writer: str = None
    revision: int = None
    token: str = None
    inserted: dict = field(default_factory=dict)
    deleted: dict = field(default_factory=dict)
    generations: dict = field(default_factory=dict)

    @property
    def place(self):
        return f"{self.file}, position {self.position}, GTID {self.gtid}, writer {self.writer}, revision {self.revision}"

    def row(self, action, table, images):
        values = images[-1]
        if table == "resource_providers" and action == "UPDATE":
            before, _ = self.generations.get(values[UUID], (int(images[0][GENERATION]), None))
            self.generations[values[UUID]] = before, int(values[GENERATION])
        elif table == "placet_changes" and action == "INSERT INTO":
            self.writer, self.revision, self.token = values[WRITER], int(values[REVISION]), values[TOKEN]
        elif table == "allocations" and action != "UPDATE":
            side = self.inserted if action == "INSERT INTO" else self.deleted
            found = int(values[PROVIDER]), int(values[CLASS]), int(values[USED])
            side.setdefault(values[CONSUMER], Counter())[found] += 1

    def left(self, consumer):
        """The allocations of the consumer after the transaction: those that it inserted and did not delete again."""
        return self.inserted.get(consumer, Counter()) - self.deleted.get(consumer, Counter())


def commits(node, database):
    """All transactions with a token that the node ever logged for the database, in order."""
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
    commit = row = None
    at = 0
    for line in lines:
        if line.startswith("###"):
            if value := VALUE.match(line):
                row[2][-1][int(value[1])] = value[2].strip("'")
                continue
            if line in ("### SET", "### WHERE"):
                row[2].append({})
                continue
            if commit and row:
                commit.row(*row)
            began = ROW.match(line)
            row = (began[1], began[3], []) if began else row
            continue
        if commit and row:
            commit.row(*row)
        row = None
        if position := POSITION.match(line):
            at = int(position[1])
        elif gtid := GTID.search(line):
            commit = Commit(path.name.split("-", 1)[1], at, gtid[1])
        elif line.startswith("COMMIT") and commit:
            yield commit
            commit = None
