"""Polls the tables by SQL during a run, for violations that may last only a moment."""

import collections
import contextlib
import threading
import time

from functional_tests.chaos import topology
from functional_tests.chaos.checker import Violation

# One statement each, so that all rows are from the same moment.
QUERY = (
    "SELECT p.uuid, p.generation, COALESCE(SUM(a.used), 0) FROM resource_providers p"
    " LEFT JOIN allocations a ON a.resource_provider_id = p.id GROUP BY p.uuid, p.generation")
GANGS = (
    "SELECT c.uuid, c.generation, COUNT(a.id) FROM consumers c LEFT JOIN allocations a ON a.consumer_id = c.uuid"
    f" WHERE c.uuid LIKE '{topology.GANG}%' GROUP BY c.uuid, c.generation")
WORKLOADS = (
    "SELECT w.uuid, w.name, COUNT(r.consumer_id), COUNT(a.id) FROM placet_workloads w"
    " LEFT JOIN placet_replicas r ON r.workload = w.uuid LEFT JOIN allocations a ON a.consumer_id = r.consumer_id"
    " GROUP BY w.uuid, w.name")
POLL_SECONDS, RETRY_SECONDS = 0.02, 0.2  # between polls, and after a failed one


class Watcher(threading.Thread):
    """Use it as a context manager."""

    def __init__(self, database, has_workloads):
        super().__init__(daemon=True)
        self.queries = (QUERY, GANGS, WORKLOADS) if has_workloads else (QUERY, GANGS)
        self.database = database
        self.stopped = threading.Event()
        self.found, self.polls = [], 0
        self.highest = {}  # provider -> highest generation
        self.over = set()  # oversubscribed providers

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *_):
        self.stopped.set()
        self.join(60)

    def run(self):
        connection = None
        while not self.stopped.wait(POLL_SECONDS):
            try:
                connection = connection or self.database.connect()
                rows, members, *workloads = (connection.execute(query).fetchall() for query in self.queries)
            except Exception:  # the engine's own: it may be down
                if connection:
                    with contextlib.suppress(Exception):
                        connection.close()
                connection = None
                time.sleep(RETRY_SECONDS)
            else:
                self.polls += 1
                self.judge(rows)
                self.found += [Violation("half done", gang, text) for gang, text in partial_gangs(members)]
                self.found += [Violation("half done", workload, text)
                               for found in workloads for workload, text in partial_workloads(found)]

    def judge(self, rows):
        for provider, generation, used in rows:
            if generation < self.highest.get(provider, 0):
                self.found.append(Violation("generation", provider, (
                    f"in the tables {provider} had generation {self.highest[provider]}, and then {generation}")))
            self.highest[provider] = generation
            total = sum(topology.TOTALS.get(provider, {"": float("inf")}).values())
            if used <= total:
                self.over.discard(provider)
            elif provider not in self.over:
                self.over.add(provider)
                self.found.append(Violation(
                    "oversubscribed", provider, f"in the tables {used} of {total} of {provider} are held"))

    def taken(self):
        """Returns the violations since the last call, and forgets them."""
        found, self.found = self.found, []
        return found


def partial_gangs(rows):
    """Gangs of which some consumers exist and others do not, or have another generation, as (gang, text).

    A row is a consumer's uuid, its generation and the number of its allocations.
    """
    gangs, found = collections.defaultdict(list), []
    for consumer, generation, allocations in rows:
        gangs[consumer[:-1]].append((generation, allocations > 0))
    for gang, members in gangs.items():
        size = int(gang[len(topology.GANG)])
        if len(members) != size or len({*members}) != 1 or not members[0][1]:
            found.append((gang, f"in the tables a gang of {size} is {members} (generation, has allocations)"))
    return found


def partial_workloads(rows):
    """Workloads that are not there as a whole, as (workload, text).

    A row is a workload's uuid, its name, which begins with the number of its replicas, their number, and the number of
    their allocations. Each replica has one.
    """
    return [(workload, f"in the tables workload {name} has {replicas} replicas and {allocations} allocations")
            for workload, name, replicas, allocations in rows
            if not int(name.partition("-")[0]) == replicas == allocations]
