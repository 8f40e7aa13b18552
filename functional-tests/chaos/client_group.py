"""All clients of a run: they start together, and pause for quiescent checks."""

import random
import threading
from collections import deque

from functional_tests.chaos import topology
from functional_tests.chaos.bystanders import CLIENTS, Bystander
from functional_tests.chaos.callers import Caller
from functional_tests.chaos.clients import Client
from functional_tests.chaos.owners import Owner
from functional_tests.chaos.request_recorder import ANSWER_TIMEOUT_SECONDS

CONTENDED_CONSUMERS, OPERATIONS_PER_CONTENDED_CONSUMER = 3, 30
CLIENTS_PER_CALLER = 4
REPEATED_CALLS = 40  # the last calls with an id that were answered: any caller may repeat one


class ClientGroup:
    """All clients. They can be paused for a quiescent check."""

    def __init__(self, options, services, history, foreign_providers=()):
        self.services, self.history, self.mostly = services, history, options.mostly
        self.foreign_providers = set(foreign_providers)  # the providers that a foreign writer also claims
        self.stopped, self.going = threading.Event(), threading.Event()
        self.shared = []  # consumers that other clients may also change
        self.contended = {}  # consumer -> number of requests
        self.clients = [Client(self, n, random.Random(f"{options.seed}/{n}")) for n in range(options.clients)]
        self.answered = deque(maxlen=REPEATED_CALLS)
        self.callers = options.clients // CLIENTS_PER_CALLER if options.server == "placet" else 0
        self.clients += [Caller(self, n, random.Random(f"{options.seed}/{n}/caller")) for n in range(self.callers)]
        self.owners = [Owner(self, n, random.Random(f"{options.seed}/{n}/owner")) for n in range(self.callers)]
        self.clients += self.owners
        self.clients += [Bystander(self, n, f"{options.seed}/{n}/bystander {m}")
                         for n in range(len(services)) for m in range(CLIENTS)]
        self.wrong = []  # unexpected answers
        self.errors = []

    def is_checked(self, provider):
        """Whether a snapshot's values for a provider are checked: a foreign writer's claims arrive late in it."""
        return provider in topology.TOTALS and provider not in self.foreign_providers

    def start(self):
        self.going.set()
        self.threads = [threading.Thread(target=client.run) for client in self.clients]
        for thread in self.threads:
            thread.start()

    def pause(self):
        """Pauses all clients, and waits until no request is in flight."""
        self.going.clear()
        for client in self.clients:
            if not client.idle.wait(3 * ANSWER_TIMEOUT_SECONDS):
                raise AssertionError("a client is still waiting for an answer")

    def resume(self):
        self.going.set()

    def finish(self):
        self.stopped.set()
        self.going.set()
        for thread in self.threads:
            thread.join(3 * ANSWER_TIMEOUT_SECONDS)
            assert not thread.is_alive(), "a client is still waiting for an answer"

    def contended_consumer(self, chance):
        """A consumer that all clients change. After a number of operations another one replaces it."""
        contended = [consumer for consumer, asked in list(self.contended.items())
                     if asked < OPERATIONS_PER_CONTENDED_CONSUMER]
        if len(contended) < CONTENDED_CONSUMERS:
            contended = [*contended, topology.new_consumer(chance)]
            self.contended = {consumer: self.contended.get(consumer, 0) for consumer in contended}
        consumer = chance.choice(contended)
        self.contended[consumer] = self.contended.get(consumer, 0) + 1
        return consumer
