"""Start-up time, resident memory and CPU time of the processes of a service."""

import http.client
import os
import pathlib
import time

from benches.compare.systems import Placet
from functional_tests.lib import live

# placet sums up usage when it starts. This is the same sum in the database, to compare with.
SUM_OF_USAGE = ("SELECT resource_provider_id, resource_class_id, SUM(used) FROM allocations "
                "GROUP BY resource_provider_id, resource_class_id")
MAX_STARTS = 2
POLL_SECONDS = 0.005


def startup_records(testbed, rounds):
    """Records of the time to placet's first response, and of the sum of usage by SQL, in alternation."""
    # No service runs on this database yet. A start of placet leaves only its row of a writer there.
    database = testbed.other
    startups, sums = [], []
    for _ in range(min(MAX_STARTS, rounds)):
        start = time.monotonic()
        database.query(SUM_OF_USAGE)
        sums.append(time.monotonic() - start)
        with _TimedPlacet(database, testbed.binary) as service:
            startups.append(service.startup_seconds)
    common = {"engine": testbed.engine.kind, "shape": testbed.shape, "hosts": testbed.hosts, "group": "start", "clients": 1,
              "scenario": "start-up to the first response"}
    return [common | {"system": system, "rounds": [{"seconds": it} for it in seconds]}
            for system, seconds in (("placet", startups), ("sql_sum", sums))]


class _TimedPlacet(Placet):
    """Measures the time from the start of the process to its first candidates."""

    def _listens(self):
        start = time.monotonic()
        path = "/allocation_candidates?resources=VCPU:1&limit=1"
        while time.monotonic() - start < live.START_SECONDS and self.process.poll() is None:
            connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=live.START_SECONDS)
            try:
                connection.request("GET", path, headers={
                    "x-auth-token": "admin", "openstack-api-version": "placement 1.39"})
                response = connection.getresponse()
                response.read()
                if response.status == 200:
                    self.startup_seconds = time.monotonic() - start
                    return True
            except OSError:
                pass
            finally:
                connection.close()
            time.sleep(POLL_SECONDS)
        return False


def memory_records(testbed):
    """Records of the resident memory of each system's processes now, after all its scenarios."""
    records = []
    for (system, processes), services in testbed.running.items():
        size = sum(resident_bytes(pid) for service in services for pid in process_tree(service.process.pid))
        records.append({
            "engine": testbed.engine.kind, "shape": testbed.shape, "hosts": testbed.hosts, "group": "start",
            "scenario": "memory after the run", "clients": processes, "system": system,
            "rounds": [{"megabytes": size / 1e6}]})
    return records


def cpu_seconds(services):
    """The CPU time of these services' processes so far, and of their descendants that have ended."""
    ticks = 0
    for pid in (pid for service in services for pid in process_tree(service.process.pid)):
        fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        ticks += sum(int(field) for field in fields[11:15])
    return ticks / os.sysconf("SC_CLK_TCK")


def process_tree(pid):
    """A process and all its descendants."""
    children = [int(child) for path in pathlib.Path(f"/proc/{pid}/task").glob("*/children")
                for child in path.read_text().split()]
    return [pid, *(descendant for child in children for descendant in process_tree(child))]


def resident_bytes(pid):
    """The proportional set size: a page of several processes counts for each in equal parts."""
    rollup = pathlib.Path(f"/proc/{pid}/smaps_rollup").read_text()
    return next(int(line.split()[1]) * 1024 for line in rollup.splitlines() if line.startswith("Pss:"))
