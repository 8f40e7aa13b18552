"""What one placet process acknowledged, every other one shows at once: writes of every kind, then reads elsewhere.

    elsewhere/run.py [--engine ENGINE] [--processes N] [--steps N] [--reads N] [--workers N] [--seed N]
                     [--binary PATH] [--mutant NAME]

A step is one write through one process, and when it is acknowledged reads through others, of every kind that could show
it (`--reads`: so many of them by chance; 0: all), which must show exactly what is there then. Workers do so at once, each
with trees of its own, all with one pool. On Galera each process has a node of its own (galera/lagging.py has one that
lags). An SQLite file is served by one process, so there it is asked through other connections. Which routes there are
says the binary: one that nothing here writes or reads is a failure.
"""

import json
import os
import pathlib
import random
import statistics
import subprocess
import sys
import threading
import traceback
from collections import Counter

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent), str(HERE.parent / "chaos")]

import account  # noqa: E402
import claims  # noqa: E402
import command_line  # noqa: E402
import engines  # noqa: E402
import going  # noqa: E402
import live  # noqa: E402
import reads  # noqa: E402
import services  # noqa: E402
import world as worlds  # noqa: E402
import writes  # noqa: E402
from rest import KeptRest, Rest  # noqa: E402
from tally import Tally  # noqa: E402

FULL = os.environ.get("PLACET_TEST_SIZE") == "full"
ENOUGH = 1000  # steps in which chance leaves nothing out
GOING = 300 if FULL else 15  # rounds of going.py
NOT_DATA = {"GET /", "GET /openapi.json"}
ROLES = {"x-roles": "admin,service"}  # reshaping is for services alone


class Worker(threading.Thread):
    """Writes its own part of the world and looks at it, until one of all has seen what should not be."""

    def __init__(self, number, options, ports, pool, seen):
        super().__init__(daemon=True)
        self.chance = random.Random(f"{options.seed}/{number}")
        self.world = worlds.World(number, self.chance, pool)
        self.options, self.rests = options, [KeptRest(port) for port in ports]
        self.askers = [reads.Asker(rest) for rest in self.rests]
        self.done, self.error, self.seen = Counter(), None, seen

    def run(self):
        try:
            self.world.prepare(self.rests[0])
            for step in range(self.options.steps // self.options.workers):
                if self.seen.is_set():
                    return
                self.step(step)
        except Exception as error:  # the run reports it
            self.error = error if isinstance(error, reads.Seen) else traceback.format_exc()
            self.seen.set()

    def step(self, number):
        name, write = self.some_write()
        through = self.chance.randrange(len(self.rests))
        pooled = self.world.pool.begin(*write.pool)
        answer = self.rests[through](write.method, write.path, write.body, version=write.version, headers=ROLES)
        told = f"worker {self.world.number}, step {number}: {name} through process {through}"
        if answer.status not in (200, 201, 204):
            raise reads.Seen(f"{told}: {write.method} {write.path} {write.body} was answered with {answer}")
        write.done()
        self.world.pool.end(pooled)
        self.done[name] += 1
        others = [asker for asker in self.askers if asker is not self.askers[through]] or self.askers
        for read, thing in self.some_reads(write.shows):
            asker = self.chance.choice(others)
            try:
                reads.KINDS[read][2](self.world, asker, thing)
            except reads.Seen as error:
                raise reads.Seen(f"{told}: {write.method} {write.path} {write.body}\n"
                                 f"then by process {self.askers.index(asker)}: {read}: {error}") from None
            self.done[read] += 1

    def some_write(self):
        """A kind of which there is something to write just now."""
        while True:
            name = self.chance.choice(list(writes.KINDS))
            write = writes.KINDS[name][1](self.world)
            if write:
                return name, write

    def some_reads(self, things):
        """What to read of what was written; whatever is chosen, something comes from memory."""
        possible = [(name, it) for it in things for name, (_, of, _) in reads.KINDS.items() if of == reads.kind_of(it)]
        if not self.options.reads or len(possible) <= self.options.reads:
            return possible
        return self.chance.sample(possible, self.options.reads)


def routes(binary):
    """What the binary says that it serves."""
    told = subprocess.run([live.placet_binary(binary), "openapi"], capture_output=True, check=True, text=True)
    return {f"{method.upper()} {path}" for path, methods in json.loads(told.stdout)["paths"].items()
            for method in methods if method in ("get", "put", "post", "delete", "patch", "head")} - NOT_DATA


def prepare(rest):
    """The pool."""
    rest.must("POST", "/resource_providers", {"name": "pool", "uuid": worlds.POOL})
    steps = [("traits", {"traits": ["MISC_SHARES_VIA_AGGREGATE"]}), ("aggregates", {"aggregates": [worlds.SHARED]}),
             ("inventories", {"inventories": {claims.CLASS: {"total": 10**6}}})]
    for generation, (what, body) in enumerate(steps):
        rest.must("PUT", f"/resource_providers/{worlds.POOL}/{what}", {**body, "resource_provider_generation": generation})
    return len(steps)


def run(options, ports):
    pool = account.Account()
    pool.settled["moves"] = prepare(Rest(ports[0])) - 1
    seen = threading.Event()
    workers = [Worker(number, options, ports, pool, seen) for number in range(options.workers)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    return workers


def judge(tally, workers, options):
    for worker in workers:
        if worker.error:
            tally.fail(f"worker {worker.world.number}", worker.error)
        else:
            tally.ok(f"worker {worker.world.number} was shown whatever it wrote", show=False)
    kinds = {**{name: it[0] for name, it in writes.KINDS.items()}, **{name: it[0] for name, it in reads.KINDS.items()}}
    done = sum((worker.done for worker in workers), Counter())
    tally.equal("every route is written or read", routes(options.binary), set(kinds.values()))
    if not tally.failed and options.steps >= ENOUGH:
        tally.equal("every kind of write and read was done", [], [name for name in kinds if not done[name]])
    times = [t for worker in workers for asker in worker.askers for t in asker.times]
    print(f"{sum(done[name] for name in writes.KINDS)} writes of {len(writes.KINDS)} kinds, {len(times)} reads of "
          f"{len(reads.KINDS)} kinds; a read took {1000 * statistics.median(times):.1f} ms, {1000 * max(times):.0f} ms at "
          "most", flush=True)


def main():
    parser = command_line.parser(__doc__, "--binary", "--engine", "--mutant", "--seed")
    parser.add_argument("--processes", type=int, default=3)
    parser.add_argument("--steps", type=int, default=100_000 if FULL else 3000)
    parser.add_argument("--reads", type=int, default=0 if FULL else 2)
    parser.add_argument("--workers", type=int, default=6)
    parser.set_defaults(server="placet", faults=())  # what chaos' services ask for
    options = parser.parse_args()
    print(f"seed {options.seed} (--seed {options.seed} makes the same choices again)", flush=True)
    environment = {"PLACET_MUTANT": options.mutant} if options.mutant else {}
    tally = Tally()
    with engines.Engine(options.engine) as engine:
        if engine.kind == "sqlite" and options.processes > 1:
            tally.skip("other processes", "an SQLite file is served by one; it is asked through other connections")
            options.processes = 1
        database = engine.create()
        nodes = [engine.at(database, n) for n in range(len(engine.nodes) if engine.kind == "galera" else 1)]
        with services.members(options, nodes, environment) as members:
            ports = [member.port for member in members]
            workers = run(options, ports)
            judge(tally, workers, options)
            if len(ports) > 1:
                tally.step("what goes is not given", going.race, random.Random(options.seed), ports, database, GOING)
    tally.finish()


if __name__ == "__main__":
    main()
