"""Ten claims and ten searches a second, while everything is read again."""

import statistics
import threading
import time

from functional_tests.lib.patience import eventually
from functional_tests.lib.rest import KeptRest
from functional_tests.query_plans import cloud

RATE = 10  # of each, a second
RELOADS, SECONDS_BETWEEN = 4, 2
# Claims during reloads may take ten times as long as those between reloads, compared at the median. Below the floor, a
# wait for a reload cannot be told from a moment without CPU time.
CLAIM_FACTOR, FLOOR_SECONDS = 10, 0.5
# A search waits for one reload that began after it had to, and for the rest of one that became obsolete. Ten times
# this, in starts of this process, and of a second at least.
SEARCH_STARTS_MAX, START_SECONDS_MIN = 20, 1.0


class Client(threading.Thread):
    """Sends a request at each tick. What waits for an answer delays the ticks after it, and each counts."""

    def __init__(self, port, request, stop):
        super().__init__()
        self.rest, self.request, self.stop = KeptRest(port), request, stop
        self.due, self.seconds, self.statuses = [], [], []

    def run(self):
        began, number = time.monotonic(), 0
        while not self.stop.is_set():
            due = began + number / RATE
            time.sleep(max(0, due - time.monotonic()))
            self.due.append(due)
            self.statuses.append(self.request(self.rest, number).status)
            self.seconds.append(time.monotonic() - due)
            number += 1

    def beside(self, reloads, is_inside):
        """The seconds of the requests that came during one of these times, or of all others."""
        return [seconds for due, seconds in zip(self.due, self.seconds)
                if is_inside == any(began <= due + seconds and due <= ended for began, ended in reloads)]

    def percentile(self, percent):
        ordered = sorted(self.seconds)
        return ordered[min(len(ordered) - 1, int(len(ordered) * percent / 100))]

    def __str__(self):
        return (f"{len(self.seconds)}, p50 {self.percentile(50) * 1000:.0f} ms, "
                f"p99 {self.percentile(99) * 1000:.0f} ms, longest {max(self.seconds) * 1000:.0f} ms")


def claim(rest, number):
    host = cloud.uuid("provider", 6 + 25 * (number % 100))
    return rest("PUT", f"/allocations/00000000-0000-4000-8000-{number:012d}", {
        "allocations": {host: {"resources": {"MEMORY_MB": 1}}}, "project_id": "p", "user_id": "u",
        "consumer_generation": None, "consumer_type": "CLOUD"})


def search(rest, number):
    return rest("GET", f"/allocation_candidates?resources=VCPU:1,MEMORY_MB:{number % 100 + 1}&limit=10")


def change_epoch(database, number):
    database.run("UPDATE placet_epoch SET epoch = ?", [f"another-{number}"])


def displace_writer(database, number):
    database.run("UPDATE placet_writers SET token = ?", [f"displaced-{number}"])


def write_as_another_program(database, number):
    """The snapshot stays in use."""
    database.run("INSERT INTO traits (name) VALUES (?)", [f"CUSTOM_{number}"])


# What has a process read everything again. On SQLite a process follows no other.
CAUSES = {
    "sqlite": {"the writer's row was changed": displace_writer, "another program wrote": write_as_another_program},
    "postgresql": {"the epoch was changed": change_epoch},
    "mariadb": {"the epoch was changed": change_epoch},
}


def reload_beside_clients(service, database, reloads, cause):
    """Reloads while the clients go on. Returns both clients, and when each reload began and ended."""
    stop = threading.Event()
    clients = [Client(service.port, request, stop) for request in (claim, search)]
    for client in clients:
        client.start()
    lasted = []
    try:
        for number in range(RELOADS):
            time.sleep(SECONDS_BETWEEN)
            before, began = reloads(service), time.monotonic()
            cause(database, number)
            eventually("another reload", lambda before=before: reloads(service) > before)
            lasted.append((began, time.monotonic()))
        time.sleep(SECONDS_BETWEEN)
    finally:
        stop.set()
        for client in clients:
            client.join()
    claims, searches = clients
    print(f"        {reloads(service)} reloads\n        claims: {claims}\n        searches: {searches}", flush=True)
    assert set(claims.statuses) == {204}, sorted(set(claims.statuses))
    assert set(searches.statuses) == {200}, sorted(set(searches.statuses))
    # On SQLite the lost row may be found before the commit of another program. Then the second reload stops no search.
    most = 2 * RELOADS if cause is displace_writer else RELOADS
    assert RELOADS <= reloads(service) <= most, f"{reloads(service)} reloads:\n{placet_lines(service)}"
    return clients, lasted


def judge(clients, lasted, start_seconds):
    """Compares the latencies during reloads with the others, and with the time of a start. Nothing else may run."""
    claims, searches = clients
    during, between = (statistics.median(claims.beside(lasted, is_inside)) for is_inside in (True, False))
    print(f"        claims, median: {during * 1000:.0f} ms during reloads, {between * 1000:.0f} ms between them; "
          f"a start took {start_seconds:.1f} s", flush=True)
    assert during <= max(FLOOR_SECONDS, CLAIM_FACTOR * between), f"claims waited {during:.1f} s for a reload"
    starts = max(searches.seconds) / max(start_seconds, START_SECONDS_MIN)
    assert starts <= SEARCH_STARTS_MAX, f"a search waited {starts:.1f} times as long as a start"


def placet_lines(service):
    """The log without a line for each request."""
    lines = (service.folder / "log").read_text(errors="replace").splitlines()
    return "\n".join(line for line in lines if "placet::access" not in line)
