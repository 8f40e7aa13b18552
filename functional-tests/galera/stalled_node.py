"""A paused or isolated node: its process still answers every read in time.

A paused node closes no connection, and an isolated node may wait for the cluster. Reads through its process are 503
with `Retry-After` no later than `commit_timeout`. Reads through the remaining processes are served once the cluster has
evicted the node. Afterwards all processes answer as before.
"""

import contextlib
import random
import threading
import time

from functional_tests.chaos import services, topology
from functional_tests.lib.patience import HANG_SECONDS
from functional_tests.lib.servers import databases

COMMIT_TIMEOUT_SECONDS = 3  # of the processes here
ANSWER_SECONDS_MAX = 20  # far more than that, and less than the 30 s for which a node waits for its cluster
CLAIM = {topology.POOL: {"DISK_GB": 1}}
READS = ("/resource_providers", f"/resource_providers/{topology.POOL}", f"/resource_providers/{topology.POOL}/usages",
         "/allocations/00000000-0000-4000-8000-00000000abcd", "/usages?project_id=p", "/traits",
         "/allocation_candidates?resources=VCPU:1")


class TimedRead(threading.Thread):
    """One read through one process: its answer, and the seconds that it took."""

    def __init__(self, member, path):
        super().__init__()
        self.member, self.path, self.answer, self.took = member, path, None, None

    def run(self):
        began = time.monotonic()
        with contextlib.suppress(OSError):
            self.answer = self.member.rest("GET", self.path)
        self.took = time.monotonic() - began


def ask(members):
    """Sends all reads to all these processes concurrently. An unanswered read has `answer` None."""
    asked = [TimedRead(member, path) for member in members for path in READS]
    for one in asked:
        one.start()
    for one in asked:
        one.join(25)
    return asked


def node_is_answered(member):
    """Repeats the reads until all are refused: an isolated node notices it a little later."""
    began, longest, served = time.monotonic(), 0, ["all"]
    while served:
        assert time.monotonic() - began < HANG_SECONDS, f"{served} are served without a majority"
        asked = ask([member])
        longest = max([longest, *(one.took for one in asked)])
        late = [one.path for one in asked if one.answer is None or one.took > ANSWER_SECONDS_MAX]
        assert not late, f"not answered in {ANSWER_SECONDS_MAX} s: {late}"
        wrong = [f"{one.path}: {one.answer}"[:300] for one in asked if not (
            one.answer.status == 200 or one.answer.status == 503 and int(one.answer.headers.get("retry-after", 0)))]
        assert not wrong, wrong
        served = [one.path for one in asked if one.answer.status == 200]
    print(f"        503 after {time.monotonic() - began:.1f} s, each answer within {longest:.1f} s", flush=True)


def others_are_served(members):
    """Repeats the reads through the other processes until all succeed."""
    began = time.monotonic()
    while any(one.answer is None or one.answer.status >= 500 for one in ask(members)):
        assert time.monotonic() - began < HANG_SECONDS, f"not all are answered after {HANG_SECONDS} s"
    print(f"        the others served after {time.monotonic() - began:.1f} s", flush=True)


def check(tests, engine, members):
    node, member, others = engine.nodes[2], members[2], members[:2]
    for name, inject, heal in (("is paused", node.pause, node.resume), ("is cut off", node.isolate, node.heal)):
        inject()
        try:
            tests.step(f"reads are refused in time while their node {name}", node_is_answered, member)
            tests.step(f"the other processes serve reads while a node {name}", others_are_served, others)
        finally:
            heal()
        tests.step(f"all processes serve reads after a node {name}", after, engine, members)


def after(engine, members):
    engine.cluster.settle()
    began = time.monotonic()
    others_are_served(members)
    assert time.monotonic() - began < HANG_SECONDS


def connects_to_another_node(engine, database, binary):
    """A process whose URL has several nodes connects to the next one when its own is killed."""
    dead = engine.nodes[2]
    several = databases.mariadb(dead.port, database.name, others=[node.port for node in engine.nodes[:2]])
    with services.Member("placet", binary=binary, database=several) as member:
        chance, number = random.Random(8), 0
        member.rest.must("PUT", f"/allocations/{topology.new_consumer(chance)}", topology.body(CLAIM, None))
        dead.kill()
        began, status = time.monotonic(), None
        while status != 204:
            number += 1
            assert time.monotonic() - began < HANG_SECONDS, f"{status} after {HANG_SECONDS} s"
            path = f"/allocations/{topology.new_consumer(chance)}"
            status = member.rest("PUT", path, topology.body(CLAIM, None)).status
        print(f"        granted {time.monotonic() - began:.1f} s after the node was killed, at try {number}",
              flush=True)
    dead.restart()
    engine.cluster.settle()
