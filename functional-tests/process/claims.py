"""Concurrent clients that claim and release, and an audit of the tables against the clients' answers."""

import http.client
import json
import sqlite3
import threading
import uuid

from functional_tests.lib.ledger import Ledger
from functional_tests.lib.patience import HANG_SECONDS, eventually
from functional_tests.process.cases import check, equal

HOSTS = [f"00000000-0000-4000-8000-00000000000{n}" for n in range(4)]
POOL = "00000000-0000-4000-8000-0000000000ff"
# Small enough to be used up within a second or two, so that some claims are refused for lack of capacity.
HOST_CAPACITY, POOL_CAPACITY = 200, 600


def claim(host, generation=None):
    """The body of a claim: one unit of a host and one of the shared pool."""
    return {
        "allocations": {host: {"resources": {"VCPU": 1}}, POOL: {"resources": {"DISK_GB": 1}}},
        "project_id": "p", "user_id": "u", "consumer_generation": generation, "consumer_type": "INSTANCE",
    }


def prepare(rest):
    for host, name, total in [*((h, "VCPU", HOST_CAPACITY) for h in HOSTS), (POOL, "DISK_GB", POOL_CAPACITY)]:
        rest.must("POST", "/resource_providers", {"name": host, "uuid": host})
        body = {"resource_provider_generation": 0, "inventories": {name: {"total": total}}}
        rest.must("PUT", f"/resource_providers/{host}/inventories", body)


def is_unknown(status, answer):
    """Whether an answer says that the outcome is unknown."""
    return status == 503 and "The outcome of this request is unknown" in answer


class ClientGroup:
    """Concurrent clients, and the answers that they received, by consumer.

    The records are kept while services on the same file end and start.
    """

    def __init__(self, chance, clients=32):
        self.chance, self.clients = chance, clients
        self.host = {}  # by consumer, of every claim that was sent
        self.granted, self.released, self.unknown, self.leaving = set(), set(), set(), set()
        self.wrong = []
        self.stopped = threading.Event()

    def start(self, port):
        self.stopped.clear()
        seeds = [self.chance.getrandbits(64) for _ in range(self.clients)]
        self.threads = [threading.Thread(target=self._client, args=(port, seed)) for seed in seeds]
        for thread in self.threads:
            thread.start()

    def finish(self):
        """Stops the clients and waits for their threads."""
        self.stopped.set()
        for thread in self.threads:
            thread.join(HANG_SECONDS)
            check(not thread.is_alive(), "a client is still waiting for an answer")
        equal(self.wrong, [], "unexpected answers")

    def _client(self, port, seed):
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=HANG_SECONDS)
        own = []
        number = 0
        while not self.stopped.is_set():
            number += 1
            try:
                if own and number % 5 == 0:
                    self._release(connection, own.pop())
                else:
                    consumer = f"{seed:016x}{number:016x}"
                    consumer = str(uuid.UUID(consumer))
                    own += self._claim(connection, consumer, HOSTS[(seed + number) % len(HOSTS)])
            except (OSError, http.client.HTTPException):
                break
        connection.close()

    def _claim(self, connection, consumer, host):
        self.host[consumer] = host
        self.unknown.add(consumer)
        status, answer = self._send(connection, "PUT", consumer, claim(host))
        if status == 204:
            self.granted.add(consumer)
        elif is_unknown(status, answer):
            return []
        elif status not in (409, 503) or status == 409 and "capacity" not in answer:
            self.wrong.append((status, answer))
            return []
        self.unknown.discard(consumer)
        return [consumer] if status == 204 else []

    def _release(self, connection, consumer):
        self.leaving.add(consumer)
        status, answer = self._send(connection, "DELETE", consumer)
        if is_unknown(status, answer):
            return
        self.leaving.discard(consumer)
        if status == 204:
            self.released.add(consumer)
        elif status != 503:
            self.wrong.append((status, answer))

    @staticmethod
    def _send(connection, method, consumer, body=None):
        connection.request(method, f"/allocations/{consumer}", body and json.dumps(body), {
            "X-Auth-Token": "admin", "OpenStack-API-Version": "placement latest", "Content-Type": "application/json"})
        response = connection.getresponse()
        return response.status, response.read().decode()

    def wait_for_grants(self, number):
        eventually(lambda: f"{number} claims are granted, and not {len(self.granted)}",
                   lambda: len(self.granted) >= number, pause=0.005)

    def free_capacity(self, rest):
        """Releases half of the claims, so that the next round grants some."""
        for consumer in sorted(self.granted - self.released)[::2]:
            answer = rest("DELETE", f"/allocations/{consumer}")
            check(answer.status in ((204, 404) if consumer in self.leaving else (204,)), answer)
            self.released.add(consumer)
            self.leaving.discard(consumer)


def audit(clients, placet):
    """Compares the tables with the clients' answers, and the service's answers with the tables."""
    ledger = Ledger(placet.database)
    holders = {provider: ledger.holders(provider) for provider in [*HOSTS, POOL]}
    there = set(holders[POOL])
    lost = clients.granted - clients.released - clients.leaving - there
    check(not lost, f"{len(lost)} acknowledged claims are lost:", sorted(lost)[:3])
    back = clients.released & there
    check(not back, f"{len(back)} acknowledged releases came back:", sorted(back)[:3])
    refused = there - clients.granted - clients.unknown
    check(not refused, f"{len(refused)} refused claims are there:", sorted(refused)[:3])
    for host in HOSTS:
        equal(set(holders[host]), {c for c in there if clients.host[c] == host}, "half of a claim on", host)
    check(all(n == 1 for by in holders.values() for n in by.values()), "amounts")
    equal(ledger.faults() + ledger.gaps(), [])
    # Only claims increment a generation, each by one.
    ever = clients.granted | (clients.unknown & there)
    equal(ledger.generation(POOL), 1 + len(ever), "the pool's generation")
    for host in HOSTS:
        equal(ledger.generation(host), 1 + sum(clients.host[c] == host for c in ever), "generation of", host)
    ledger.connection.close()
    connection = sqlite3.connect(placet.database)
    equal(connection.execute("PRAGMA integrity_check").fetchone()[0], "ok")
    equal(connection.execute("PRAGMA foreign_key_check").fetchall(), [])
    connection.close()
    usages = placet.rest("GET", f"/resource_providers/{POOL}/usages").json["usages"]
    equal(usages["DISK_GB"], len(there), "usage that the service shows")
    summaries = placet.rest("GET", "/allocation_candidates?resources=VCPU:1").json["provider_summaries"]
    for host in HOSTS:
        shown = summaries[host]["resources"]["VCPU"]["used"] if host in summaries else HOST_CAPACITY
        equal(shown, len(holders[host]), "usage that candidates show of", host)
