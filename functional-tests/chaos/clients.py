"""Clients that claim, replace, move, release and look, each from a seed of its own, and write down what they were told.

A client works on consumers of its own, and now and then on one of somebody else. Of what it does not know
the end it reads what came of it before it goes on.
"""

import http.client
import json
import random
import threading
import time

import world
from history import OK, REFUSED, UNKNOWN

OWN, ASKED_OFTEN = 4, 10  # consumers at a time; operations on one before it is left alone
SECONDS = 20  # for an answer


class Crowd:
    """The clients. They can be held, so that everything comes to rest."""

    def __init__(self, seed, clients, services, history):
        self.services, self.history = services, history
        self.stopped, self.going = threading.Event(), threading.Event()
        self.shared = []  # consumers that somebody else may ask for too
        self.clients = [Client(self, random.Random(f"{seed}/{n}")) for n in range(clients)]
        self.wrong = []  # answers that no client should get
        self.errors = []

    def start(self):
        self.going.set()
        self.threads = [threading.Thread(target=client.run) for client in self.clients]
        for thread in self.threads:
            thread.start()

    def hold(self):
        """Waits until nobody is asking for anything."""
        self.going.clear()
        for client in self.clients:
            if not client.idle.wait(4 * SECONDS):
                raise AssertionError("a client is still waiting for an answer")

    def go_on(self):
        self.going.set()

    def finish(self):
        self.stopped.set()
        self.going.set()
        for thread in self.threads:
            thread.join(4 * SECONDS)
            assert not thread.is_alive(), "a client is still waiting for an answer"


class Client:
    def __init__(self, crowd, chance):
        self.crowd, self.chance, self.history = crowd, chance, crowd.history
        self.own = {}  # consumer -> [what it holds, generation, how often it was asked for]
        self.idle = threading.Event()
        self.connections = {}
        self.crowded = False

    def run(self):
        acts = [self.claim] * 5 + [self.replace] * 4 + [self.move] * 3 + [self.gang] * 2 + [self.release] * 3 + [
            self.wipe, self.rival, self.rival, self.resize, self.look, self.look]
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

    # --- what it does -------------------------------------------------------------------------

    def claim(self):
        if len(self.own) < OWN:
            consumer = world.new_consumer(self.chance)
            self.crowd.shared = [*self.crowd.shared[-20:], consumer]
            self.put("claim", consumer, world.some_room(self.chance), None)

    def replace(self):
        for consumer, (holds, generation, _) in self.some(1):
            if holds or world.phoenix(consumer):
                self.put("replace", consumer, world.some_room(self.chance), generation)

    def move(self):
        """As a live migration does: a new consumer takes over what is held, the old one goes elsewhere."""
        for consumer, (holds, generation, _) in self.some(1):
            if holds:
                other = world.new_consumer(self.chance)
                self.post("move", {other: holds, consumer: world.some_room(self.chance)},
                          {other: None, consumer: generation})

    def gang(self):
        """All or nothing for several new consumers, and perhaps the end of an old one."""
        sets = {world.new_consumer(self.chance): world.some_room(self.chance) for _ in range(2)}
        expects = dict.fromkeys(sets)
        for consumer, (holds, generation, _) in self.some(1):
            if holds and not world.phoenix(consumer):
                sets[consumer], expects[consumer] = {}, generation
        self.post("gang", sets, expects)

    def release(self):
        for consumer, (holds, _, _) in self.some(1):
            if holds:
                self.delete(consumer)

    def wipe(self):
        for consumer, (holds, generation, _) in self.some(1):
            if holds and not world.phoenix(consumer):
                self.put("wipe", consumer, {}, generation, list(holds))

    def rival(self):
        """Meddles with somebody else's consumer, as it is now."""
        if self.crowd.shared:
            consumer = self.chance.choice(self.crowd.shared)
            seen = self.read(consumer)
            if seen and seen[0]:
                if self.chance.random() < 0.5:
                    self.put("rival", consumer, world.some_room(self.chance), seen[1])
                else:
                    self.delete(consumer)

    def resize(self):
        provider = self.chance.choice(world.ELASTIC)
        generation = self.look(provider)
        if generation is not None:
            total = self.chance.choice((world.SMALL, world.LARGE))
            op = self.history.begin("resize", touches=[provider])
            self.ask(op, "PUT", f"/resource_providers/{provider}/inventories", {
                "resource_provider_generation": generation, "inventories": {"VCPU": {"total": total}}})

    def look(self, provider=None):
        provider = provider or self.chance.choice(world.PROVIDERS)
        op = self.history.begin("look")
        answer = self.ask(op, "GET", f"/resource_providers/{provider}", reads=True)
        if answer is not None:
            op.sees = {f"provider:{provider}": answer["generation"]}
            return answer["generation"]
        return None

    # --- how it does it -----------------------------------------------------------------------

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

    def put(self, kind, consumer, holds, generation, wiped=()):
        op = self.history.begin(kind, sets={consumer: holds}, expects={consumer: generation},
                                touches=[*holds, *wiped])
        self.ask(op, "PUT", f"/allocations/{consumer}", world.body(holds, generation))
        self.learn(op)

    def post(self, kind, sets, expects):
        touches = {provider for holds in sets.values() for provider in holds}
        for consumer, holds in sets.items():
            if not holds:
                touches |= set(self.own[consumer][0])
        op = self.history.begin(kind, sets=sets, expects=expects, touches=sorted(touches))
        self.ask(op, "POST", "/allocations", {c: world.body(holds, expects[c]) for c, holds in sets.items()})
        self.learn(op)

    def delete(self, consumer):
        op = self.history.begin("delete", sets={consumer: {}})
        self.ask(op, "DELETE", f"/allocations/{consumer}")
        self.learn(op)

    def learn(self, op):
        for consumer, holds in op.sets.items():
            if op.outcome == OK:
                count = self.own.get(consumer, [None, None, 0])[2]
                generation = (op.expects.get(consumer) or 0) + 1 if holds else None
                self.own[consumer] = [holds, generation, count]
            elif consumer in self.own or op.outcome == UNKNOWN:
                # A refusal may say that somebody else was there.
                self.own.setdefault(consumer, [{}, None, 0])[1] = UNKNOWN

    def read(self, consumer):
        """What it holds and its generation, or None if nobody answers."""
        op = self.history.begin("read")
        answer = self.ask(op, "GET", f"/allocations/{consumer}", reads=True)
        if answer is None:
            return None
        holds = {provider: found["resources"] for provider, found in answer["allocations"].items()}
        op.sees = {f"consumer:{consumer}": (holds, answer.get("consumer_generation"))}
        return [holds, answer.get("consumer_generation")]

    def ask(self, op, method, path, sent=None, reads=False):
        """Sends it to one of the processes and writes down what came of it; a read's answer, if there is one."""
        service = self.chance.choice(self.crowd.services)
        try:
            status, raw = self.send(service, method, path, sent)
        except (OSError, http.client.HTTPException) as error:
            self.connections.pop(service, None)
            if reads:
                op.kind, op.outcome = f"{op.kind}, unanswered", REFUSED
            op.answer = repr(error)[:200]
            time.sleep(self.chance.uniform(0, 0.1))
            return None
        op.end(service.outcome(status), f"{service.port} {status} {raw}" if status >= 300 else str(service.port))
        self.crowded = self.crowded or "capacity" in raw
        if status >= 500 and reads or op.outcome == UNKNOWN and reads:
            op.outcome = REFUSED
        if status not in service.expected:
            self.crowd.wrong.append(f"{method} {path} {sent}: {status} {raw[:300]}")
        return json.loads(raw) if reads and status == 200 else None

    def send(self, service, method, path, sent):
        connection = self.connections.get(service)
        if connection is None:
            connection = http.client.HTTPConnection("127.0.0.1", service.port, timeout=SECONDS)
            self.connections[service] = connection
        try:
            connection.request(method, path, sent and json.dumps(sent), {
                "x-auth-token": "admin", "openstack-api-version": "placement 1.39", "content-type": "application/json"})
            response = connection.getresponse()
            return response.status, response.read().decode("utf-8", "replace")
        except BaseException:
            connection.close()
            raise
