"""Clients that send calls (`POST /v1/claims`): for one consumer and for gangs, by candidates and by query, with and
without an id, dry runs, and repeated calls after a grant.

A gang is changed by its caller alone, and always as a whole. So the consumers of a gang are all present at the same
generation, or all absent, at every moment (watcher.py). Single consumers are also changed by further clients.
"""

import dataclasses

from functional_tests.chaos import topology
from functional_tests.chaos.call_recorder import Call, CallRecorder, new_id
from functional_tests.chaos.clients import OWN_CONSUMERS, Client
from functional_tests.chaos.history import CONFLICT, OK, UNKNOWN

GANGS = 2  # that a caller holds at a time
GANG_SIZES, CANDIDATES = (2, 3), (2, 5)  # the least and the most
READS_OF_A_LOST_GANG = 3  # a gang with an unknown outcome that is not there is then forgotten
WITH_ID, BY_QUERY = 0.6, 0.3  # parts of all calls
RANKS = (None, "fullest", "emptiest", "tightest", "random")


class Caller(CallRecorder, Client):
    def __init__(self, group, number, chance):
        super().__init__(group, number, chance)
        self.gangs = []  # of each: its consumers, the generation or UNKNOWN, and the number of reads

    def acts(self):
        return [*[self.place] * 6, *[self.place_again] * 2, *[self.place_gang] * 6, *[self.replace_gang] * 2,
                *[self.release_gang] * 3, *[self.release] * 2, *[self.foresee] * 2, *[self.ask_again] * 4, self.use_id_again]

    def make_room(self):
        self.release()
        self.release_gang()

    # --- what it asks for -------------------------------------------------------------------------

    def new_call(self, expects):
        """A call for these consumers, each with its expected generation."""
        places, queries = {}, {}
        for consumer in expects:
            if self.chance.random() < BY_QUERY:
                vcpus, rank = self.chance.randint(1, 4), self.chance.choice(RANKS)
                query = f"resources=VCPU:{vcpus}&required={topology.TRAIT}"
                queries[consumer] = {"query": query} | ({"rank": rank} if rank else {})
                places[consumer] = [{host: {"VCPU": vcpus}} for host in topology.QUERIED]
            else:
                places[consumer] = [topology.random_claim(self.chance) for _ in range(self.chance.randint(*CANDIDATES))]
        return Call(expects, places, queries, new_id(self.chance) if self.chance.random() < WITH_ID else None)

    def new_gang_call(self):
        return self.new_call(dict.fromkeys(topology.new_gang(self.chance, self.chance.randint(*GANG_SIZES))))

    def send_new(self, kind, call):
        op = self.call(kind, call)
        if op.outcome == OK and call.id:
            self.group.answered.append(call)
        return op

    # --- single consumers -------------------------------------------------------------------------

    def place(self):
        if len(self.own) < OWN_CONSUMERS:
            consumer = topology.new_consumer(self.chance)
            self.learn(self.send_new("place", self.new_call({consumer: None})))
            # Not before: no other request names the consumer during the call (call_rules.py).
            self.group.shared = [*self.group.shared[-20:], consumer]

    def place_again(self):
        for consumer, (holds, generation, _) in self.sample_own(1):
            if holds or topology.may_claim_again(consumer):
                self.learn(self.send_new("place again", self.new_call({consumer: generation})))

    def drop(self, consumer):
        """Releases the consumer, so that the hosts do not fill up."""
        super().drop(consumer)
        self.delete(consumer)

    def foresee(self):
        """A dry run, for new consumers or for one that exists."""
        existing = {consumer: generation for consumer, (_, generation, _) in self.sample_own(1)}
        call = self.new_call(existing) if existing and self.chance.random() < 0.5 else self.new_gang_call()
        self.dry_run(call)

    def ask_again(self):
        if self.group.answered:
            self.repeat(self.chance.choice(self.group.answered))

    def use_id_again(self):
        if self.group.answered:
            known = self.chance.choice(self.group.answered)
            self.reuse(dataclasses.replace(self.new_call({topology.new_consumer(self.chance): None}), id=known.id))

    # --- gangs ------------------------------------------------------------------------------------

    def place_gang(self):
        if len(self.gangs) >= GANGS:
            self.release_gang()
            return
        call = self.new_gang_call()
        op = self.send_new("place gang", call)
        if op.outcome in (OK, UNKNOWN):
            self.gangs.append([[*call.expects], 1 if op.outcome == OK else UNKNOWN, 0])

    def replace_gang(self):
        """Places all consumers of a gang again, which is all or nothing too."""
        gang = self.some_gang()
        if gang:
            consumers, generation = gang[:2]
            op = self.send_new("replace gang", self.new_call(dict.fromkeys(consumers, generation)))
            if op.outcome == OK:
                gang[1] += 1
            elif op.outcome == UNKNOWN or op.refusal == CONFLICT:
                gang[1] = UNKNOWN

    def release_gang(self):
        """Releases all consumers of a gang by one request."""
        gang = self.some_gang()
        seen = [self.read(consumer) for consumer in gang[0]] if gang else [None]
        if None in seen:
            return
        consumers, generation, _ = gang
        touches = {provider for holds, _ in seen for provider in holds}
        op = self.post("release gang", dict.fromkeys(consumers, {}), dict.fromkeys(consumers, generation), touches)
        if op.outcome == OK:
            self.gangs.remove(gang)
        else:
            gang[1] = UNKNOWN

    def some_gang(self):
        """A gang whose generation is known, perhaps by a read."""
        if not self.gangs:
            return None
        gang = self.chance.choice(self.gangs)
        if gang[1] != UNKNOWN:
            return gang
        seen = self.read(gang[0][0])
        if seen and seen[0]:
            gang[1:] = [seen[1], 0]
            return gang
        gang[2] += bool(seen)
        if gang[2] >= READS_OF_A_LOST_GANG:
            self.gangs.remove(gang)
        return None
