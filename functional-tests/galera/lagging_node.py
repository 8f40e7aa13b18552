"""A process on a lagging node answers no stale read.

Under `FLUSH TABLES WITH READ LOCK` a node applies no commits, but serves reads. During the lag, a second process
acknowledges a claim. Reads of every kind through the lagging node's process must show the claim, or wait until the node
has applied the claim.
"""

import contextlib
import random
import time

from functional_tests.chaos import topology
from functional_tests.galera import stalled_node

LAG_SECONDS = 1.0  # less than `commit_timeout`
CLAIMED_DISK_GB = 3


def shows(consumer, asked):
    """The reads whose answer lacks the claim, and the number of answered reads."""
    shown = {one.path: one.answer.json for one in asked if one.answer is not None and one.answer.status == 200}
    lacks = []
    for path, body in shown.items():
        if path.endswith(consumer):
            there = bool(body["allocations"])
        elif path.startswith("/allocation_candidates"):
            there = body["provider_summaries"][topology.POOL]["resources"]["DISK_GB"]["used"] == CLAIMED_DISK_GB
        else:
            of_type = body["usages"].get("INSTANCE", body["usages"])
            there = of_type.get("DISK_GB") == CLAIMED_DISK_GB
        lacks += [] if there else [f"{path}: {body}"[:300]]
    return lacks, len(shown)


def answers_no_stale_read(engine, members):
    consumer = topology.new_consumer(random.Random(3))
    paths = (f"/allocations/{consumer}", f"/resource_providers/{topology.POOL}/usages", "/usages?project_id=chaos",
             "/allocation_candidates?resources=DISK_GB:1")
    stalled_node.ask([members[2]])  # so that all connections are open
    with contextlib.closing(engine.nodes[2].database("").connect()) as lagging:
        lagging.execute("FLUSH TABLES WITH READ LOCK")
        try:
            body = topology.body({topology.POOL: {"DISK_GB": CLAIMED_DISK_GB}}, None)
            members[0].rest.must("PUT", f"/allocations/{consumer}", body)
            asked = [stalled_node.TimedRead(members[2], path) for path in paths]
            for one in asked:
                one.start()
            time.sleep(LAG_SECONDS)
            early = [one.path for one in asked if one.answer is not None]
        finally:
            lagging.execute("UNLOCK TABLES")
    for one in asked:
        one.join(25)
    lacks, answered = shows(consumer, asked)
    assert not lacks, f"answers without the claim: {lacks}; {early} were answered before the node applied it"
    assert answered == len(paths) and not early, (
        f"the node did not lag: {early} were answered early; {[str(one.answer)[:200] for one in asked]}")
