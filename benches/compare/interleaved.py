"""Interleaved runs: the systems are measured in alternation (A B A B), so that drift of the machine affects all of
them.
"""

import contextlib
import functools
import json
import time

from benches.compare import process_usage, tablespaces
from benches.compare.bulk_load import PROJECT_ID, USER_ID, load
from benches.compare.cloud import SHAPES, Cloud
from benches.compare.scenarios import MANY_CLIENTS
from benches.compare.systems import UPSTREAM_PROCESSES, Placet, Upstream
from functional_tests.lib import engines
from functional_tests.lib.rest import Rest
from functional_tests.lib.root import TARGET

# On the first one every system is measured in every scenario.
ENGINES = ("postgresql", "mariadb", "sqlite")
# Systems that are measured in fewer rounds. OpenStack Placement takes long, and its round is between two of placet's.
# The canned server's figure depends neither on the engine nor on the round, but for noise.
ROUNDS_OF_SYSTEM = {"upstream": 1, "canned_server": 1}
# OpenStack Placement is warmed up for each scenario, so that each of its processes has met the request. If the median
# response takes longer than this in the warm-up, the warm-up is the figure, because more clients would only wait.
WARM_UP_SECONDS, WARM_UP_CLIENTS, SLOW_RESPONSE_MICROSECONDS = 0.4, UPSTREAM_PROCESSES, 1e6
# Clients that warm up new processes.
NEW_PROCESS_CLIENTS = 8
# placet and the SQL baseline write for this long before their first measured writes. A server that has just imported a
# database has to read its pages, and to prepare both systems' statements.
WRITE_WARM_UP_SECONDS = 1.2

# As an operator would configure servers for a cloud of this size. What is read fits into memory.
SERVER_SETTINGS = {
    "postgresql": {"shared_buffers": "1GB", "max_wal_size": "4GB"},
    "mariadb": {"innodb-buffer-pool-size": "1G", "innodb-log-file-size": "512M"},
}

# The next engine gets the same clouds.
same_cloud = functools.lru_cache(len(SHAPES))(Cloud)


def server(engine):
    return engines.Engine(engine, durable=True, settings=SERVER_SETTINGS.get(engine))


class Testbed:
    """One cloud on one engine, in two databases with services on them. Use it as a context manager.

    `own` is placet's database. `other` is that of OpenStack Placement and the SQL baseline, which keep nothing in
    memory and can share it.
    """

    # Results of the canned server by shape, number of hosts and scenario. Engines share them.
    canned_results = {}

    def __init__(self, engine, shape, hosts, generator, binary=None):
        self.engine, self.shape, self.hosts = engine, shape, hosts
        self.generator, self.binary = generator, binary or TARGET / "dist/placet"
        self.services = contextlib.ExitStack()
        self.running = {}  # services by system and number of processes
        self.warmed_up = set()

    def __enter__(self):
        start = time.monotonic()
        self.other = self.engine.create()
        with Placet(self.other, self.binary):
            pass  # creates the tables, the standard classes and traits
        standard_traits = sorted(name for (name,) in self.other.query("SELECT name FROM traits"))
        self.cloud = same_cloud(self.shape, self.hosts, tuple(standard_traits))
        class_ids = load(self.other, self.cloud)
        if self.engine.kind == "mariadb":
            self.own = tablespaces.copy(self.engine, self.other)
        else:
            self.own = self.engine.create(self.other)
        self.cloud_file = self.engine.folder / f"{self.other.name}.json"
        self.cloud_file.write_text(json.dumps(self.cloud.as_json(class_ids, PROJECT_ID, USER_ID)))
        print(f"-- {self.hosts} hosts, {self.shape}, on {self.engine.kind}: loaded in {time.monotonic() - start:.0f} s",
              flush=True)
        return self

    def __exit__(self, *_):
        self.services.close()
        for database in (self.own, self.other):
            self.engine.drop(database)

    def placet(self, processes=1):
        """This many processes of placet. Those that are not running yet are started."""
        key = "placet", processes
        if key not in self.running:
            running = self.placet() if processes > 1 else []
            databases = [self.engine.at(self.own, n % max(1, len(self.engine.nodes))) for n in range(processes)]
            new = [self.services.enter_context(Placet(database, self.binary)) for database in databases[len(running):]]
            self.running[key] = running + self._warm_up(new)
        return self.running[key]

    def upstream(self):
        key = "upstream", 1
        if key not in self.running:
            services = [self.services.enter_context(Upstream(self.other)) for _ in range(UPSTREAM_PROCESSES)]
            for service in services:
                Rest(service.port).must("GET", "/resource_classes")
            self.running[key] = self._warm_up(services)
        return self.running[key]

    def _warm_up(self, services):
        path = "/allocation_candidates?resources=VCPU:1&in_tree={host}"
        self._load(services, {"scenario": "get", "path": path, "clients": NEW_PROCESS_CLIENTS,
                              "seconds": WARM_UP_SECONDS})
        return services

    def measure(self, scenario, rounds, systems, full=False):
        """One record for each system, with the results of its rounds."""
        results = {}
        for number in range(rounds):
            for system in systems:
                if full or number < ROUNDS_OF_SYSTEM.get(system, rounds):
                    results.setdefault(system, []).append(self._measure_once(scenario, system, results))
        return [{"engine": self.engine.kind, "shape": self.shape, "hosts": self.hosts, "scenario": scenario.name,
                 "group": scenario.group, "clients": scenario.clients, "system": system, "rounds": found}
                for system, found in results.items()]

    def _measure_once(self, scenario, system, results):
        self.warm_up_writes(scenario, system)
        if system == "sql_baseline":
            return self._sql_baseline(scenario.options())
        if system == "canned_server":
            return self._canned_server(scenario, results["placet"][-1])
        if system == "placet":
            return self._load_with_cpu(self.placet(scenario.processes), scenario.options())
        clients = min(WARM_UP_CLIENTS, scenario.clients)
        options = scenario.options(clients=clients, seconds=WARM_UP_SECONDS)
        warm_up = self._load_with_cpu(self.upstream(), options)
        if (warm_up["p50_us"] or 0) > SLOW_RESPONSE_MICROSECONDS:
            return warm_up | {"warm_up_clients": clients}
        return self._load_with_cpu(self.upstream(), scenario.options())

    def warm_up_writes(self, scenario, system):
        """Writes for a while, before the first measured writes of a system in this testbed."""
        key = system, scenario.processes
        if system in ("placet", "sql_baseline") and scenario.writes and key not in self.warmed_up:
            self.warmed_up.add(key)
            options = scenario.options(clients=MANY_CLIENTS, seconds=WRITE_WARM_UP_SECONDS)
            if system == "sql_baseline":
                self._sql_baseline(options)
            else:
                self._load(self.placet(scenario.processes), options)

    def _sql_baseline(self, options):
        return self.generator.run("sql-baseline", **options, url=self.other.url, cloud=self.cloud_file)

    def _canned_server(self, scenario, placets):
        """Its responses are as long as placet's were."""
        key = self.shape, self.hosts, scenario.name
        if key not in self.canned_results:
            body_bytes = placets["bytes"] // max(1, placets["completed"])
            options = scenario.options(cloud=self.cloud_file)
            self.canned_results[key] = self.generator.run_on_canned_server(body_bytes, **options)
        return self.canned_results[key]

    def _load_with_cpu(self, services, options):
        before = process_usage.cpu_seconds(services)
        result = self._load(services, options)
        spent = process_usage.cpu_seconds(services) - before
        return result | {"cpu_us": spent * 1e6 / max(1, result["completed"])}

    def _load(self, services, options):
        ports = ",".join(str(service.port) for service in services)
        return self.generator.run("http", port=ports, **options, cloud=self.cloud_file)

    def systems(self, scenario, wanted, full=True):
        """Which of the wanted systems a scenario is measured on. Unless `full`, some that show little more are left
        out.
        """
        if scenario.processes > 1 and self.engine.kind == "sqlite":
            return []  # an SQLite file is served by one process
        systems = ["placet", "upstream" if scenario.is_for_upstream else None, scenario.baseline]
        is_first_engine = self.engine.kind == ENGINES[0]
        if scenario.is_slow_upstream and not full and not is_first_engine:
            systems.remove("upstream")
        if scenario.only_shape and not full:
            systems = ["placet"] if is_first_engine and self.shape == scenario.only_shape else []
        return [system for system in systems if system and system in wanted]
