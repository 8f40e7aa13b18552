"""Checks that a local fault delays no independent request. `check` is a pure function.

Bystanders (bystanders.py) send requests at a steady rate for rows that no further client uses. While a local fault
lasts (local_faults.py), no bystander's request may be refused, and a request may take ten times as long as in calm
times of the same run.

Each process is judged alone, because all peers go on while one process waits. Times are compared at a percentile,
because on a busy machine a few requests are late without any fault. A wait for the fault itself makes more than a tenth
of the requests late: new requests are sent while earlier ones wait. Below a floor a wait looks like a moment without
CPU time.
"""

import math
from collections import defaultdict

from functional_tests.chaos.history import OK

PERCENTILE, FACTOR, FLOOR_SECONDS = 0.9, 10, 0.5
# With fewer requests, calm or during a fault, the percentile is the slowest of them.
LEAST_REQUESTS = 10


def check(operations, faults, calm_seconds):
    """The violations, as texts.

    `faults` has the local faults of a run: name, beginning and end, and `touched`, the numbers of processes whose
    requests may be late. `calm_seconds` are the durations of all earlier requests of bystanders without a fault.
    """
    found = []
    for fault in faults:
        for process, spared in spared_by(fault, operations).items():
            found += [f"{fault['name']}: {op.kind} was not granted: {op.answer}" for op in spared if op.outcome != OK]
            took = percentile(durations_of(spared))
            are_enough = min(len(calm_seconds), len(spared)) >= LEAST_REQUESTS
            if are_enough and took > limit(calm_seconds):
                found.append(f"{fault['name']}: requests for other rows through process {process} took {took:.2f} s, and "
                             f"without a fault {percentile(calm_seconds):.2f} s ({PERCENTILE:.0%} of {len(spared)} and of "
                             f"{len(calm_seconds)} were not slower)")
    return found


def spared_by(fault, operations):
    """Process -> requests of its bystanders that were sent during the fault, and do not need what it concerns."""
    found = defaultdict(list)
    for op in operations:
        if op.bystander is not None and op.bystander not in fault["touched"] and (
                fault["began"] <= op.began <= fault["ended"]):
            found[op.bystander].append(op)
    return found


def durations_of(operations):
    return [op.ended - op.began for op in operations if op.ended]


def limit(calm_seconds):
    return max(FLOOR_SECONDS, FACTOR * percentile(calm_seconds))


def calm(operations, faults):
    """The durations of bystanders' requests that no fault can have delayed."""
    return durations_of(op for op in operations if op.bystander is not None and op.ended and not any(
        op.began <= fault["ended"] and op.ended >= fault["began"] for fault in faults))


def percentile(durations):
    """The duration that PERCENTILE of them do not exceed, or 0 without any."""
    return sorted(durations or [0])[max(0, math.ceil(PERCENTILE * len(durations)) - 1)]
