"""A node that has not applied yet what another one acknowledged shows nothing old.

It is made to lag: under `FLUSH TABLES WITH READ LOCK` a node applies nothing, though it serves reads. What one process
acknowledges meanwhile, the process of that node must show, in answers of every kind, or not answer until it can.
"""

import contextlib
import random
import time

from functional_tests.chaos import topology
from functional_tests.galera import stalled_node

SECONDS = 1.0  # less than `commit_timeout`
AMOUNT = 3


def shows(consumer, asked):
    """Those reads whose answer lacks the claim."""
    shown = {one.path: one.answer.json for one in asked if one.answer is not None and one.answer.status == 200}
    lacks = []
    for path, body in shown.items():
        if path.endswith(consumer):
            there = bool(body["allocations"])
        elif path.startswith("/allocation_candidates"):
            there = body["provider_summaries"][topology.POOL]["resources"]["DISK_GB"]["used"] == AMOUNT
        else:
            of_type = body["usages"].get("INSTANCE", body["usages"])
            there = of_type.get("DISK_GB") == AMOUNT
        lacks += [] if there else [f"{path}: {body}"[:300]]
    return lacks, len(shown)


def shows_nothing_old(engine, members):
    consumer = topology.new_consumer(random.Random(3))
    paths = (f"/allocations/{consumer}", f"/resource_providers/{topology.POOL}/usages", "/usages?project_id=chaos",
             "/allocation_candidates?resources=DISK_GB:1")
    stalled_node.ask([members[2]])  # everything is connected
    with contextlib.closing(engine.nodes[2].database("").connect()) as lagging:
        lagging.execute("FLUSH TABLES WITH READ LOCK")
        try:
            members[0].rest.must("PUT", f"/allocations/{consumer}", topology.body({topology.POOL: {"DISK_GB": AMOUNT}}, None))
            asked = [stalled_node.TimedRead(members[2], path) for path in paths]
            for one in asked:
                one.start()
            time.sleep(SECONDS)
            early = [one.path for one in asked if one.answer is not None]
        finally:
            lagging.execute("UNLOCK TABLES")
    for one in asked:
        one.join(25)
    lacks, answered = shows(consumer, asked)
    assert not lacks, f"{early} were answered before the node applied the claim; without it: {lacks}"
    assert answered == len(paths) and not early, (
        f"the node did not lag: {early} were answered early; {[str(one.answer)[:200] for one in asked]}")
