"""A small cloud with room for every claim of a long run, and a full host: for benches of claims that affect others."""

import argparse
import json
import math
import pathlib
import tempfile

from benches.compare import process_usage
from benches.compare.bulk_load import PROJECT_ID, USER_ID
from benches.compare.load_generator import LoadGenerator
from benches.compare.systems import Placet
from functional_tests.lib import engines
from functional_tests.lib.rest import KeptRest

ROOMY_HOSTS = 200
# What a claim takes (benches/load/cloud.rs). The full host has exactly this, and its only consumer has it.
CLAIM = {"VCPU": 1, "MEMORY_MB": 512, "DISK_GB": 1}
ROOMY_TOTALS = dict.fromkeys(CLAIM, 2**31 - 1)
ENGINES = ("sqlite", "postgresql", "mariadb")
LOAD = {"scenario": "claims", "clients": 32}
# Before the first measured round, so that statements are prepared and tables are not empty.
WARM_UP_SECONDS = 1.5


def uuid_of(number):
    return f"00000000-0000-4000-8000-{number:012}"


class RoomyCloud:
    """placet on a database with this cloud, and the load generator for it. Use it as a context manager."""

    def __init__(self, engine, generator, binary=None):
        self.engine, self.generator = engine, generator
        self.placet = Placet(engine.create(), binary)

    def __enter__(self):
        self.folder = tempfile.TemporaryDirectory(prefix="placet-bench-")
        self.placet.__enter__()
        try:
            self._prepare()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        self.placet.__exit__()
        self.engine.drop(self.placet.database)
        self.folder.cleanup()

    def _prepare(self):
        rest = KeptRest(self.placet.port)
        uuids = [uuid_of(number) for number in range(ROOMY_HOSTS + 1)]
        for uuid in uuids:
            totals = CLAIM if uuid == uuids[-1] else ROOMY_TOTALS
            rest.must("POST", "/resource_providers", {"name": uuid, "uuid": uuid})
            rest.must("PUT", f"/resource_providers/{uuid}/inventories", {
                "resource_provider_generation": 0,
                "inventories": {name: {"total": total} for name, total in totals.items()}})
        rest.must("PUT", f"/allocations/{uuid_of(10**6)}", {
            "allocations": {uuids[-1]: {"resources": CLAIM}}, "project_id": "bench", "user_id": "bench",
            "consumer_generation": None, "consumer_type": "INSTANCE"})
        *hosts, full = map(self._host, uuids)
        self.cloud_file = pathlib.Path(self.folder.name, "cloud.json")
        self.cloud_file.write_text(json.dumps({
            "hosts": hosts, "full_host": full, "project": PROJECT_ID, "user": USER_ID,
            "classes": dict.fromkeys((*CLAIM, "SRIOV_NET_VF"), 0)}))
        self.load(seconds=WARM_UP_SECONDS)

    @staticmethod
    def _host(uuid):
        """A host as the load generator reads it. Over HTTP it needs no ids of the tables."""
        provider = {"id": 0, "uuid": uuid}
        return {"root": provider, "compute": [provider], "disk": provider}

    def load(self, **options):
        """The result of a run of the load generator, by default of claims."""
        return self.generator.run("http", port=self.placet.port, cloud=self.cloud_file, **(LOAD | options))

    def load_with_cpu(self, **options):
        """The same, with the CPU time of placet and the database server, for each request, in microseconds."""
        services = [self.placet, *self.engine.nodes]
        before = process_usage.cpu_seconds(services)
        result = self.load(**options)
        spent = process_usage.cpu_seconds(services) - before
        return result | {"cpu_us": spent * 1e6 / max(1, math.fsum(result["outcomes"].values()))}


def main(doc, records, table, rounds, seconds):
    """The command line of a bench on this cloud: `records` measures on an engine, `table` makes lines of all
    records.
    """
    parser = argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--engine", action="append", choices=ENGINES, help="may be repeated (default: all)")
    parser.add_argument("--rounds", type=int, default=rounds)
    parser.add_argument("--seconds", type=float, default=seconds, help="of each part of a round")
    parser.add_argument("--binary", help="placet's binary, if not that of `cargo build --profile dist`")
    parser.add_argument("--generator", help="the load generator's binary, if not that of `./tox.sh bench`")
    chosen = parser.parse_args()
    found = []
    for kind in chosen.engine or ENGINES:
        with engines.Engine(kind, durable=True) as engine:
            found += records(engine, LoadGenerator(chosen.generator), chosen.binary, chosen.rounds, chosen.seconds)
    print(*table(found), sep="\n")
