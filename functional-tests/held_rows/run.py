"""A row that a foreign program holds delays only the requests for this row.

    python -m functional_tests.held_rows.run [--engine postgresql|mariadb|galera] [--seconds S] [--seed N]
                                             [--binary PATH] [--mutant NAME] [CASE …]

One row is locked for `--seconds` (full size: 24):

- `transaction`: the row of a provider, by another program's open transaction;
- `placet`: the row of a provider, by a placet that is paused inside its transaction;
- `upstream`: the same by a stalled OpenStack Placement;
- `consumer`: the rows of consumers, by another program's open transaction;
- `log`: what the log, the metrics and the refusals say about such rows.

All the time requests for further rows are sent: ten claims a second for new consumers on free hosts, and twelve further
requests: claims that replace, releases, claims of two consumers at once, writes of inventories and traits, new and
deleted providers, candidates and usages; and requests with a choice of which the held host is the best: claims by query
with and without a rank, claims of a list, workloads of one replica. None may be refused, or wait for the row. The judge
of a wait is the slowest request without the lock: before the lock, and all the time on a second database of the same
server. Every two seconds a request for the held row comes. The request succeeds once the row is free, or is answered
503 within `commit_timeout`. Afterwards the tables must match the answers exactly.

On Galera a lock holds on one node, so both programs use the same node.
"""

import concurrent.futures
import os
import statistics
import threading
from collections import Counter

from functional_tests.held_rows.holders import OpenTransaction, PausedPlacet, PausedUpstream
from functional_tests.held_rows.log_lines import found_n4_log_lines
from functional_tests.held_rows.traffic import CLAIM, HELD, HELD_HOST, Traffic
from functional_tests.lib import command_line, engines, live
from functional_tests.lib.ledger import Ledger
from functional_tests.lib.test_counts import TestCounts

# Longer than placet waits for one lock (5 s), so that a request that waits with others makes them late.
SHORT_SECONDS, FULL_SECONDS = 8, 24
FREE_SECONDS = 4  # of the same requests without a lock, to compare with
# How late a request may be: a second, and this multiple of the slowest one without a lock. One that waits with others
# is late by 5 s.
MOST_DELAY_SECONDS, MOST_DELAY_FACTOR = 1, 5
COMMIT_TIMEOUT_SECONDS = 10  # placet's default
CASES = {"transaction": OpenTransaction, "placet": PausedPlacet, "upstream": PausedUpstream, "consumer": OpenTransaction}
LOG = "log"
OUTCOME_UNKNOWN = "The outcome of this request is unknown"


class HeldRow:
    """One case, on a database of its own."""

    def __init__(self, name, options, database, control):
        self.name, self.options, self.database, self.control = name, options, database, control
        self.tests = TestCounts()

    def run(self):
        self.tests.step(f"{self.name}: every request is answered", self.hold_row)
        return self.tests

    def hold_row(self):
        with measured_placet(self.options, self.database) as placet:
            traffic = Traffic(placet.port, f"{self.options.seed}/{self.name}", self.options.seconds + FREE_SECONDS,
                              self.name == "consumer")
            traffic.prepare()
            table, uuids = ("consumers", traffic.held_consumers) if self.name == "consumer" else (
                "resource_providers", [HELD_HOST])
            with CASES[self.name](self.database, table, uuids, self.options.binary) as holder:
                free = traffic.run(FREE_SECONDS, False, lambda: None)
                holder.hold()
                self.tests.step(f"{self.name}: the row is locked", self.is_locked, table, uuids[0])
                answered = traffic.run(self.options.seconds, True, holder.release)
            self.judge(free, answered)

    def is_locked(self, table, uuid):
        rows = self.database.query(f"SELECT id FROM {table} WHERE uuid = ? FOR UPDATE SKIP LOCKED", [uuid])
        assert not rows, f"{table} {uuid} can be locked by others"

    def judge(self, free, answered):
        held = [each for each in answered if each.kind == HELD]
        others = [each for each in answered if each.kind != HELD]
        for name, found in ("without a lock", free), ("beside it", others), ("for the held row", held):
            print(f"{self.name}, {self.options.seconds:.0f} s, {name}: {summary(found)}", flush=True)
        refused = [each for each in (*free, *others) if each.is_refused]
        self.tests.step(f"{self.name}: no request for other rows is refused", none_of, refused)
        # The slowest of all kinds: most kinds are too rare for a maximum of their own.
        slowest = max(each.seconds for each in (*free, *self.control.answered))
        delay = MOST_DELAY_SECONDS + MOST_DELAY_FACTOR * slowest
        print(f"{self.name}: the slowest request without a lock took {slowest:.2f} s, the limit is {delay:.2f} s", flush=True)
        late = [each for each in others if each.seconds > delay]
        self.tests.step(f"{self.name}: no request for other rows waits for the row", none_of, late)
        self.tests.step(f"{self.name}: requests for the row succeed, or are 503 in time", self.held_are_answered, held, delay)
        self.tests.step(f"{self.name}: the tables are as answered", self.tables_are_right, [*free, *answered])

    @staticmethod
    def held_are_answered(held, delay):
        wrong = [each for each in held if each.answer is None or each.answer.status not in (204, 503)
                 or each.seconds > COMMIT_TIMEOUT_SECONDS + delay]
        none_of(wrong)
        assert any(not each.is_refused for each in held), "no request for the row has succeeded"

    def tables_are_right(self, answered):
        ledger = Ledger(self.database)
        faults = ledger.faults() + ledger.gaps()
        assert not faults, faults
        existing = {consumer for (consumer,) in ledger.query("SELECT uuid FROM consumers")}
        replaced = {consumer for (consumer,) in ledger.query("SELECT uuid FROM consumers WHERE generation = 2")}
        none_of([each for each in answered if is_untrue(each, existing, replaced)])


def measured_placet(options, database):
    environment = {"PLACET_MUTANT": options.mutant} if options.mutant else {}
    return live.Service("placet", binary=options.binary, database=database, environment=environment)


class Control:
    """The same requests at the same time, where no row is held: they show how busy the machine is."""

    def __init__(self, options, database):
        self.options, self.database = options, database
        self.answered, self.stopped = [], threading.Event()

    def run(self):
        """Sends requests until all cases have ended."""
        with measured_placet(self.options, self.database) as placet:
            traffic = Traffic(placet.port, f"{self.options.seed}/control", FREE_SECONDS, False)
            traffic.prepare()
            while not self.stopped.is_set():
                self.answered += traffic.run(FREE_SECONDS, False, lambda: None)
                traffic.supply()
        print(f"control: {summary(self.answered)}", flush=True)


def is_untrue(each, existing, replaced):
    """Whether the consumer of a request is not as its answer says."""
    target, method, path, sent = each.request
    if each.answer is None or OUTCOME_UNKNOWN in str(each.answer) or not path.startswith(("/allocations", "/v1/claims")):
        return False
    if method == "DELETE":
        return (target in existing) != each.is_refused
    is_replacement = sent.get("consumer_generation") == 1
    return (target in (replaced if is_replacement else existing)) == each.is_refused


def none_of(wrong):
    assert not wrong, "\n".join([f"{len(wrong)}:", *map(str, wrong[:5])])


def summary(answered):
    """The median and the longest of claims, the longest of each other kind, and the refusals."""
    kinds = {}
    for each in answered:
        kinds.setdefault(each.kind, []).append(each.seconds)
    parts = [f"{kind} {max(found):.2f}" for kind, found in sorted(kinds.items()) if kind != CLAIM]
    if CLAIM in kinds:
        parts.insert(0, f"{CLAIM} {max(kinds[CLAIM]):.2f} (median {statistics.median(kinds[CLAIM]):.2f})")
    refused = Counter(each.answer.status if each.answer else "unanswered" for each in answered if each.is_refused)
    return f"of {len(answered)} requests refused {dict(refused) or 'none'}, seconds at most: {', '.join(parts)}"


def main():
    parser = command_line.parser(__doc__, "--binary", "--mutant", "--seed")
    parser.add_argument("--engine", choices=("postgresql", "mariadb", "galera"), default="postgresql")
    full = os.environ.get("PLACET_TEST_SIZE") == "full"
    parser.add_argument("--seconds", type=float, default=FULL_SECONDS if full else SHORT_SECONDS)
    parser.add_argument("cases", nargs="*", metavar="CASE", help=", ".join([*CASES, LOG]))
    options = parser.parse_args()
    print(f"seed {options.seed} (--seed {options.seed} repeats the choices)", flush=True)
    names = [name for name in options.cases or CASES if name != LOG]
    tests = TestCounts()
    # Cases mostly wait, so they run concurrently, each on a database of its own.
    with engines.Engine(options.engine) as engine, concurrent.futures.ThreadPoolExecutor(len(names) + 1) as pool:
        control = Control(options, engine.create())
        controlled = pool.submit(control.run)
        try:
            cases = [HeldRow(name, options, engine.create(), control) for name in names]
            for found in pool.map(HeldRow.run, cases):
                tests.add(found)
        finally:
            control.stopped.set()
        controlled.result()
        if not options.cases or LOG in options.cases:
            tests.step("found_n4: the log says which rows are held, for how long, and how many requests wait",
                       found_n4_log_lines, options, engine.create())
    tests.finish()


if __name__ == "__main__":
    main()
