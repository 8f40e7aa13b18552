"""Clients that claim, replace, move, release and read, each with a seed of its own, and record every answer.

A client works on its own consumers, on consumers of other clients, and on contended consumers that all clients change.
On its private host a client is alone, so a read through a second process after a write has one correct answer. After an
unknown outcome the client reads the consumer before the next write.
"""

import threading

from functional_tests.chaos import topology
from functional_tests.chaos.history import OK, UNKNOWN
from functional_tests.chaos.request_recorder import RequestRecorder

OWN_CONSUMERS, OPERATIONS_PER_CONSUMER = 4, 10  # consumers at a time; operations on one before it is dropped
NEARLY_FULL_CLAIMS = 2
MOSTLY = ("refill", "contend", "read_own_write", "resize")  # operations that --mostly accepts


class Client(RequestRecorder):
    def __init__(self, group, number, chance):
        super().__init__(group, chance)
        self.number = number
        self.own = {}  # consumer -> [what it holds, generation, number of operations]
        self.nearly_full = []  # consumers with allocations on a nearly full host
        self.private = [topology.new_consumer(chance), None]
        self.idle = threading.Event()

    def acts(self):
        """Its operations, each as often as it is likely."""
        acts = [
            *[self.claim] * 5, *[self.replace] * 4, *[self.move] * 3, *[self.claim_several] * 2, *[self.release] * 3,
            self.clear, self.resize, *[self.interfere] * 2, *[self.read_provider] * 2, *[self.search] * 2,
            *[self.refill] * 5, *[self.contend] * 4, *[self.read_own_write] * 3]
        if self.group.mostly:  # half of all operations
            acts += [getattr(self, self.group.mostly)] * len(acts)
        return acts

    def run(self):
        acts = self.acts()
        try:
            while not self.group.stopped.is_set():
                if not self.group.going.is_set():
                    self.idle.set()
                    self.group.going.wait()
                    self.idle.clear()
                    continue
                self.chance.choice(acts)()
                # After a refusal for lack of capacity it releases some: else most of a run would be refusals.
                if self.lacks_capacity:
                    self.lacks_capacity = False
                    self.make_room()
        except Exception as error:  # the run reports it
            self.group.errors.append(error)
        finally:
            self.idle.set()

    def make_room(self):
        self.release()

    def claim(self):
        if len(self.own) < OWN_CONSUMERS:
            consumer = topology.new_consumer(self.chance)
            self.group.shared = [*self.group.shared[-20:], consumer]
            self.learn(self.put("claim", consumer, topology.random_claim(self.chance), None))

    def replace(self):
        for consumer, (holds, generation, _) in self.sample_own(1):
            if holds or topology.may_claim_again(consumer):
                self.learn(self.put("replace", consumer, topology.random_claim(self.chance), generation))

    def move(self):
        """Like a live migration: a new consumer takes over the allocations, and the old one gets others."""
        for consumer, (holds, generation, _) in self.sample_own(1):
            if holds:
                other = topology.new_consumer(self.chance)
                self.several("move", {other: holds, consumer: topology.random_claim(self.chance)},
                             {other: None, consumer: generation})

    def claim_several(self):
        """Claims for two new consumers in one request, which may also wipe an old one."""
        sets = {topology.new_consumer(self.chance): topology.random_claim(self.chance) for _ in range(2)}
        expects = dict.fromkeys(sets)
        for consumer, (holds, generation, _) in self.sample_own(1):
            if holds and not topology.may_claim_again(consumer):
                sets[consumer], expects[consumer] = {}, generation
        self.several("claim several", sets, expects)

    def several(self, kind, sets, expects):
        touches = {provider for holds in sets.values() for provider in holds}
        for consumer, holds in sets.items():
            if not holds:
                touches |= set(self.own[consumer][0])
        self.learn(self.post(kind, sets, expects, touches))

    def release(self):
        for consumer, (holds, _, _) in self.sample_own(1):
            if holds:
                self.learn(self.delete(consumer))

    def clear(self):
        for consumer, (holds, generation, _) in self.sample_own(1):
            if holds and not topology.may_claim_again(consumer):
                self.learn(self.put("clear", consumer, {}, generation, list(holds)))

    def interfere(self):
        """Replaces or releases another client's consumer, after reading its generation."""
        if self.group.shared:
            consumer = self.chance.choice(self.group.shared)
            seen = self.read(consumer)
            if seen and seen[0]:
                if self.chance.random() < 0.5:
                    self.learn(self.put("interfere", consumer, topology.random_claim(self.chance), seen[1]))
                else:
                    self.learn(self.delete(consumer))

    def contend(self):
        """Replaces or releases a contended consumer."""
        consumer = self.group.contended_consumer(self.chance)
        if self.chance.random() < 0.4:
            self.delete(consumer)
        elif seen := self.read(consumer):
            self.put("contend", consumer, topology.random_claim(self.chance), seen[1])

    def refill(self):
        """Releases some of a nearly full host and claims some at once, as all clients do."""
        if len(self.nearly_full) >= NEARLY_FULL_CLAIMS:
            self.delete(self.nearly_full.pop(0))
        consumer = topology.new_consumer(self.chance)
        asked = {self.chance.choice(topology.NEARLY_FULL): {"VCPU": self.chance.randint(1, 2)}}
        op = self.put("refill", consumer, asked, None)
        self.lacks_capacity = False
        if op.outcome != OK and self.nearly_full:
            self.delete(self.nearly_full.pop(0))
        if op.outcome in (OK, UNKNOWN):
            self.nearly_full.append(consumer)

    def read_own_write(self):
        """Writes on its private host through one process, and reads another process's snapshot of it."""
        host = topology.PRIVATE_HOSTS[self.number % len(topology.PRIVATE_HOSTS)]
        (consumer, generation), service = self.private, self.service()
        op = self.put("own write", consumer, {host: {"VCPU": self.chance.randint(1, 3)}}, generation, service=service)
        if op.outcome != OK:
            self.delete(consumer)
            self.private = [topology.new_consumer(self.chance), None]
            return
        self.private[1] = (generation or 0) + 1
        read = self.chance.choice((self.candidates, self.list))
        read(f"resources=VCPU:1&in_tree={host}", service=self.service(other_than=service))

    def resize(self):
        provider = self.chance.choice(topology.ELASTIC)
        generation = self.read_generation(provider)
        if generation is not None:
            total = self.chance.choice((topology.SMALL_ELASTIC_TOTAL, topology.LARGE_ELASTIC_TOTAL))
            self.resize_to(provider, total, generation)

    def read_provider(self):
        provider = self.chance.choice(topology.PROVIDERS)
        self.chance.choice((self.read_generation, self.read_usages))(provider)

    def search(self):
        """Searches for free capacity, which is answered from the snapshot."""
        what = self.chance.choice(("resources=VCPU:1", "resources=DISK_GB:1"))
        self.chance.choice((self.candidates, self.list))(what)

    def sample_own(self, count):
        """Up to `count` of its consumers, after reading those with an unknown outcome."""
        for consumer, state in list(self.own.items()):
            state[2] += 1
            if state[2] > OPERATIONS_PER_CONSUMER:
                self.drop(consumer)
            elif state[1] == UNKNOWN:
                seen = self.read(consumer)
                if seen:
                    state[:2] = seen
        known = [item for item in self.own.items() if item[1][1] != UNKNOWN]
        return self.chance.sample(known, min(count, len(known)))

    def drop(self, consumer):
        """Leaves the consumer as it is, and to other clients."""
        del self.own[consumer]

    def learn(self, op):
        for consumer, holds in op.sets.items():
            if op.outcome == OK:
                count = self.own.get(consumer, [None, None, 0])[2]
                generation = (op.expects.get(consumer) or 0) + 1 if holds else None
                self.own[consumer] = [holds, generation, count]
            elif consumer in self.own or op.outcome == UNKNOWN:
                # A refusal may mean that another client has changed the consumer.
                self.own.setdefault(consumer, [{}, None, 0])[1] = UNKNOWN
