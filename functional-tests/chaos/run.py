"""Clients claim at once through several processes while things break; then it is reasoned whether the answers were true.

    python -m functional_tests.chaos.run [--engine ENGINE] [--processes N] [--seconds S | --minutes M] [--seed N]
                                         [--clients N] [--mostly NAME] [--faults all|NAME,…] [--durable] [--foreign-writer]
                                         [--keep-going] [--report FILE] [--server placet|upstream] [--binary PATH]
                                         [--mutant NAME]

Again and again something of `--faults` happens (none with an empty list), ends, and every process has to
grant claims again. Then everybody is held, and the history since the last such rest is checked
(checker.py), and the tables, and the answers of every process (quiescent.py); the tables are looked at all
the time, too (watcher.py). The first violation ends the run, unless it is to keep going.

The seed makes the same choices again: the faults, in which order, how long they last, and what each client
asks for as long as it is answered the same. It does not make the same moments again: those are the
machine's. So a history that cannot be is written to a file, and checker.py judges that file again.
"""

import os
import pathlib
import random
import tempfile
import time
from collections import Counter

from functional_tests.chaos import (
    checker, clients, faults, foreign_writer, history as histories, late_commit, quiescent, services, topology, watcher)
from functional_tests.chaos.checker import Violation
from functional_tests.chaos.history import UNKNOWN
from functional_tests.chaos.report import Report
from functional_tests.galera import lost_writes
from functional_tests.lib import command_line, engines
from functional_tests.lib.test_counts import TestCounts

FAULTS = faults.FAULTS | late_commit.FAULTS
CALM_SECONDS = (0.5, 3.0)  # between a rest and the next fault
RECOVERY_SECONDS = 90
QUIESCENT_SECONDS_UPSTREAM = 15  # without a change, where a client left
MAX_SLOWDOWN = 4  # how much longer a busy machine may take until a run says something
MAX_BLAMES = 10
COMPARED_CONSUMERS = 10  # whose allocations are compared at each rest, by each process
PROBE = "00000000-0000-4000-8000-00000000aaaa"


class Chaos:
    def __init__(self, options, engine, database, members):
        self.options, self.engine, self.database, self.members = options, engine, database, members
        self.chance = random.Random(options.seed)
        self.probes = random.Random(f"{options.seed}/probes")  # apart: how many there are is no choice
        self.history = histories.History()
        self.tests = TestCounts()
        self.report = Report(options)
        self.blame = []  # on Galera: who lost what was acknowledged, by the nodes' binary logs

    def run(self):
        rest = self.members[0].rest
        self.generations, self.consumers = topology.prepare(rest), {}
        rest.must("POST", "/resource_providers", {"name": "probe", "uuid": PROBE})
        rest.must("PUT", f"/resource_providers/{PROBE}/inventories",
                  {"resource_provider_generation": 0, "inventories": {"VCPU": {"total": 100000}}})
        self.client_group = clients.ClientGroup(
            self.options, self.members, self.history, topology.HOSTS if self.options.foreign_writer else ())
        self.foreign_writer = foreign_writer.ForeignWriter(
            self.database, self.options.seed, self.history, self.client_group.going, self.client_group.stopped)
        with watcher.Watcher(self.database) as self.watcher:
            self.client_group.start()
            if self.options.foreign_writer:
                self.foreign_writer.start()
            try:
                self.parts()
            finally:
                self.client_group.finish()
                if self.options.foreign_writer:
                    self.foreign_writer.join(60)
        self.finish()

    def parts(self):
        begin = time.monotonic()
        while (lasted := time.monotonic() - begin) < self.options.seconds or (
                not self.says_something() and lasted < MAX_SLOWDOWN * self.options.seconds):
            self.tests.step(f"part {self.report.rests + 1}", self.part, show=False)
            self.report.seconds = time.monotonic() - begin
            if self.tests.failed and not (self.options.keep_going and self.client_group.going.is_set()):
                return

    def part(self):
        """Some calm, a fault, its end, and a rest that judges it all."""
        time.sleep(self.chance.uniform(*CALM_SECONDS))
        found = self.inject_fault() if self.options.faults else []
        found += self.rest()
        if found:
            self.report.violated(found)
            text = "\n".join([*(str(it) for it in samples(found)), *self.blame[:MAX_BLAMES]])
            raise AssertionError(f"{len(found)} violations (history in {self.saved}):\n{text}")

    def inject_fault(self):
        name = self.chance.choice(self.options.faults)
        fault = FAULTS[name](self.chance, self.members, self.engine)
        calm = time.monotonic()
        found = self.recovered("a rest", calm + RECOVERY_SECONDS)
        struck = time.monotonic()
        fault.inject()
        time.sleep(self.chance.uniform(*fault.seconds))
        fault.heal()
        healed = time.monotonic()
        found += self.recovered(name, healed + RECOVERY_SECONDS)
        self.report.recovered(name, struck - calm, healed - struck, time.monotonic() - healed)
        return found

    def recovered(self, name, deadline):
        """Waits until every process grants and releases a claim."""
        for member in self.members:
            while not self.grants(member):
                if time.monotonic() > deadline:
                    return [Violation("no recovery", None, (
                        f"{member.port} grants nothing {RECOVERY_SECONDS} s after {name}; its log:\n{member.log()}"))]
                time.sleep(0.05)
        return []

    def grants(self, member):
        consumer = topology.new_consumer(self.probes)
        try:
            answer = member.rest("PUT", f"/allocations/{consumer}", topology.body({PROBE: {"VCPU": 1}}, None))
            return answer.status == 204 and member.rest("DELETE", f"/allocations/{consumer}").status == 204
        except OSError:
            return False

    def rest(self):
        """Holds everybody, and says what cannot be."""
        self.client_group.hold()
        assert not self.options.foreign_writer or self.foreign_writer.idle.wait(60), (
            "the other program does not end its claim")
        # placet gives a change up in time; OpenStack Placement may end it long after its client left.
        left = any(op.ended is None and op.outcome == UNKNOWN for op in self.history.operations)
        unchanged = quiescent.QUIESCENT_SECONDS
        if left and self.options.server == "upstream":
            unchanged = QUIESCENT_SECONDS_UPSTREAM
        state = quiescent.QuiescentState(self.database, unchanged)
        asked = sorted({c for op in self.history.operations for c in op.sets})
        state.record(self.history, asked)
        start = {"initial": self.generations, "consumers": self.consumers, "totals": topology.TOTALS}
        operations = self.history.cut()
        self.report.counts += histories.counts(operations)
        self.report.rests += 1
        found = checker.check(operations, **start)
        found += state.faults(self.options.server, self.watcher.over) + self.watcher.taken()
        # What another program claims, candidates show once a command touched that provider.
        for member in self.members:
            some = self.probes.sample(asked, min(COMPARED_CONSUMERS, len(asked)))
            found += state.answers(member, some) + ([] if self.options.foreign_writer else state.memory(member))
        found += [Violation("answer", None, f"one that may not be: {wrong}") for wrong in self.client_group.wrong]
        found += [Violation("client", None, f"one ended: {error!r}") for error in self.client_group.errors]
        found = once(found)
        if found:
            self.saved = pathlib.Path(tempfile.gettempdir(), f"placet-chaos-{self.options.seed}.jsonl")
            histories.save(start, operations, self.saved)
            if self.engine.kind == "galera":
                self.blame = lost_writes.explain(self.engine, self.database, operations, [str(it) for it in found])
        self.generations, self.consumers = state.generations, state.consumers
        self.client_group.wrong.clear()
        self.client_group.errors.clear()
        self.client_group.go_on()
        return found

    def says_something(self):
        """A run in which nothing was granted, or nobody looked, proves nothing."""
        counts = self.report.counts
        others = not self.options.foreign_writer or self.foreign_writer.granted > 0
        return counts["ok"] > 20 and counts["refused"] > 0 and counts["reads"] > 20 and self.watcher.polls > 20 and others

    def finish(self):
        self.report.show(self.foreign_writer.granted)
        if self.options.report:
            self.report.save(self.options.report)
        if not self.tests.failed:
            self.tests.equal("claims were granted and refused, reads answered, and the tables looked at", True,
                             self.says_something())
        self.tests.finish()


def once(violations):
    """One of each kind about each consumer and provider."""
    return [*{(it.kind, it.about or it.text): it for it in violations}.values()]


def samples(violations, most=2):
    """A few of each kind."""
    seen = Counter()
    for violation in violations:
        seen[violation.kind] += 1
        if seen[violation.kind] <= most:
            yield violation


def arguments():
    parser = command_line.parser(__doc__, "--binary", "--engine", "--mutant", "--seed", "--server")
    parser.add_argument("--foreign-writer", action="store_true", help="another program claims in the same tables")
    parser.add_argument("--durable", action="store_true", help="the database keeps what it acknowledged when the power goes")
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--clients", type=int, default=12)
    parser.add_argument("--mostly", choices=clients.MOSTLY, help="what clients do half of the time")
    parser.add_argument("--seconds", type=float, default=600 if os.environ.get("PLACET_TEST_SIZE") == "full" else 20)
    parser.add_argument("--minutes", type=float, help="instead of seconds")
    parser.add_argument("--faults", default="all", help=f"all that are possible, or with commas between them, of {', '.join(FAULTS)}")
    parser.add_argument("--keep-going", action="store_true", help="count violations, and do not end with the first")
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
    print(f"seed {options.seed} (--seed {options.seed} makes the same choices again)", flush=True)
    environment = {"PLACET_MUTANT": options.mutant} if options.mutant else {}
    with engines.Engine(options.engine, options.durable) as engine:
        if options.faults == "all":
            options.faults = [name for name, fault in FAULTS.items() if fault.possible(engine)]
        database = engine.create()
        nodes = [engine.at(database, n) for n in range(len(engine.nodes) if engine.kind == "galera" else 1)]
        with services.members(options, nodes, environment) as members:
            Chaos(options, engine, database, members).run()


if __name__ == "__main__":
    main()
