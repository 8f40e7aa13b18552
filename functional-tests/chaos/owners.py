"""Clients that own workloads (`/v1/workloads`): a client creates, changes and deletes its workloads as a whole.

A replica is a consumer. So a change is recorded as one request on several consumers: new replicas get one of several
places, named in the answer, and removed replicas lose their places. No further client changes the replicas. A
workload's name begins with the number of its replicas, so the tables always show whether the workload is complete
(watcher.py). Every second owner has at most one replica a domain, with as many domains as replicas.
"""

import http.client
import json
import time
import uuid

from functional_tests.chaos import topology
from functional_tests.chaos.clients import Client
from functional_tests.chaos.history import CONFLICT, OK, REFUSED, UNKNOWN

WORKLOADS, MOST_REPLICAS = 3, 3  # that an owner has at a time; replicas of one


ONE_EACH = [{"rule": "spread", "dimensions": [topology.DIMENSION], "mode": "one-each"}]


def is_shrunk_host(violation):
    """Whether a violation says that an elastic host, which has its small total now, is used above this total."""
    return (violation["code"] == "placet.no_room" and violation["resource_provider"] in topology.ELASTIC
            and violation["free"] == topology.SMALL_ELASTIC_TOTAL < violation["requested"])


class Workload:
    def __init__(self, chance, rules):
        self.rules = rules
        self.uuid, self.amount = topology.new_consumer(chance), chance.randint(1, 3)
        self.generation, self.ids, self.next_id = None, [], 0
        self.was_unknown = False  # whether an outcome was ever unknown: then it may change late
        self.named = set()  # every consumer of the last request

    def consumer(self, replica):
        return str(uuid.uuid5(uuid.UUID(self.uuid), replica))

    def new_ids(self, count):
        self.next_id += count
        return [str(number) for number in range(self.next_id - count, self.next_id)]

    def body(self, ids):
        query = f"resources=VCPU:{self.amount}&required={topology.TRAIT}"
        return {"generation": self.generation, "name": f"{len(ids)}-{self.uuid}", "project_id": "chaos", "user_id": "chaos",
                "rules": self.rules, "ids": ids, "roles": [{"name": "member", "count": len(ids), "query": query}]}


class Owner(Client):
    def __init__(self, group, number, chance):
        super().__init__(group, number, chance)
        self.workloads = []
        self.rules = ONE_EACH if number % 2 else []

    def acts(self):
        return [*[self.create] * 3, *[self.change] * 4, *[self.remove] * 2]

    def make_room(self):
        self.remove()

    def create(self):
        if len(self.workloads) < WORKLOADS:
            workload = Workload(self.chance, self.rules)
            op = self.put_workload("new workload", workload, workload.new_ids(self.chance.randint(1, MOST_REPLICAS)))
            if op.outcome in (OK, UNKNOWN):
                self.workloads.append(workload)

    def change(self):
        """Some replicas leave, and others come."""
        if workload := self.some_workload():
            stay = [it for it in workload.ids if self.chance.random() < 0.6]
            self.put_workload("change workload", workload, stay + workload.new_ids(MOST_REPLICAS - len(stay)))

    def remove(self):
        if workload := self.some_workload():
            consumers = [workload.consumer(it) for it in workload.ids]
            op = self.history.begin("delete workload", sets={it: {} for it in consumers}, expects=dict.fromkeys(consumers, 1))
            self.send_workload(op, workload, "DELETE", f"?generation={workload.generation}")
            if op.outcome == OK:
                self.workloads.remove(workload)

    def some_workload(self):
        """A workload whose generation is known, perhaps by a read."""
        if not self.workloads:
            return None
        workload = self.chance.choice(self.workloads)
        return workload if workload.generation != UNKNOWN or self.look(workload) else None

    def look(self, workload):
        """Reads the workload, and all consumers of its last request. One that is not there is forgotten."""
        seen = [self.read(consumer) for consumer in sorted(workload.named)]
        op = self.history.begin("read workload")
        answer = self.ask(op, "GET", f"/v1/workloads/{workload.uuid}", reads=True)
        if answer is None or None in seen:
            return False
        if "generation" not in answer:
            self.workloads.remove(workload)
            return False
        workload.generation, workload.ids = answer["generation"], [it["id"] for it in answer["replicas"]]
        return True

    def put_workload(self, kind, workload, ids):
        new = [workload.consumer(it) for it in ids if it not in workload.ids]
        gone = [workload.consumer(it) for it in workload.ids if it not in ids]
        places = [{host: {"VCPU": workload.amount}} for host in topology.QUERIED]
        op = self.history.begin(
            kind, sets=dict.fromkeys(new, places[0]) | {it: {} for it in gone}, choices=dict.fromkeys(new, places),
            expects=dict.fromkeys(new) | dict.fromkeys(gone, 1), touches=[*topology.QUERIED] if new else [])
        raw = self.send_workload(op, workload, "PUT", body=workload.body(ids))
        if op.outcome == OK:
            self.placed(op, workload, ids, set(new), json.loads(raw))
        return op

    def placed(self, op, workload, ids, new, answer):
        """Records where the new replicas are."""
        allocations = {it["consumer"]: it["allocations"] for it in answer["replicas"]}
        sets = {it: {host: share["resources"] for host, share in allocations.get(it, {}).items()} for it in new}
        op.sets, op.choices = sets | {it: {} for it in op.sets if it not in new}, {}
        op.touches = [host for holds in sets.values() for host in holds]
        hosts = {it["host"] for it in answer["replicas"]}
        racks = {topology.RACKS.get(host) for host in hosts}
        generation = (workload.generation or 0) + (workload.ids != ids)  # the same again changes nothing
        violations = [it for it in answer["violations"] if not is_shrunk_host(it)]
        if (answer["pending"] or violations or len(hosts) != len(ids) or not hosts <= {*topology.QUERIED}
                or workload.rules and len(racks) != len(ids)
                or {it["id"] for it in answer["replicas"]} != {*ids} or answer["generation"] != generation):
            self.group.wrong.append(f"PUT of a workload with the replicas {ids}: {answer}")
        workload.generation, workload.ids = answer["generation"], ids

    def send_workload(self, op, workload, method, query="", body=None):
        """Sends a write, and records its outcome; returns the body of the answer, if there is one."""
        service, workload.named = self.service(), {*op.sets}
        try:
            status, raw = self.send(service, method, f"/v1/workloads/{workload.uuid}{query}", body)
        except (OSError, http.client.HTTPException) as error:
            self.connections.pop(service, None)
            op.outcome, op.answer = REFUSED if isinstance(error, ConnectionRefusedError) else UNKNOWN, repr(error)[:200]
            time.sleep(self.chance.uniform(0, 0.1))
            raw = None
        else:
            op.end(service.outcome(status, raw), f"{service.port} {status} {raw}")
            if status not in (200, 204, 409, 503):
                self.group.wrong.append(f"{method} of workload {workload.uuid}: {status} {raw[:300]}")
            code = json.loads(raw)["errors"][0].get("code") if status == 409 else None
            op.refusal = CONFLICT if code == "placement.concurrent_update" else ""
            self.lacks_capacity = code in ("placet.no_place", "placet.no_capacity")
        if op.outcome == UNKNOWN or op.refusal == CONFLICT:
            workload.was_unknown = workload.was_unknown or op.outcome == UNKNOWN
            workload.generation = UNKNOWN
        return raw
