"""Bystanders: clients that claim and release on a host of their own, at a steady rate, for the check of liveness."""

import random
import threading

from functional_tests.chaos import topology
from functional_tests.chaos.history import OK
from functional_tests.chaos.request_recorder import RequestRecorder

CLIENTS, INTERVAL_SECONDS = 4, 0.4  # for each process: ten claims a second


class Bystander(RequestRecorder):
    """A client of one process. All bystanders of a process share a host, which no other client uses."""

    def __init__(self, group, number, seed):
        super().__init__(group, random.Random(seed))
        self.number, self.member, self.idle = number, group.services[number], threading.Event()
        self.host = topology.BYSTANDER_HOSTS[number % len(topology.BYSTANDER_HOSTS)]

    def run(self):
        while not self.group.stopped.wait(INTERVAL_SECONDS * self.chance.uniform(0.8, 1.2)):
            if not self.group.going.is_set():
                self.idle.set()
                self.group.going.wait()
                self.idle.clear()
                continue
            self.claim_and_release()
        self.idle.set()

    def claim_and_release(self):
        consumer, holds = topology.new_consumer(self.chance), {self.host: {"VCPU": 1}}
        claim = self.history.begin("bystander's claim", sets={consumer: holds}, expects={consumer: None},
                                   touches=[*holds], bystander=self.number)
        self.ask(claim, "PUT", f"/allocations/{consumer}", topology.body(holds, None), service=self.member)
        if claim.outcome == OK:
            release = self.history.begin("delete", sets={consumer: {}}, bystander=self.number)
            self.ask(release, "DELETE", f"/allocations/{consumer}", service=self.member)
