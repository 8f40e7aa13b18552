"""Sides take turns, A B A B, each on its own copy of one database."""

import contextlib
import json
import time

import footprint
from bulk import PROJECT, USER, fill
from cloud import Cloud
from generator import TARGET
from sides import Placet, Upstream

import rest  # noqa: E402  (sides.py has found it)

# Who takes long is asked in the first round alone, between two of placet's, but for what comes before it counts.
ONCE = ("upstream",)
# So many seconds of a scenario whose answers come fast, so that no process of OpenStack Placement meets it for the first time.
WARM, WARMED = 0.5, ("claims", "list", "report")


class Arena:
    """One cloud on one engine, with a copy for each side. Use it as a context manager."""

    def __init__(self, engine, shape, hosts, generator, binary=None):
        self.engine, self.shape, self.hosts = engine, shape, hosts
        self.generator, self.binary = generator, binary or TARGET / "release/placet"
        self.open = contextlib.ExitStack()
        self.running = {}

    def __enter__(self):
        began = time.monotonic()
        self.template = self.engine.create()
        self.folder = self.engine.folder
        with Placet(self.template, self.binary):
            pass  # it makes the tables, the standard classes and traits
        standard = [name for (name,) in self.template.query("SELECT name FROM traits")]
        self.cloud = Cloud(self.shape, self.hosts, standard)
        classes = fill(self.template, self.cloud)
        self.file = self.folder / f"{self.template.name}.json"
        self.file.write_text(json.dumps(self.cloud.told(classes, PROJECT, USER)))
        print(f"-- {self.hosts} hosts, {self.shape}, on {self.engine.kind}: made in {time.monotonic() - began:.0f} s",
              flush=True)
        return self

    def __exit__(self, *_):
        self.open.close()
        self.engine.drop(self.template)

    def copy(self):
        """A copy of the cloud's database, which is dropped at the end."""
        database = self.engine.create(self.template)
        self.open.callback(self.engine.drop, database)
        return database

    def placet(self, processes=1):
        """The ports of so many processes of placet on one copy, started where they are not there yet."""
        if ("placet", processes) not in self.running:
            first = self.copy()
            databases = [self.engine.at(first, n % max(1, len(self.engine.nodes))) for n in range(processes)]
            self.running["placet", processes] = [self.open.enter_context(Placet(it, self.binary)) for it in databases]
        return self.running["placet", processes]

    def upstream(self):
        if "upstream" not in self.running:
            service = self.open.enter_context(Upstream(self.floor()))
            rest.Rest(service.port).must("GET", "/resource_classes")
            self.running["upstream"] = [service]
        return self.running["upstream"]

    def floor(self):
        """A copy for whoever keeps nothing in memory: the floor's claims and OpenStack Placement's, which take turns."""
        if "floor" not in self.running:
            self.running["floor"] = self.copy()
        return self.running["floor"]

    def measure(self, scenario, rounds, sides, once=ONCE):
        """One record for each side, with what each of its rounds was."""
        records = {}
        for turn in range(rounds):
            for side in sides:
                if turn == 0 or side not in once:
                    records.setdefault(side, []).append(self._round(scenario, side, records))
        return [{"engine": self.engine.kind, "shape": self.shape, "hosts": self.hosts, "scenario": scenario.name,
                 "group": scenario.group, "clients": scenario.clients, "side": side, "rounds": found}
                for side, found in records.items()]

    def _round(self, scenario, side, records):
        options = scenario.options() | {"cloud": self.file}
        if side == "floor":
            return self.generator.run("floor", url=self.floor().url, cloud=self.file, clients=scenario.clients,
                                      seconds=scenario.seconds)
        if side == "wire":
            # As long as placet's own answers were; to a report's questions it cannot answer as a service does.
            last = records["placet"][-1]
            size = last["bytes"] // max(1, last["done"])
            return self.generator.wire(size, **options | {"scenario": "get"})
        services = self.placet(scenario.processes) if side == "placet" else self.upstream()
        if side == "upstream" and side not in records and scenario.group in WARMED:
            self._ask(services, options | {"seconds": WARM})
        before = footprint.spent(services)
        result = self._ask(services, options)
        return result | {"cpu_us": (footprint.spent(services) - before) * 1e6 / max(1, result["done"])}

    def _ask(self, services, options):
        return self.generator.run("http", port=",".join(str(it.port) for it in services), **options)

    def sides(self, scenario, wanted, spare=False):
        """Who is asked: whoever can be, of those that are wanted; of those whom the scenario may `spare` nobody."""
        known = ["placet", "upstream" if scenario.upstream else None, scenario.bound]
        if spare:
            known = [side for side in known if side not in scenario.spared]
        if scenario.processes > 1 and self.engine.kind == "sqlite":
            return []  # one process serves a file
        return [side for side in known if side and side in wanted]
