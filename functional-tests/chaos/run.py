"""Clients claim at once through several processes while things break; then it is reasoned whether the answers were true.

    chaos/run.py [--engine ENGINE] [--processes N] [--seconds S | --minutes M] [--seed N] [--clients N]
                 [--faults NAME,…] [--durable] [--stranger] [--server placet|upstream] [--binary PATH] [--mutant NAME]

Again and again something of `--faults` happens (none with an empty list), ends, and every process has to
grant claims again. Then everybody is held, and the history since the last such rest is checked
(checker.py), and the tables, and the answers of every process (stillness.py). The seed makes the same
choices again, though not the same moments. A history that cannot be is written to a file.
"""

import argparse
import os
import pathlib
import random
import sys
import tempfile
import time
from collections import Counter

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE.parent / "race"), str(HERE.parent / "galera")]

import checker  # noqa: E402
import clients  # noqa: E402
import engines  # noqa: E402
import history as histories  # noqa: E402
import lost  # noqa: E402
import services  # noqa: E402
import stillness  # noqa: E402
import stranger  # noqa: E402
import world  # noqa: E402
from faults import FAULTS  # noqa: E402
from tally import Tally  # noqa: E402

CALM = (0.5, 3.0)  # seconds between a rest and the next fault
RECOVERY_SECONDS = 90
PROBE = "00000000-0000-4000-8000-00000000aaaa"


class Chaos:
    def __init__(self, options, engine, database, members):
        self.options, self.engine, self.database, self.members = options, engine, database, members
        self.chance = random.Random(options.seed)
        self.history = histories.History()
        self.tally = Tally()
        self.counts, self.recoveries = Counter(), Counter()
        self.longest = {}

    def run(self):
        rest = self.members[0].rest
        self.generations, self.consumers = world.prepare(rest), {}
        rest.must("POST", "/resource_providers", {"name": "probe", "uuid": PROBE})
        rest.must("PUT", f"/resource_providers/{PROBE}/inventories",
                  {"resource_provider_generation": 0, "inventories": {"VCPU": {"total": 100000}}})
        self.crowd = clients.Crowd(self.options.seed, self.options.clients, self.members, self.history)
        self.stranger = stranger.Stranger(
            self.database, self.options.seed, self.history, self.crowd.going, self.crowd.stopped)
        self.crowd.start()
        if self.options.stranger:
            self.stranger.start()
        end, number = time.monotonic() + self.options.seconds, 0
        try:
            while time.monotonic() < end and not self.tally.failed:
                number += 1
                self.tally.step(f"part {number}", self.part, show=False)
        finally:
            self.crowd.finish()
            if self.options.stranger:
                self.stranger.join(60)
        self.report(number)

    def part(self):
        """Some calm, a fault, its end, and a rest that judges it all."""
        time.sleep(self.chance.uniform(*CALM))
        if self.options.faults:
            name = self.chance.choice(self.options.faults)
            fault = FAULTS[name](self.chance, self.members, self.engine)
            struck = time.monotonic()
            fault.strike()
            time.sleep(self.chance.uniform(*fault.seconds))
            fault.heal()
            healed = time.monotonic()
            self.recovered()
            took = time.monotonic() - healed
            self.recoveries[name] += 1
            self.longest[name] = max(self.longest.get(name, 0), took)
            print(f"{name}: lasted {healed - struck:.2f} s, all grant claims {took:.2f} s after it", flush=True)
        self.rest()

    def recovered(self):
        """Waits until every process grants and releases a claim."""
        deadline = time.monotonic() + RECOVERY_SECONDS
        for member in self.members:
            while not self.grants(member):
                assert time.monotonic() < deadline, (
                    f"{member.port} grants nothing {RECOVERY_SECONDS} s after the fault; its log:\n{member.log()}")
                time.sleep(0.05)

    def grants(self, member):
        consumer = world.new_consumer(self.chance)
        try:
            answer = member.rest("PUT", f"/allocations/{consumer}", world.body({PROBE: {"VCPU": 1}}, None))
            return answer.status == 204 and member.rest("DELETE", f"/allocations/{consumer}").status == 204
        except OSError:
            return False

    def rest(self):
        self.crowd.hold()
        assert not self.options.stranger or self.stranger.idle.wait(60), "the other program does not end its claim"
        still = stillness.Stillness(self.database)
        asked = {c for op in self.history.operations for c in op.sets}
        still.record(self.history, sorted(asked))
        operations = self.history.cut()
        self.counts += histories.counts(operations)
        faults = checker.check(operations, self.generations, self.consumers)
        faults += still.faults(self.options.server) + still.answers(self.members)
        # What another program claims, candidates show once a command touched that provider.
        if not self.options.stranger:
            faults += [fault for member in self.members for fault in still.candidates(member)]
        faults += [f"an answer that may not be: {wrong}" for wrong in self.crowd.wrong]
        faults += [f"a client ended: {error!r}" for error in self.crowd.errors]
        if faults:
            path = pathlib.Path(tempfile.gettempdir(), f"placet-chaos-{self.options.seed}.jsonl")
            histories.save(operations, path)
            blame = lost.explain(self.engine, self.database, operations, faults) if self.engine.kind == "galera" else []
            raise AssertionError(f"{len(faults)} faults (history in {path}):\n" + "\n".join(faults[:5] + blame[:10]))
        self.generations, self.consumers = still.generations, still.consumers
        self.crowd.go_on()

    def report(self, parts):
        total = sum(self.counts.values())
        told = ", ".join(f"{self.counts[outcome]} {outcome}" for outcome in ("ok", "refused", "unknown"))
        print(f"{total} operations that write: {told}; {self.stranger.granted} claims of another program; "
              f"{parts} rests", flush=True)
        for name, times in sorted(self.recoveries.items()):
            print(f"{times} times {name}: recovered within {self.longest[name]:.2f} s at most", flush=True)
        # A run in which nothing was granted, or no fault hit anything, proves nothing.
        if not self.tally.failed:
            self.tally.equal("claims were granted and refused", True, self.counts["ok"] > 20 and self.counts["refused"] > 0)
        self.tally.finish()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    engines.add_option(parser)
    parser.add_argument("--server", choices=("placet", "upstream"), default="placet")
    parser.add_argument("--binary", help="placet's binary, if not the one cargo built")
    parser.add_argument("--mutant", help="which guard the binary, built with the feature, is to leave out")
    parser.add_argument("--stranger", action="store_true", help="another program claims in the same tables")
    parser.add_argument("--durable", action="store_true", help="the database keeps what it acknowledged when the power goes")
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--clients", type=int, default=12)
    parser.add_argument("--seconds", type=float, default=1800 if os.environ.get("PLACET_TEST_SIZE") == "full" else 30)
    parser.add_argument("--minutes", type=float, help="instead of seconds")
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(2**32))
    parser.add_argument("--faults", help=f"with commas between them, of {', '.join(FAULTS)}; all that are possible")
    options = parser.parse_args()
    options.seconds = options.minutes * 60 if options.minutes else options.seconds
    print(f"seed {options.seed} (--seed {options.seed} makes the same choices again)", flush=True)
    environment = {"PLACET_MUTANT": options.mutant} if options.mutant else {}
    with engines.Engine(options.engine, options.durable) as engine:
        if options.faults is None:
            options.faults = [name for name, fault in FAULTS.items() if fault.possible(engine)]
        else:
            options.faults = [name for name in options.faults.split(",") if name]
        database = engine.create()
        nodes = [engine.at(database, n) for n in range(len(engine.nodes) if engine.kind == "galera" else 1)]
        with services.members(
                options.server, nodes, options.processes, options.binary, environment) as members:
            Chaos(options, engine, database, members).run()


if __name__ == "__main__":
    main()
