"""Clients claim concurrently through several processes while faults are injected. A checker judges their answers.

    python -m functional_tests.chaos.run [--engine ENGINE] [--processes N] [--seconds S | --minutes M] [--seed N]
                                         [--clients N] [--mostly NAME] [--faults all|NAME,…] [--durable]
                                         [--foreign-writer] [--keep-going] [--report FILE] [--server placet|upstream]
                                         [--binary PATH] [--mutant NAME]

A run repeats rounds. In each a fault of `--faults` begins and ends (none with an empty list), and then every process
must grant claims again. A quiescent check follows: all clients pause, and the history since the last check
(checker.py), the tables, and the answers of every process (quiescent.py) are checked. In addition the tables are polled
all the time (watcher.py). The first violation ends the run, unless `--keep-going` is given.

The seed reproduces the choices: the faults, their order and duration, and each client's requests as long as the answers
are the same. It does not reproduce the timing. So an invalid history is written to a file, which checker.py can check
again.
"""

import os
import pathlib
import random
import tempfile
import time
from collections import Counter

from functional_tests.chaos import (
    call_rules, checker, client_group, clients, faults, foreign_writer, history as histories, late_commit, liveness,
    local_faults, quiescent, services, topology, watcher)
from functional_tests.chaos.checker import Violation
from functional_tests.chaos.history import UNKNOWN
from functional_tests.chaos.report import Report
from functional_tests.galera import lost_writes
from functional_tests.lib import command_line, engines
from functional_tests.lib.patience import HANG_SECONDS, OPTIONS
from functional_tests.lib.test_counts import TestCounts

FAULTS = faults.FAULTS | late_commit.FAULTS | local_faults.FAULTS
CALM_SECONDS = (0.5, 3.0)  # between a check and the next fault
# A kind of fault that was injected this often and never took hold fails the run.
LEAST_FAULTS = 3
QUIESCENT_SECONDS_UPSTREAM = 15  # the same, if a client has disconnected
MAX_CAUSES = 10
COMPARED_CONSUMERS = 10  # at each check, for each process
PROBE = "00000000-0000-4000-8000-00000000aaaa"


class Chaos:
    def __init__(self, options, engine, database, members):
        self.options, self.engine, self.database, self.members = options, engine, database, members
        self.chance = random.Random(options.seed)
        self.probes = random.Random(f"{options.seed}/probes")  # apart, because the number of probes depends on timing
        self.history = histories.History()
        self.tests = TestCounts()
        self.report = Report(options)
        self.local_faults, self.injected = [], []  # since the last check: local faults, and all; see liveness.py
        self.calm_seconds = []
        self.causes = []  # on Galera: whether the cluster or placet lost a write, by the nodes' binary logs

    def run(self):
        rest = self.members[0].rest
        self.generations = topology.prepare(rest, self.options.server == "placet")
        self.consumers, self.answers = {}, {}
        rest.must("POST", "/resource_providers", {"name": "probe", "uuid": PROBE})
        rest.must("PUT", f"/resource_providers/{PROBE}/inventories",
                  {"resource_provider_generation": 0, "inventories": {"VCPU": {"total": 100000}}})
        self.client_group = client_group.ClientGroup(
            self.options, self.members, self.history, topology.HOSTS if self.options.foreign_writer else ())
        self.foreign_writer = foreign_writer.ForeignWriter(
            self.database, self.options.seed, self.history, self.client_group.going, self.client_group.stopped)
        with watcher.Watcher(self.database, self.options.server == "placet") as self.watcher:
            self.client_group.start()
            if self.options.foreign_writer:
                self.foreign_writer.start()
            try:
                self.run_rounds()
            finally:
                self.client_group.finish()
                if self.options.foreign_writer:
                    self.foreign_writer.join(HANG_SECONDS)
        self.finish()

    def run_rounds(self):
        begin = time.monotonic()
        while (lasted := time.monotonic() - begin) < self.options.seconds or (
                not self.is_conclusive() and lasted < self.options.seconds + HANG_SECONDS):
            self.tests.step(f"round {self.report.checks + 1}", self.run_round, show=False)
            self.report.seconds = time.monotonic() - begin
            if self.tests.failed and not (self.options.keep_going and self.client_group.going.is_set()):
                return

    def run_round(self):
        """A time without faults, a fault, recovery, and a quiescent check."""
        time.sleep(self.chance.uniform(*CALM_SECONDS))
        found = self.inject_fault() if self.options.faults else []
        found += self.check()
        if found:
            self.report.violated(found)
            text = "\n".join([*(str(it) for it in samples(found)), *self.causes[:MAX_CAUSES]])
            raise AssertionError(f"{len(found)} violations (history in {self.saved}):\n{text}")

    def inject_fault(self):
        name = self.chance.choice(self.options.faults)
        fault = FAULTS[name](self.chance, self.members, self.engine)
        ready = time.monotonic()
        found = self.recovered("a quiescent check", ready + HANG_SECONDS)
        injected = time.monotonic()
        fault.inject()
        time.sleep(self.chance.uniform(*fault.seconds))
        fault.heal()
        healed = time.monotonic()
        touched = [n for n, member in enumerate(self.members) if member is fault.target]
        lasted = {"name": name, "began": injected, "ended": healed, "touched": touched}
        self.local_faults += [lasted] if fault.is_local else []
        found += self.recovered(name, healed + HANG_SECONDS)
        self.injected.append(lasted | {"ended": time.monotonic()})
        self.report.recovered(name, injected - ready, healed - injected, time.monotonic() - healed)
        self.report.took_hold[name] += fault.took_hold
        return found

    def recovered(self, name, deadline):
        """Waits until every process grants and releases a claim; returns the violation if one does not."""
        for member in self.members:
            while not self.grants(member):
                if time.monotonic() > deadline:
                    return [Violation("no recovery", None, (
                        f"{member.port} grants no claim {HANG_SECONDS} s after {name}; "
                        f"its log ends with:\n{member.log_end()}"))]
                time.sleep(0.05)
        return []

    def grants(self, member):
        consumer = topology.new_consumer(self.probes)
        try:
            answer = member.rest("PUT", f"/allocations/{consumer}", topology.body({PROBE: {"VCPU": 1}}, None))
            return answer.status == 204 and member.rest("DELETE", f"/allocations/{consumer}").status == 204
        except OSError:
            return False

    def check(self):
        """Pauses all clients, and returns all violations since the last check."""
        self.client_group.pause()
        assert not self.options.foreign_writer or self.foreign_writer.idle.wait(HANG_SECONDS), (
            "the foreign writer does not end its claim")
        # placet aborts a write in time. OpenStack Placement may end it long after its client has disconnected.
        left = any(op.ended is None and op.outcome == UNKNOWN for op in self.history.operations)
        unchanged = quiescent.QUIESCENT_SECONDS
        if left and self.options.server == "upstream":
            unchanged = QUIESCENT_SECONDS_UPSTREAM
        state = quiescent.QuiescentState(self.database, unchanged)
        asked = sorted({c for op in self.history.operations for c in op.sets})
        state.record(self.history, asked)
        operations = self.history.take()
        self.calm_seconds += liveness.calm(operations, self.injected)
        self.report.waits(self.local_faults, operations, self.calm_seconds)
        start = {"initial": self.generations, "consumers": self.consumers, "totals": topology.TOTALS,
                 "local_faults": self.local_faults, "calm_seconds": self.calm_seconds,
                 "least_totals": topology.LEAST_TOTALS, "answers": self.answers}
        self.report.counts += histories.counts(operations)
        self.report.checks += 1
        found = checker.check(operations, **start)
        found += state.faults(self.options.server, self.watcher.over) + self.watcher.taken()
        found += state.workload_faults(self.client_group.owners)
        # The snapshot has a foreign writer's claims only after a command has touched the provider.
        for member in self.members:
            some = self.probes.sample(asked, min(COMPARED_CONSUMERS, len(asked)))
            found += state.answers(member, some) + ([] if self.options.foreign_writer else state.snapshot(member))
        found += [Violation("answer", None, f"unexpected: {wrong}") for wrong in self.client_group.wrong]
        found += [Violation("client", None, f"ended with {error!r}") for error in self.client_group.errors]
        found = without_repetitions(found)
        if found:
            self.saved = pathlib.Path(tempfile.gettempdir(), f"placet-chaos-{self.options.seed}.jsonl")
            histories.save(start, operations, self.saved)
            if self.engine.kind == "galera":
                self.causes = lost_writes.explain(self.engine, self.database, operations, [str(it) for it in found])
        self.generations, self.consumers = state.generations, state.consumers
        self.answers |= {call: answer for call, (_, answer) in call_rules.granted(operations).items()
                         if call not in self.answers}
        self.local_faults, self.injected = [], []
        self.client_group.wrong.clear()
        self.client_group.errors.clear()
        self.client_group.resume()
        return found

    def is_conclusive(self):
        """Whether enough claims were granted, refused, repeated and read to prove something."""
        counts = self.report.counts
        foreign = not self.options.foreign_writer or self.foreign_writer.granted > 0
        enough = counts["ok"] > 20 and counts["refused"] > 0 and counts["reads"] > 20
        calls = counts["gangs"] > 2 and counts["repeats"] > 2 and counts["workloads"] > 2 or not self.client_group.callers
        return enough and self.watcher.polls > 20 and foreign and calls

    def finish(self):
        self.report.show(self.foreign_writer.granted)
        if self.options.report:
            self.report.save(self.options.report)
        if not self.tests.failed:
            self.tests.equal("claims were granted, refused and repeated, reads were answered, and the tables were polled",
                             True, self.is_conclusive())
            self.tests.equal(f"of {LEAST_FAULTS} faults of a kind at least one took hold", [],
                             self.report.without_hold(LEAST_FAULTS))
        self.tests.finish()


def without_repetitions(violations):
    """One violation of each kind for each consumer and provider."""
    return [*{(it.kind, it.about or it.text): it for it in violations}.values()]


def samples(violations, most=2):
    """At most `most` violations of each kind."""
    seen = Counter()
    for violation in violations:
        seen[violation.kind] += 1
        if seen[violation.kind] <= most:
            yield violation


def arguments():
    parser = command_line.parser(__doc__, "--binary", "--engine", "--mutant", "--seed", "--server")
    parser.add_argument("--foreign-writer", action="store_true", help="a foreign writer claims in the same tables")
    parser.add_argument("--durable", action="store_true", help="the database's commits survive a power failure")
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--clients", type=int, default=12)
    parser.add_argument("--mostly", choices=clients.MOSTLY, help="the operation that is half of all")
    parser.add_argument("--seconds", type=float, default=300 if os.environ.get("PLACET_TEST_SIZE") == "full" else 20)
    parser.add_argument("--minutes", type=float, help="instead of seconds")
    parser.add_argument("--faults", default="all", help=(
        f"`all` that the engine allows, or some of these, separated by commas: {', '.join(FAULTS)}"))
    parser.add_argument("--keep-going", action="store_true", help="count violations instead of ending at the first")
    parser.add_argument("--report", type=pathlib.Path, help="a file for the figures, as JSON")
    options = parser.parse_args()
    options.seconds = options.minutes * 60 if options.minutes else options.seconds
    if options.faults != "all":
        options.faults = [name for name in options.faults.split(",") if name]
        if unknown := set(options.faults) - set(FAULTS):
            parser.error(f"no such fault: {', '.join(sorted(unknown))}")
    return options


def main():
    options = arguments()
    print(f"seed {options.seed} (--seed {options.seed} repeats the choices)", flush=True)
    environment = {"PLACET_MUTANT": options.mutant} if options.mutant else {}
    with engines.Engine(options.engine, options.durable) as engine:
        if options.faults == "all":
            options.faults = [name for name, fault in FAULTS.items() if fault.possible(engine, options.server)]
        database = engine.create()
        nodes = [engine.at(database, n) for n in range(len(engine.nodes) if engine.kind == "galera" else 1)]
        # On Galera a node may leave a statement without an answer, and `commit_timeout` is what ends the wait for it.
        patient = OPTIONS if options.engine != "galera" else None
        with services.members(options, nodes, environment, patient) as members:
            Chaos(options, engine, database, members).run()


if __name__ == "__main__":
    main()
