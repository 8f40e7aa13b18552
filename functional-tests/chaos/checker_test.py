"""The checker accepts valid histories, and finds the violation in each invalid one.

    python -m functional_tests.chaos.checker_test
"""

import json
import pathlib
import tempfile

from functional_tests.chaos import call_cases, checker, history, liveness, owners, quiescent, topology, watcher
from functional_tests.chaos.history import OK, REFUSED, UNKNOWN
from functional_tests.chaos.history_builder import (
    FAULT, GENERATION, HALF_DONE, HOST, INITIAL, LATE, ONE, ORDER, OVERSUBSCRIBED, POOL, RELEASED_TWICE, START, TWO, USAGE,
    Builder)
from functional_tests.lib.test_counts import TestCounts


def bystanders(seconds, outcome=OK, process=0, began=100.5, story=None):
    """A request of a bystander for each duration, all sent during FAULT unless `began` is another time."""
    story = story or Builder()
    for number, each in enumerate(seconds):
        story.put(f"bystander {number} of {process}", {}, None, outcome, began=began, ended=began + each, bystander=process)
    return story


VALID_HISTORIES = call_cases.VALID_HISTORIES | {
    "claim, replacement, release": lambda: (
        Builder().put("a", ONE, None).put("a", TWO, 1).read("a", TWO, 2).delete("a").read("a", {}, None)),
    "a claim after a release begins at generation 1": lambda: (
        Builder().put("a", ONE, None).delete("a").put("a", ONE, None).read("a", ONE, 1)),
    "an unknown claim that happened": lambda: Builder().put("a", ONE, None, UNKNOWN).read("a", ONE, 1),
    "an unknown claim that did not": lambda: Builder().put("a", ONE, None, UNKNOWN).read("a", {}, None),
    "an unknown claim that happened late": lambda: (
        Builder().put("a", ONE, None, UNKNOWN).read("a", {}, None).read("a", ONE, 1)),
    "an unknown POST that happened for both": lambda: (
        Builder().post({"a": ONE, "b": TWO}, {"a": None, "b": None}, UNKNOWN).read("a", ONE, 1).read("b", TWO, 1)),
    "two concurrent operations in either order": lambda: (
        Builder().put("a", ONE, None).put("a", TWO, 1, began=20, ended=30).read("a", ONE, 1, began=21, ended=29)),
    "generations": lambda: (
        Builder().generation(HOST, 1).put("a", ONE, None).generation(HOST, 2).put("b", ONE, None, UNKNOWN)
        .generation(HOST, 2).generation(HOST, 3)),
    "a refused claim": lambda: Builder().put("a", ONE, None, REFUSED).read("a", {}, None).generation(HOST, 1),
    "usages": lambda: (
        Builder().put("a", ONE, None).usage(HOST, {"VCPU": 1}).put("a", TWO, 1).usage(HOST, {"VCPU": 0})
        .usage(POOL, {"DISK_GB": 2}).delete("a").usage(POOL, {"DISK_GB": 0})),
    "a usage during a write": lambda: (
        Builder().put("a", ONE, None, began=0, ended=9).usage(HOST, {"VCPU": 0}, began=1, ended=2)
        .usage(HOST, {"VCPU": 1}, began=3, ended=4)),
    "the snapshot has the later of two in-flight writes, and not yet the earlier": lambda: (
        Builder().put("a", ONE, None, began=0, ended=20).delete("a", began=1, ended=20)
        .usage(HOST, {"VCPU": -1}, began=2, ended=19)),
    "a usage that may include an unknown claim": lambda: (
        Builder().put("a", ONE, None, UNKNOWN).usage(HOST, {"VCPU": 0}).usage(HOST, {"VCPU": 1})),
    "three claims for two units, with a release in between": lambda: (
        Builder().put("a", ONE, None).put("b", ONE, None).delete("a").put("c", ONE, None)),
    "a claim of units that an unknown release may have freed": lambda: (
        Builder().put("a", ONE, None).put("b", ONE, None).delete("a", UNKNOWN).put("c", ONE, None)),
    "bystanders take nine times as long during a fault": lambda: bystanders([0.9] * 10),
    "one bystander of ten is late during a fault": lambda: bystanders([5.0] + [0.1] * 9),
    "bystanders of the process that the fault concerns are late": lambda: bystanders([5.0] * 10, process=1),
    "bystanders of the process that the fault concerns are refused": lambda: bystanders([0.1] * 10, REFUSED, process=1),
    "few bystanders are late during a fault": lambda: bystanders([5.0] * 9),
    "bystanders are late after a fault": lambda: bystanders([5.0] * 10, began=111),
    "other clients are late during a fault": lambda: bystanders([5.0] * 10, process=None),
}
INVALID_HISTORIES = call_cases.INVALID_HISTORIES | {
    "an acknowledged claim is lost": (ORDER, lambda: Builder().put("a", ONE, None).read("a", {}, None)),
    "an acknowledged replacement is lost": (ORDER, lambda: (
        Builder().put("a", ONE, None).put("a", TWO, 1).read("a", ONE, 1))),
    "a refused claim happened": (ORDER, lambda: Builder().put("a", ONE, None, REFUSED).read("a", ONE, 1)),
    "an acknowledged release is lost": (ORDER, lambda: Builder().put("a", ONE, None).delete("a").read("a", ONE, 1)),
    "a claim happened in part": (ORDER, lambda: Builder().put("a", ONE | TWO, None).read("a", ONE, 1)),
    "an unknown claim happened in part": (ORDER, lambda: (
        Builder().put("a", ONE | TWO, None, UNKNOWN).read("a", TWO, 1))),
    "an unknown POST happened for one of two consumers": (HALF_DONE, lambda: (
        Builder().post({"a": ONE, "b": TWO}, {"a": None, "b": None}, UNKNOWN).read("a", ONE, 1).read("b", {}, None)
        .put("b", ONE, None))),
    "an acknowledged POST happened for one of two consumers": (ORDER, lambda: (
        Builder().post({"a": ONE, "b": TWO}, {"a": None, "b": None}).read("a", ONE, 1).read("b", {}, None))),
    "two writes with the same generation were granted": (ORDER, lambda: (
        Builder().put("a", ONE, None).put("a", TWO, 1).put("a", ONE, 1))),
    "an unknown claim happened twice": (ORDER, lambda: (
        Builder().put("a", ONE, None, UNKNOWN).read("a", ONE, 1).delete("a").read("a", ONE, 1))),
    "two releases of the same allocations were acknowledged": (RELEASED_TWICE, lambda: (
        Builder().put("a", ONE, None).delete("a", began=10, ended=12).delete("a", began=10, ended=12))),
    "a claim happened before it was sent": (ORDER, lambda: Builder().read("a", ONE, 1).put("a", ONE, None)),
    "a consumer's generation skipped a number": (ORDER, lambda: Builder().put("a", ONE, None).read("a", ONE, 2)),
    "a read was stale": (ORDER, lambda: (
        Builder().put("a", ONE, None).put("a", TWO, 1).read("a", ONE, 1).read("a", TWO, 2))),
    "a provider's generation is too low": (GENERATION, lambda: (
        Builder().put("a", ONE, None).generation(HOST, 2).put("b", ONE, None).generation(HOST, 2))),
    "a provider's generation decreased, although each value is possible": (GENERATION, lambda: (
        Builder().put("a", ONE, None, UNKNOWN).generation(HOST, 2).generation(HOST, 1))),
    "a provider's generation is too high": (GENERATION, lambda: Builder().put("a", ONE, None).generation(HOST, 3)),
    "a refused claim incremented a generation": (GENERATION, lambda: (
        Builder().put("a", ONE, None, REFUSED).generation(HOST, 2))),
    "the snapshot lacks an acknowledged claim": (USAGE, lambda: Builder().put("a", ONE, None).usage(HOST, {"VCPU": 0})),
    "the snapshot has a released claim": (USAGE, lambda: (
        Builder().put("a", ONE, None).delete("a").usage(HOST, {"VCPU": 1}))),
    "the snapshot has a refused claim": (USAGE, lambda: (
        Builder().put("a", ONE, None, REFUSED).usage(HOST, {"VCPU": 1}))),
    "the snapshot has a negative usage": (USAGE, lambda: (
        Builder().put("a", ONE, None).delete("a").usage(HOST, {"VCPU": -1}))),
    "the snapshot has the later of two writes, and not the earlier, which has ended": (USAGE, lambda: (
        Builder().put("a", ONE, None).delete("a", began=2, ended=20).usage(HOST, {"VCPU": -1}, began=3, ended=19))),
    "three claims for two units were granted": (OVERSUBSCRIBED, lambda: (
        Builder().put("a", ONE, None).put("b", ONE, None).put("c", ONE, None))),
    "three claims for two units were granted, and two released later": (OVERSUBSCRIBED, lambda: (
        Builder().put("a", ONE, None).put("b", ONE, None).put("c", ONE, None).delete("a").delete("b"))),
    "bystanders take eleven times as long during a fault": (LATE, lambda: bystanders([1.1] * 10)),
    "two bystanders of ten are late during a fault": (LATE, lambda: bystanders([5.0] * 2 + [0.1] * 8)),
    "bystanders of one process of two are late during a fault": (LATE, lambda: (
        bystanders([5.0] * 10, process=2, story=bystanders([0.1] * 40)))),
    "a bystander is refused during a fault": (LATE, lambda: bystanders([0.1], REFUSED)),
    "a bystander is not answered during a fault": (LATE, lambda: Builder().put(
        "a", {}, None, UNKNOWN, began=101, bystander=0)),
}


def check(operations):
    return checker.check(operations, **START)


def check_saved(story):
    """Writes a history to a file, reads it again, and checks it."""
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder, "history")
        history.save(START, story.operations, path)
        start, operations = history.load(path)
    return checker.check(operations, **start)


def calm_requests(tests):
    """Requests are compared with those that no fault can have delayed."""
    calm, during = bystanders([0.2], began=90), bystanders([0.3], began=99.9)
    operations = [*calm.operations, *during.operations, *bystanders([0.4], process=None, began=90).operations]
    tests.equal("calm requests are those of bystanders without a fault", [0.2],
                [round(each, 6) for each in liveness.calm(operations, [FAULT])])
    few = checker.check(bystanders([5.0] * 10).operations, INITIAL, local_faults=[FAULT], calm_seconds=[0.1])
    tests.equal("nothing is late without enough calm requests to compare with", [], few)
    short = checker.check(bystanders([0.4] * 10).operations, INITIAL, local_faults=[FAULT], calm_seconds=[0.01] * 20)
    tests.equal("nothing is late below the floor", [], short)


def gangs_in_tables(tests):
    """A gang is wholly in the tables, at one generation, or not at all."""
    first, second = (f"{topology.GANG}2-{number}" for number in "01")
    for name, rows, is_whole in (
            ("no gang", [], True), ("a whole gang", [(first, 3, 1), (second, 3, 2)], True),
            ("one of two consumers", [(first, 3, 1)], False),
            ("two generations", [(first, 3, 1), (second, 4, 1)], False),
            ("a consumer without allocations", [(first, 3, 1), (second, 3, 0)], False),
            ("two consumers without allocations", [(first, 3, 0), (second, 3, 0)], False)):
        tests.equal(f"gangs in the tables: {name}", is_whole, not watcher.partial_gangs(rows))


def workloads_in_tables(tests):
    """A workload is in the tables with all of its replicas, each of which has a place."""
    for name, row, is_whole in (
            ("whole", ("w", "2-w", 2, 2), True), ("none wanted", ("w", "0-w", 0, 0), True),
            ("a replica is missing", ("w", "2-w", 1, 1), False), ("a replica has no place", ("w", "2-w", 2, 1), False),
            ("a replica too many", ("w", "2-w", 3, 3), False), ("a replica has two places", ("w", "2-w", 2, 3), False)):
        tests.equal(f"workloads in the tables: {name}", is_whole, not watcher.partial_workloads([row]))


def domains_in_tables(tests):
    """No domain has two replicas of a workload that has one in each at most."""
    body = json.dumps({"rules": owners.ONE_EACH})
    hosts = {host: json.dumps({"type": None, "properties": {}, "domains": {topology.DIMENSION: rack}})
             for host, rack in topology.RACKS.items()}
    first, second, *_ = topology.QUERIED
    same = next(host for host in topology.QUERIED[1:] if topology.RACKS[host] == topology.RACKS[first])
    for name, rows, is_kept in (
            ("two domains", [("w", body, "0", hosts[first]), ("w", body, "1", hosts[second])], True),
            ("one domain", [("w", body, "0", hosts[first]), ("w", body, "1", hosts[same])], False),
            ("one replica", [("w", body, "0", hosts[first])] * 2, True),
            ("two workloads", [("w", body, "0", hosts[first]), ("v", body, "0", hosts[same])], True),
            ("no rule", [("w", '{"rules": []}', "0", hosts[first]), ("w", '{"rules": []}', "1", hosts[same])], True),
            ("no domain", [("w", body, "0", '{"domains": {}}'), ("w", body, "1", '{"domains": {}}')], True)):
        tests.equal(f"domains in the tables: {name}", is_kept, not quiescent.in_one_domain(rows))


def main():
    tests = TestCounts()
    domains_in_tables(tests)
    workloads_in_tables(tests)
    calm_requests(tests)
    gangs_in_tables(tests)
    for name, story in VALID_HISTORIES.items():
        tests.equal(f"valid: {name}", [], check(story().operations))
    for name, (kind, story) in INVALID_HISTORIES.items():
        faults = check(story().operations)
        tests.equal(f"invalid, {kind}: {name}", {kind}, {fault.kind for fault in faults})
        kinds, saved = ([fault.kind for fault in each] for each in (faults, check_saved(story())))
        tests.equal(f"invalid after saving, {kind}: {name}", kinds, saved, show=False)
    tests.finish()


if __name__ == "__main__":
    main()
