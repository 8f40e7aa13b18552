"""Start-up and memory: how long until placet answers from a full database, and what each side's processes weigh."""

import http.client
import os
import pathlib
import time

from sides import Placet, live

SUMS = ("SELECT resource_provider_id, resource_class_id, SUM(used) FROM allocations "
        "GROUP BY resource_provider_id, resource_class_id")

STARTS = 2


def start(arena, rounds):
    """Records in seconds: the first answer from memory, and the database's own sums, in turns."""
    # Nobody works there yet, and what a start leaves there is a row that says who was there.
    database = arena.other
    firsts, sums = [], []
    for _ in range(min(STARTS, rounds)):
        began = time.monotonic()
        database.query(SUMS)
        sums.append(time.monotonic() - began)
        service = _Timed(database, arena.binary)
        with service:
            firsts.append(service.seconds)
    common = {"engine": arena.engine.kind, "shape": arena.shape, "hosts": arena.hosts, "group": "start", "clients": 1}
    return [common | {"scenario": "start-up, first answer", "side": side, "rounds": [{"seconds": it} for it in seconds]}
            for side, seconds in (("placet", firsts), ("sums", sums))]


class _Timed(Placet):
    """Says how long it took from the process's start to the first candidates."""

    def _answers(self):
        began = time.monotonic()
        path = "/allocation_candidates?resources=VCPU:1&limit=1"
        while time.monotonic() - began < live.START_SECONDS and self.process.poll() is None:
            connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=live.START_SECONDS)
            try:
                connection.request("GET", path, headers={
                    "x-auth-token": "admin", "openstack-api-version": "placement 1.39"})
                answer = connection.getresponse()
                answer.read()
                if answer.status == 200:
                    self.seconds = time.monotonic() - began
                    return True
            except OSError:
                pass
            finally:
                connection.close()
            time.sleep(0.005)
        return False


def memory(arena):
    """What each side has resident now, shared pages counted once: after all that was asked of it."""
    records = []
    for key, services in arena.running.items():
        side, clients = ("upstream", 1) if key == "upstream" else key
        size = sum(_resident(pid) for service in services for pid in family(service.process.pid))
        records.append({
            "engine": arena.engine.kind, "shape": arena.shape, "hosts": arena.hosts, "group": "start",
            "scenario": "memory at the end", "clients": clients, "side": side, "rounds": [{"megabytes": size / 1e6}]})
    return records


def spent(services):
    """Seconds of CPU that services took so far; that they stand still among other programs is not in it."""
    ticks = 0
    for pid in (pid for service in services for pid in family(service.process.pid)):
        fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        ticks += int(fields[11]) + int(fields[12])
    return ticks / os.sysconf("SC_CLK_TCK")


def family(pid):
    """A process and all below it."""
    below = [int(child) for path in pathlib.Path(f"/proc/{pid}/task").glob("*/children")
             for child in path.read_text().split()]
    return [pid, *(it for child in below for it in family(child))]


def _resident(pid):
    """Bytes, in which a page of several processes counts in parts (PSS)."""
    rollup = pathlib.Path(f"/proc/{pid}/smaps_rollup").read_text()
    return next(int(line.split()[1]) * 1024 for line in rollup.splitlines() if line.startswith("Pss:"))
