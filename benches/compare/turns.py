"""Sides take turns, A B A B, each on its own copy of one database."""

import contextlib
import functools
import json
import time

import footprint
import tablespaces
from bulk import PROJECT, USER, fill
from cloud import SHAPES, Cloud
from generator import TARGET
from scenarios import CROWD
from sides import PROCESSES, Placet, Upstream

import rest  # noqa: E402  (sides.py has found it)

# The first one is where everything is asked.
ENGINES = ("postgresql", "mariadb", "sqlite")
# Who takes long is asked in one round, between two of placet's; so is the wire, which is the same in each but for noise,
# and on each engine: what was found on the first one holds for the others.
ROUNDS = {"upstream": 1, "wire": 1}
# Before it counts OpenStack Placement is asked for so many seconds by so many clients, as many as it has processes, so that
# none of them meets the question for the first time. Where an answer takes it so long, this is what counts, for more
# clients would only wait.
WARM, FEW, SLOW = 0.4, PROCESSES, 1e6
WARMERS = 8
# placet and the floor write for so many seconds before that counts: a server that just imported a database has to read
# its pages, and both their statements' plans have to be made.
WARM_WRITES = 1.2

# The next engine gets the same clouds.
same_cloud = functools.lru_cache(len(SHAPES))(Cloud)


class Arena:
    """One cloud on one engine, in two databases: placet's, and one for those who keep nothing in memory, the floor and
    OpenStack Placement. Use it as a context manager."""

    # By shape, hosts and scenario: what the wire did.
    wires = {}

    def __init__(self, engine, shape, hosts, generator, binary=None):
        self.engine, self.shape, self.hosts = engine, shape, hosts
        self.generator, self.binary = generator, binary or TARGET / "release/placet"
        self.open = contextlib.ExitStack()
        self.running = {}
        self.written = set()

    def __enter__(self):
        began = time.monotonic()
        self.other = self.engine.create()
        with Placet(self.other, self.binary):
            pass  # it makes the tables, the standard classes and traits
        standard = sorted(name for (name,) in self.other.query("SELECT name FROM traits"))
        self.cloud = same_cloud(self.shape, self.hosts, tuple(standard))
        classes = fill(self.other, self.cloud)
        self.own = tablespaces.copy(self.engine, self.other) if self.engine.kind == "mariadb" else self.engine.create(self.other)
        self.file = self.engine.folder / f"{self.other.name}.json"
        self.file.write_text(json.dumps(self.cloud.told(classes, PROJECT, USER)))
        print(f"-- {self.hosts} hosts, {self.shape}, on {self.engine.kind}: made in {time.monotonic() - began:.0f} s",
              flush=True)
        return self

    def __exit__(self, *_):
        self.open.close()
        for database in (self.own, self.other):
            self.engine.drop(database)

    def placet(self, processes=1):
        """So many processes of placet, started where they are not there yet."""
        key = "placet", processes
        if key not in self.running:
            there = self.placet() if processes > 1 else []
            databases = [self.engine.at(self.own, n % max(1, len(self.engine.nodes))) for n in range(processes)]
            new = [self.open.enter_context(Placet(it, self.binary)) for it in databases[len(there):]]
            self.running[key] = there + self._warmed(new)
        return self.running[key]

    def upstream(self):
        if "upstream" not in self.running:
            services = [self.open.enter_context(Upstream(self.other)) for _ in range(PROCESSES)]
            for service in services:
                rest.Rest(service.port).must("GET", "/resource_classes")
            self.running["upstream"] = self._warmed(services)
        return self.running["upstream"]

    def _warmed(self, services):
        path = "/allocation_candidates?resources=VCPU:1&in_tree={host}"
        self._ask(services, {"scenario": "get", "path": path, "clients": WARMERS, "seconds": WARM})
        return services

    def measure(self, scenario, rounds, sides, full=False):
        """One record for each side, with what each of its rounds was."""
        records = {}
        for turn in range(rounds):
            for side in sides:
                if full or turn < ROUNDS.get(side, rounds):
                    records.setdefault(side, []).append(self._round(scenario, side, records))
        return [{"engine": self.engine.kind, "shape": self.shape, "hosts": self.hosts, "scenario": scenario.name,
                 "group": scenario.group, "clients": scenario.clients, "side": side, "rounds": found}
                for side, found in records.items()]

    def _round(self, scenario, side, records):
        self.warm_writes(scenario, side)
        if side == "floor":
            return self._floor(scenario.options())
        if side == "wire":
            return self._wire(scenario, records["placet"][-1])
        if side == "placet":
            return self._counted(self.placet(scenario.processes), scenario.options())
        few = min(FEW, scenario.clients)
        warm = self._counted(self.upstream(), scenario.options(clients=few, seconds=WARM))
        if (warm["p50_us"] or 0) > SLOW:
            return warm | {"asked_by": few}
        return self._counted(self.upstream(), scenario.options())

    def warm_writes(self, scenario, side):
        """Before the first of what a side writes in this arena."""
        key = side, scenario.processes
        if side in ("placet", "floor") and scenario.writes and key not in self.written:
            self.written.add(key)
            options = scenario.options(clients=CROWD, seconds=WARM_WRITES)
            if side == "floor":
                self._floor(options)
            else:
                self._ask(self.placet(scenario.processes), options)

    def _floor(self, options):
        return self.generator.run("floor", **options, url=self.other.url, cloud=self.file)

    def _wire(self, scenario, last):
        """With answers as long as placet's own were."""
        key = self.shape, self.hosts, scenario.name
        if key not in self.wires:
            size = last["bytes"] // max(1, last["done"])
            self.wires[key] = self.generator.wire(size, **scenario.options(cloud=self.file))
        return self.wires[key]

    def _counted(self, services, options):
        before = footprint.spent(services)
        result = self._ask(services, options)
        return result | {"cpu_us": (footprint.spent(services) - before) * 1e6 / max(1, result["done"])}

    def _ask(self, services, options):
        ports = ",".join(str(it.port) for it in services)
        return self.generator.run("http", port=ports, **options, cloud=self.file)

    def sides(self, scenario, wanted, full=True):
        """Who is asked of those that are wanted: whoever can be; or where not all is asked for, who tells something new."""
        if scenario.processes > 1 and self.engine.kind == "sqlite":
            return []  # one process serves a file
        known = ["placet", "upstream" if scenario.upstream else None, scenario.bound]
        is_first = self.engine.kind == ENGINES[0]
        if scenario.is_slow and not full and not is_first:
            known.remove("upstream")
        if scenario.only and not full:
            known = ["placet"] if is_first and self.shape == scenario.only else []
        return [side for side in known if side and side in wanted]
