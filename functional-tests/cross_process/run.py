"""Tests that every process shows acknowledged writes of its peers at once, with all kinds of writes and reads.

    python -m functional_tests.cross_process.run [--engine ENGINE] [--processes N] [--steps N] [--reads N]
                                                 [--workers N] [--seed N] [--binary PATH] [--mutant NAME]

A step is a write through one process, followed by reads through further processes. The reads must show the write.
`--reads` is the number of reads after each write, chosen at random from the kinds that could show the write; 0 means
all kinds. Several workers run at the same time. Each worker has trees of its own, and all workers claim from one pool.

On Galera each process has its own node, and galera/lagging_node.py has a lagging node. An SQLite file is served by a
single process, so the reads use several connections to this process. The binary lists its routes. A route without a
write or a read in this suite is a failure.
"""

import json
import os
import random
import statistics
import subprocess
import threading
import traceback
from collections import Counter

from functional_tests.chaos import services
from functional_tests.cross_process import claims, deletions, expected_state, nouns, reads, writes
from functional_tests.lib import command_line, engines, live, usage_bounds
from functional_tests.lib.patience import OPTIONS
from functional_tests.lib.rest import KeptRest, Rest
from functional_tests.lib.test_counts import TestCounts

IS_FULL_SIZE = os.environ.get("PLACET_TEST_SIZE") == "full"
STEPS_FOR_EVERY_KIND = 1000  # with this many steps, every kind is chosen
DELETION_ROUNDS = 40 if IS_FULL_SIZE else 15  # rounds of deletions.py
ROUTES_WITHOUT_DATA = {"GET /", "GET /openapi.json", "GET /v1/"}
ROLES = {"x-roles": "admin,service"}  # only the role `service` may reshape


class Worker(threading.Thread):
    """Writes its own part of the state and reads it, until a worker has seen a wrong answer."""

    def __init__(self, number, options, ports, pool, seen):
        super().__init__(daemon=True)
        self.chance = random.Random(f"{options.seed}/{number}")
        self.state = expected_state.ExpectedState(number, self.chance, pool)
        self.options, self.rests = options, [KeptRest(port) for port in ports]
        self.readers = [reads.Reader(rest) for rest in self.rests]
        self.done, self.error, self.seen = Counter(), None, seen

    def run(self):
        try:
            self.state.prepare(self.rests[0])
            for step in range(self.options.steps // self.options.workers):
                if self.seen.is_set():
                    return
                self.step(step)
        except Exception as error:  # the run reports it
            self.error = error if isinstance(error, reads.WrongAnswer) else traceback.format_exc()
            self.seen.set()

    def step(self, number):
        name, write = self.some_write()
        through = self.chance.randrange(len(self.rests))
        pooled = self.state.pool.begin(*write.pool)
        answer = self.rests[through](write.method, write.path, write.body, version=write.version, headers=ROLES)
        description = f"worker {self.state.number}, step {number}: {name} through process {through}"
        if answer.status not in (200, 201, 204):
            raise reads.WrongAnswer(
                f"{description}: {write.method} {write.path} {write.body} was answered with {answer}")
        write.done()
        self.state.pool.end(pooled)
        self.done[name] += 1
        others = [reader for reader in self.readers if reader is not self.readers[through]] or self.readers
        for read, thing in self.some_reads(write.shows):
            reader = self.chance.choice(others)
            try:
                reads.KINDS[read][2](self.state, reader, thing)
            except reads.WrongAnswer as error:
                raise reads.WrongAnswer(f"{description}: {write.method} {write.path} {write.body}\n"
                                        f"then by process {self.readers.index(reader)}: {read}: {error}") from None
            self.done[read] += 1

    def some_write(self):
        """A write of a kind that is possible in the current state."""
        while True:
            name = self.chance.choice(list(writes.KINDS))
            write = writes.KINDS[name][1](self.state)
            if write:
                return name, write

    def some_reads(self, things):
        """Chooses the reads of the things that were written: (kind, thing) pairs."""
        possible = [(name, it) for it in things for name, (_, of, _) in reads.KINDS.items() if of == reads.kind_of(it)]
        if not self.options.reads or len(possible) <= self.options.reads:
            return possible
        return self.chance.sample(possible, self.options.reads)


def routes(binary):
    """The routes in the binary's API description."""
    printed = subprocess.run([live.placet_binary(binary), "openapi"], capture_output=True, check=True, text=True)
    return {f"{method.upper()} {path}" for path, methods in json.loads(printed.stdout)["paths"].items()
            for method in methods if method in ("get", "put", "post", "delete", "patch", "head")} - ROUTES_WITHOUT_DATA


def prepare(rest):
    """Creates the pool; returns its generation."""
    rest.must("POST", "/resource_providers", {"name": "pool", "uuid": expected_state.POOL})
    steps = [("traits", {"traits": ["MISC_SHARES_VIA_AGGREGATE"]}), ("aggregates", {"aggregates": [expected_state.SHARED]}),
             ("inventories", {"inventories": {claims.CLASS: {"total": 10**6}}})]
    for generation, (what, body) in enumerate(steps):
        rest.must("PUT", f"/resource_providers/{expected_state.POOL}/{what}",
                  {**body, "resource_provider_generation": generation})
    return len(steps)


def run(options, ports):
    pool = usage_bounds.UsageBounds()
    pool.settled["moves"] = prepare(Rest(ports[0])) - 1
    seen = threading.Event()
    workers = [Worker(number, options, ports, pool, seen) for number in range(options.workers)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    return workers


def judge(tests, workers, options):
    for worker in workers:
        if worker.error:
            tests.fail(f"worker {worker.state.number}", worker.error)
        else:
            tests.ok(f"worker {worker.state.number} was answered what it wrote", show=False)
    kinds = {**{name: it[0] for name, it in writes.KINDS.items()}, **{name: it[0] for name, it in reads.KINDS.items()}}
    done = sum((worker.done for worker in workers), Counter())
    tests.equal("every route is written or read", routes(options.binary), set(kinds.values()))
    if not tests.failed and options.steps >= STEPS_FOR_EVERY_KIND:
        tests.equal("every kind of write and read was done", [], [name for name in kinds if not done[name]])
    times = [t for worker in workers for reader in worker.readers for t in reader.times]
    print(f"{sum(done[name] for name in writes.KINDS)} writes of {len(writes.KINDS)} kinds, {len(times)} reads of "
          f"{len(reads.KINDS)} kinds; a read took {1000 * statistics.median(times):.1f} ms, {1000 * max(times):.0f} ms at "
          "most", flush=True)


def print_errors(members):
    """Prints the errors that the processes logged: an answer with 500 names its cause in the log alone."""
    for number, member in enumerate(members):
        for line in member.log().splitlines():
            if "ERROR" in line:
                print(f"        process {number}: {line}", flush=True)


def main():
    parser = command_line.parser(__doc__, "--binary", "--engine", "--mutant", "--seed")
    parser.add_argument("--processes", type=int, default=3)
    parser.add_argument("--steps", type=int, default=6000 if IS_FULL_SIZE else 3000)
    parser.add_argument("--reads", type=int, default=0 if IS_FULL_SIZE else 2)
    parser.add_argument("--workers", type=int, default=6)
    parser.set_defaults(server="placet", faults=())  # what chaos' services ask for
    options = parser.parse_args()
    nouns.load()
    print(f"seed {options.seed} (--seed {options.seed} makes the same choices again)", flush=True)
    environment = {"PLACET_MUTANT": options.mutant} if options.mutant else {}
    tests = TestCounts()
    with engines.Engine(options.engine) as engine:
        if engine.kind == "sqlite" and options.processes > 1:
            tests.skip("other processes", "an SQLite file is served by one process; reads use other connections to it")
            options.processes = 1
        database = engine.create()
        nodes = [engine.at(database, n) for n in range(len(engine.nodes) if engine.kind == "galera" else 1)]
        with services.members(options, nodes, environment, OPTIONS if options.engine != "galera" else None) as members:
            ports = [member.port for member in members]
            workers = run(options, ports)
            judge(tests, workers, options)
            if tests.failed:
                print_errors(members)
            if len(ports) > 1:
                tests.step("a deleted name is not given", deletions.race, random.Random(options.seed), ports, database,
                           DELETION_ROUNDS)
    tests.finish()


if __name__ == "__main__":
    main()
