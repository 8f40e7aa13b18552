"""Clients that claim, replace, move, release and look, each from a seed of its own, and write down what they were told.

A client works on consumers of its own, on one of somebody else, on those that all quarrel over, and at its desk,
where what it reads elsewhere after a write can be but one thing. Of what it does not know the end it reads what
came of it before it goes on.
"""

import random
import threading

import world
from asking import SECONDS, Asking
from history import OK, UNKNOWN

OWN, ASKED_OFTEN = 4, 10  # consumers at a time; operations on one before it is left alone
QUARRELS, QUARRELLED_OFTEN = 3, 30
HELD_TIGHT = 2
HABITS = ("squeeze", "quarrel", "sit", "resize")  # which of a client's acts can be half of all


class Crowd:
    """The clients. They can be held, so that everything comes to rest."""

    def __init__(self, options, services, history, strangers=()):
        self.services, self.history, self.habit = services, history, options.habit
        self.strangers = set(strangers)  # the providers that another program claims too
        self.stopped, self.going = threading.Event(), threading.Event()
        self.shared = []  # consumers that somebody else may ask for too
        self.quarrels = {}  # consumer -> how often it was asked for
        self.clients = [Client(self, n, random.Random(f"{options.seed}/{n}")) for n in range(options.clients)]
        self.wrong = []  # answers that no client should get
        self.errors = []

    def shows(self, provider):
        """Whether what memory says of a provider is to be judged: what another program does is learnt late."""
        return provider in world.ROOMS and provider not in self.strangers

    def start(self):
        self.going.set()
        self.threads = [threading.Thread(target=client.run) for client in self.clients]
        for thread in self.threads:
            thread.start()

    def hold(self):
        """Waits until nobody is asking for anything."""
        self.going.clear()
        for client in self.clients:
            if not client.idle.wait(3 * SECONDS):
                raise AssertionError("a client is still waiting for an answer")

    def go_on(self):
        self.going.set()

    def finish(self):
        self.stopped.set()
        self.going.set()
        for thread in self.threads:
            thread.join(3 * SECONDS)
            assert not thread.is_alive(), "a client is still waiting for an answer"

    def quarrel(self, chance):
        """A consumer that everybody asks for, and not too often: then another takes its place."""
        quarrels = [consumer for consumer, asked in list(self.quarrels.items()) if asked < QUARRELLED_OFTEN]
        if len(quarrels) < QUARRELS:
            quarrels = [*quarrels, world.new_consumer(chance)]
            self.quarrels = {consumer: self.quarrels.get(consumer, 0) for consumer in quarrels}
        consumer = chance.choice(quarrels)
        self.quarrels[consumer] = self.quarrels.get(consumer, 0) + 1
        return consumer


class Client(Asking):
    def __init__(self, crowd, number, chance):
        super().__init__(crowd, chance)
        self.number = number
        self.own = {}  # consumer -> [what it holds, generation, how often it was asked for]
        self.tight = []  # consumers that hold something of a tight host
        self.desk = [world.new_consumer(chance), None]
        self.idle = threading.Event()

    def run(self):
        acts = [self.claim] * 5 + [self.replace] * 4 + [self.move] * 3 + [self.gang] * 2 + [self.release] * 3 + [
            self.wipe, self.resize] + [self.rival] * 2 + [self.look] * 2 + [self.survey] * 2 + [
            self.squeeze] * 5 + [self.quarrel] * 4 + [self.sit] * 3
        if self.crowd.habit:  # half of all that it does
            acts += [getattr(self, self.crowd.habit)] * len(acts)
        try:
            while not self.crowd.stopped.is_set():
                if not self.crowd.going.is_set():
                    self.idle.set()
                    self.crowd.going.wait()
                    self.idle.clear()
                    continue
                self.chance.choice(acts)()
                # Where there is no room, somebody makes some: else most of a run would be refusals.
                if self.crowded:
                    self.crowded = False
                    self.release()
        except Exception as error:  # the run reports it
            self.crowd.errors.append(error)
        finally:
            self.idle.set()

    def claim(self):
        if len(self.own) < OWN:
            consumer = world.new_consumer(self.chance)
            self.crowd.shared = [*self.crowd.shared[-20:], consumer]
            self.learn(self.put("claim", consumer, world.some_room(self.chance), None))

    def replace(self):
        for consumer, (holds, generation, _) in self.some(1):
            if holds or world.phoenix(consumer):
                self.learn(self.put("replace", consumer, world.some_room(self.chance), generation))

    def move(self):
        """As a live migration does: a new consumer takes over what is held, the old one goes elsewhere."""
        for consumer, (holds, generation, _) in self.some(1):
            if holds:
                other = world.new_consumer(self.chance)
                self.several("move", {other: holds, consumer: world.some_room(self.chance)},
                             {other: None, consumer: generation})

    def gang(self):
        """All or nothing for several new consumers, and perhaps the end of an old one."""
        sets = {world.new_consumer(self.chance): world.some_room(self.chance) for _ in range(2)}
        expects = dict.fromkeys(sets)
        for consumer, (holds, generation, _) in self.some(1):
            if holds and not world.phoenix(consumer):
                sets[consumer], expects[consumer] = {}, generation
        self.several("gang", sets, expects)

    def several(self, kind, sets, expects):
        touches = {provider for holds in sets.values() for provider in holds}
        for consumer, holds in sets.items():
            if not holds:
                touches |= set(self.own[consumer][0])
        self.learn(self.post(kind, sets, expects, touches))

    def release(self):
        for consumer, (holds, _, _) in self.some(1):
            if holds:
                self.learn(self.delete(consumer))

    def wipe(self):
        for consumer, (holds, generation, _) in self.some(1):
            if holds and not world.phoenix(consumer):
                self.learn(self.put("wipe", consumer, {}, generation, list(holds)))

    def rival(self):
        """Meddles with somebody else's consumer, as it is now."""
        if self.crowd.shared:
            consumer = self.chance.choice(self.crowd.shared)
            seen = self.read(consumer)
            if seen and seen[0]:
                if self.chance.random() < 0.5:
                    self.learn(self.put("rival", consumer, world.some_room(self.chance), seen[1]))
                else:
                    self.learn(self.delete(consumer))

    def quarrel(self):
        """Replaces or releases what all the others do, too."""
        consumer = self.crowd.quarrel(self.chance)
        if self.chance.random() < 0.4:
            self.delete(consumer)
        elif seen := self.read(consumer):
            self.put("quarrel", consumer, world.some_room(self.chance), seen[1])

    def squeeze(self):
        """Gives back some of a host that is almost full, and wants some again at once, as all the others do."""
        if len(self.tight) >= HELD_TIGHT:
            self.delete(self.tight.pop(0))
        consumer = world.new_consumer(self.chance)
        asked = {self.chance.choice(world.TIGHT): {"VCPU": self.chance.randint(1, 2)}}
        op = self.put("squeeze", consumer, asked, None)
        self.crowded = False
        if op.outcome != OK and self.tight:
            self.delete(self.tight.pop(0))
        if op.outcome in (OK, UNKNOWN):
            self.tight.append(consumer)

    def sit(self):
        """Writes at its desk through one process, and reads through another what memory has of it."""
        desk = world.DESKS[self.number % len(world.DESKS)]
        (consumer, generation), service = self.desk, self.service()
        op = self.put("sit", consumer, {desk: {"VCPU": self.chance.randint(1, 3)}}, generation, service=service)
        if op.outcome != OK:
            self.delete(consumer)
            self.desk = [world.new_consumer(self.chance), None]
            return
        self.desk[1] = (generation or 0) + 1
        look = self.chance.choice((self.candidates, self.list))
        look(f"resources=VCPU:1&in_tree={desk}", service=self.service(other_than=service))

    def resize(self):
        provider = self.chance.choice(world.ELASTIC)
        generation = self.look_at(provider)
        if generation is not None:
            self.resize_to(provider, self.chance.choice((world.SMALL, world.LARGE)), generation)

    def look(self):
        provider = self.chance.choice(world.PROVIDERS)
        self.chance.choice((self.look_at, self.usages_of))(provider)

    def survey(self):
        """What there is to be had, which is answered from memory."""
        what = self.chance.choice(("resources=VCPU:1", "resources=DISK_GB:1"))
        self.chance.choice((self.candidates, self.list))(what)

    def some(self, count):
        """So many of its consumers, after what became of the unknown ones was read."""
        for consumer, state in list(self.own.items()):
            state[2] += 1
            if state[2] > ASKED_OFTEN:
                del self.own[consumer]
            elif state[1] == UNKNOWN:
                seen = self.read(consumer)
                if seen:
                    state[:2] = seen
        known = [item for item in self.own.items() if item[1][1] != UNKNOWN]
        return self.chance.sample(known, min(count, len(known)))

    def learn(self, op):
        for consumer, holds in op.sets.items():
            if op.outcome == OK:
                count = self.own.get(consumer, [None, None, 0])[2]
                generation = (op.expects.get(consumer) or 0) + 1 if holds else None
                self.own[consumer] = [holds, generation, count]
            elif consumer in self.own or op.outcome == UNKNOWN:
                # A refusal may say that somebody else was there.
                self.own.setdefault(consumer, [{}, None, 0])[1] = UNKNOWN
