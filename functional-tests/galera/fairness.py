"""Fairness under contention: three processes, each on its own node, claim from the same hosts and one pool.

In a healthy cluster every claim is granted or refused for lack of capacity, and none is answered 5xx. No claim waits
longer than `commit_timeout`, no process starves, and nothing is oversubscribed. Prints each process's grants and waits.
"""

import random
import statistics
import threading
import time
from collections import Counter

from functional_tests.chaos import topology
from functional_tests.lib.ledger import Ledger

COMMIT_TIMEOUT_SECONDS = 10  # placet's default
LEAST_SHARE = 0.3  # of an equal share of the grants
HOSTS = 2  # contended hosts
HELD_CLAIMS = 2  # claims of a client at a time: all clients together want more than the capacity


class Client(threading.Thread):
    """Claims through one process as fast as it answers, and releases its oldest claim if there is no capacity."""

    def __init__(self, member, hosts, seed, until):
        super().__init__()
        self.member, self.hosts, self.chance, self.until = member, hosts, random.Random(seed), until
        self.waits, self.statuses, self.unexpected, self.held = [], Counter(), [], []

    def run(self):
        while time.monotonic() < self.until:
            if len(self.held) > HELD_CLAIMS:
                self.release()
            self.claim()

    def claim(self):
        consumer = topology.new_consumer(self.chance)
        holds = {self.chance.choice(self.hosts): {"VCPU": 1}, topology.POOL: {"DISK_GB": 1}}
        status = self.ask("PUT", f"/allocations/{consumer}", topology.body(holds, None))
        if status == 204:
            self.held.append(consumer)
        elif self.held:
            self.release()

    def release(self):
        self.ask("DELETE", f"/allocations/{self.held.pop(0)}")

    def ask(self, method, path, sent=None):
        began = time.monotonic()
        answer = self.member.rest(method, path, sent)
        if method == "PUT":
            self.waits.append(time.monotonic() - began)
            self.statuses[answer.status] += 1
        refused = method == "PUT" and answer.status == 409 and "capacity" in str(answer)
        if answer.status != 204 and not refused:
            self.unexpected.append(f"{method}: {answer}")
        return answer.status


def contend(members, hosts, seconds, count, seed):
    """Runs all clients concurrently; returns a list of clients for each process."""
    until = time.monotonic() + seconds
    clients = [[Client(member, hosts, f"{seed}/{n}/{m}", until) for m in range(count)]
               for n, member in enumerate(members)]
    for client in sum(clients, []):
        client.start()
    for client in sum(clients, []):
        client.join(seconds + 60)
        assert not client.is_alive(), "a client is still waiting for an answer"
    return clients


def report(clients):
    """Prints a line for each process; returns the number of grants of each, and the longest wait of all."""
    granted = []
    for n, mine in enumerate(clients):
        waits = sorted(wait for client in mine for wait in client.waits)
        statuses = sum((client.statuses for client in mine), Counter())
        granted.append(statuses[204])
        print(f"process {n}: {statuses[204]} claims granted, {statuses[409]} refused for lack of capacity; waited "
              f"{1000 * statistics.median(waits):.0f} ms (median), {1000 * waits[int(len(waits) * 0.99)]:.0f} ms "
              f"at 99%, {1000 * waits[-1]:.0f} ms at most", flush=True)
    return granted, max(wait for mine in clients for client in mine for wait in client.waits)


REFUSED = "wsrep_local_cert_failures"  # commits that failed certification
UNDONE = "wsrep_local_bf_aborts"  # transactions that a commit of another node aborted
COMMITTED = "wsrep_last_committed"  # commits of the whole cluster, on every node


def counters(engine):
    """The sum of each counter over all nodes, since they started."""
    return [sum(int(node.status(name)) for node in engine.nodes) for name in (REFUSED, UNDONE, COMMITTED)]


def check(tests, engine, members, database, options):
    """Runs the clients, and checks their answers, the shares and the tables."""
    before = counters(engine)
    clients = contend(members, topology.HOSTS[:HOSTS], options.seconds, options.clients, options.seed)
    refused, undone, committed = (after - earlier for earlier, after in zip(before, counters(engine)))
    print(f"{committed // len(engine.nodes)} commits; {refused} failed certification, {undone} were aborted by another "
          "node's commit", flush=True)
    tests.equal("there were conflicts: commits were undone and tried again", True, refused + undone > 0)
    granted, longest = report(clients)
    unexpected = [line for mine in clients for client in mine for line in client.unexpected]
    tests.equal("every claim is granted, or refused for lack of capacity", [], unexpected[:3])
    share = min(granted) * len(granted) / max(1, sum(granted))
    print(f"the least share is {share:.2f} of an equal one", flush=True)
    tests.equal(f"no claim waits for {COMMIT_TIMEOUT_SECONDS} s", True, longest < COMMIT_TIMEOUT_SECONDS)
    tests.equal(f"no process gets less than {LEAST_SHARE} of an equal share", True, share >= LEAST_SHARE)
    tests.equal("no invariant of the tables is violated", [], Ledger(database).faults())
