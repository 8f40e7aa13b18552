"""Three processes, each on a node of its own, fight for the same hosts and one pool: nobody starves, nothing is too much.

In a healthy cluster every claim is granted or refused for want of room: no 5xx; none waits longer than
`commit_timeout`; each process gets its share. Prints what each got and how long claims waited.
"""

import random
import statistics
import threading
import time
from collections import Counter

from functional_tests.chaos import topology
from functional_tests.lib.ledger import Ledger

COMMIT_TIMEOUT = 10  # seconds, placet's default
LEAST_SHARE = 0.3  # of what a process would get if all got alike
HOSTS = 2  # that all fight for
HELD = 2  # claims of a client at a time: all together want more than there is


class Client(threading.Thread):
    """Claims of one process as fast as it answers, and releases the oldest claim where there is no room."""

    def __init__(self, member, hosts, seed, until):
        super().__init__()
        self.member, self.hosts, self.chance, self.until = member, hosts, random.Random(seed), until
        self.waits, self.statuses, self.strange, self.held = [], Counter(), [], []

    def run(self):
        while time.monotonic() < self.until:
            if len(self.held) > HELD:
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
            self.strange.append(f"{method}: {answer}")
        return answer.status


def fight(members, hosts, seconds, count, seed):
    """All at once; by process, its clients."""
    until = time.monotonic() + seconds
    clients = [[Client(member, hosts, f"{seed}/{n}/{m}", until) for m in range(count)]
               for n, member in enumerate(members)]
    for client in sum(clients, []):
        client.start()
    for client in sum(clients, []):
        client.join(seconds + 60)
        assert not client.is_alive(), "a claim is still not answered"
    return clients


def report(clients):
    """A line for each process; what each was granted, and the longest wait of all."""
    granted = []
    for n, mine in enumerate(clients):
        waits = sorted(wait for client in mine for wait in client.waits)
        statuses = sum((client.statuses for client in mine), Counter())
        granted.append(statuses[204])
        print(f"process {n}: {statuses[204]} claims granted, {statuses[409]} refused for want of room; waited "
              f"{1000 * statistics.median(waits):.0f} ms in the middle, {1000 * waits[int(len(waits) * 0.99)]:.0f} ms "
              f"at 99%, {1000 * waits[-1]:.0f} ms at most", flush=True)
    return granted, max(wait for mine in clients for client in mine for wait in client.waits)


REFUSED = "wsrep_local_cert_failures"  # commits, by certification
UNDONE = "wsrep_local_bf_aborts"  # transactions, by a commit of another node
COMMITTED = "wsrep_last_committed"  # in the cluster: each node counts all


def counters(engine):
    """What the nodes have counted since they started, all together."""
    return [sum(int(node.status(name)) for node in engine.nodes) for name in (REFUSED, UNDONE, COMMITTED)]


def check(tests, engine, members, database, options):
    """A fight, and what came of it."""
    before = counters(engine)
    clients = fight(members, topology.HOSTS[:HOSTS], options.seconds, options.clients, options.seed)
    refused, undone, committed = (after - earlier for earlier, after in zip(before, counters(engine)))
    print(f"{committed // len(engine.nodes)} commits; refused by certification {refused}, undone by another's {undone}",
          flush=True)
    tests.equal("they met each other: commits were undone, and tried again", True, refused + undone > 0)
    granted, longest = report(clients)
    strange = [line for mine in clients for client in mine for line in client.strange]
    tests.equal("nothing but grants, and refusals for want of room", [], strange[:3])
    share = min(granted) * len(granted) / max(1, sum(granted))
    print(f"the least share is {share:.2f} of an equal one", flush=True)
    tests.equal(f"no claim waits for {COMMIT_TIMEOUT} s", True, longest < COMMIT_TIMEOUT)
    tests.equal(f"no process gets less than {LEAST_SHARE} of an equal share", True, share >= LEAST_SHARE)
    tests.equal("the tables are as they must be", [], Ledger(database).faults())
