"""The races of `POST /v1/claims`: 64 schedulers send calls for the same places at once, and exactly K are granted.

All calls of a round ask for the same: the same list of candidates in the same order, or the same query, or both in
turn. The calls of the races of parts are not atomic: each of their consumers is granted by itself. In two of three
rounds a foreign writer claims by SQL at the same time. In every second round all candidates take from one pool. In
every third round the calls have ids, and are sent again afterwards. The races of twins send each call twice at once,
with one id, through two processes. `choice_rules.py` judges the answers and the tables.
"""

import concurrent.futures
import random
import threading
import uuid
from typing import NamedTuple

from functional_tests.lib.ledger import Ledger
from functional_tests.lib.patience import HANG_SECONDS
from functional_tests.lib.rest import Rest
from functional_tests.lib.sql_claims import SqlClaims
from functional_tests.metrics import scrape
from functional_tests.race import choice_rules

SCHEDULERS = 64


class Race(NamedTuple):
    is_gang: bool = False
    by_query: bool = False
    is_sent_twice: bool = False
    is_mixed: bool = False  # every second consumer of a gang has a query, the others have candidates
    is_atomic: bool = True


RACES = {"candidates": Race(), "gangs": Race(is_gang=True), "queries": Race(by_query=True),
         "query-gangs": Race(is_gang=True, by_query=True), "mixed-gangs": Race(is_gang=True, is_mixed=True),
         "parts": Race(is_gang=True, is_atomic=False), "query-parts": Race(is_gang=True, by_query=True, is_atomic=False),
         "mixed-parts": Race(is_gang=True, is_mixed=True, is_atomic=False), "twins": Race(is_sent_twice=True),
         "gang-twins": Race(is_gang=True, is_sent_twice=True), "query-twins": Race(by_query=True, is_sent_twice=True)}


class Round:
    """One race: the providers, the number of consumers that fit, and the calls."""

    def __init__(self, name, seed, number):
        chance = random.Random(f"{seed}/{name}/{number}")
        self.race, self.is_shared = RACES[name], number % 2 == 1
        self.has_ids = self.race.is_sent_twice or number % 3 == 2
        self.vcpus, self.disk = chance.randint(1, 50), chance.randint(1, 4)
        places = chance.randint(2, 40)
        # Many hosts have more candidates than a search for one call finds.
        hosts = places if chance.random() < 0.5 else chance.randint(2, min(8, places))
        self.foreign_claims = chance.randint(4, 12) if number % 3 else 0

        def new_uuid():
            return str(uuid.UUID(int=chance.getrandbits(128), version=4))

        self.aggregate, self.pool = new_uuid(), new_uuid()
        self.places = dict.fromkeys((new_uuid() for _ in range(hosts)), 1)  # host -> the number of consumers that fit
        for host in chance.choices([*self.places], k=places - hosts):
            self.places[host] += 1
        self.pool_places = chance.randint((places + 1) // 2, places) if self.is_shared else None
        # What is left of a host is too little for another consumer, and different. So with most ranks all schedulers
        # want the same hosts.
        self.totals = {host: {"VCPU": fits * self.vcpus + chance.randrange(self.vcpus)}
                       for host, fits in self.places.items()}
        if self.is_shared:
            self.totals[self.pool] = {"DISK_GB": self.pool_places * self.disk + chance.randrange(self.disk)}
        self.fitting = min(places, self.pool_places or places)
        # The last gang does not fit, although some of its consumers do.
        sizes = [size for size in (2, 3, 4) if self.fitting % size] or [2]
        self.size = chance.choice(sizes) if self.race.is_gang else 1
        self.candidates = [self.taken_on(host) for host in self.places]
        self.rank = chance.choice((None, "fullest", "emptiest", "tightest", "random"))
        self.calls = [self.call(new_uuid) for _ in range(SCHEDULERS)]

    def __str__(self):
        what = f"{'gangs' if self.race.is_atomic else 'calls'} of {self.size}" if self.size > 1 else "consumers"
        query, candidates = f"a query ranked {self.rank}", f"{len(self.candidates)} candidates"
        how = f"{candidates} or {query}" if self.race.is_mixed else query if self.race.by_query else candidates
        return (f"{SCHEDULERS} {what} with {how}, and {self.foreign_claims} foreign claims, for {self.fitting} places of "
                f"{len(self.places)} hosts{' and a pool' if self.is_shared else ''}")

    def taken_on(self, host):
        """What a consumer takes if it gets the host: provider -> class -> amount."""
        pool = {self.pool: {"DISK_GB": self.disk}} if self.is_shared else {}
        return {host: {"VCPU": self.vcpus}} | pool

    def query(self):
        disk = f",DISK_GB:{self.disk}" if self.is_shared else ""
        return f"resources=VCPU:{self.vcpus}{disk}&member_of={self.aggregate}"

    def has_query(self, member):
        """Whether the consumer of this number in a call has a query. Without one it has candidates."""
        return self.race.by_query or self.race.is_mixed and member % 2 == 1

    def wanted(self, member):
        if self.has_query(member):
            return {"query": self.query()} | ({"rank": self.rank} if self.rank else {})
        return {"candidates": [
            {"allocations": {provider: {"resources": amounts} for provider, amounts in holds.items()}}
            for holds in self.candidates]}

    def call(self, new_uuid):
        consumers = [{"uuid": new_uuid(), "project_id": "race", "user_id": "race", "type": "RACER"} | self.wanted(member)
                     for member in range(self.size)]
        return ({"id": new_uuid()} if self.has_ids else {}) | {"atomic": self.race.is_atomic, "consumers": consumers}

    def prepare(self, rest):
        """Makes the providers. Those of a query are in one aggregate."""
        for provider, totals in self.totals.items():
            path = f"/resource_providers/{provider}"
            rest.must("POST", "/resource_providers", {"name": provider, "uuid": provider})
            inventories = {name: {"total": total} for name, total in totals.items()}
            steps = [("inventories", {"inventories": inventories})]
            if self.race.by_query or self.race.is_mixed:
                steps.append(("aggregates", {"aggregates": [self.aggregate]}))
                if provider == self.pool:
                    steps.append(("traits", {"traits": ["MISC_SHARES_VIA_AGGREGATE"]}))
            for generation, (what, body) in enumerate(steps):
                rest.must("PUT", f"{path}/{what}", body | {"resource_provider_generation": generation})


def send_all(round_, services):
    """Sends all calls at once; returns the answers to each, and the foreign writer."""
    copies = 2 if round_.race.is_sent_twice else 1
    answers = {}
    start = threading.Barrier(SCHEDULERS * copies + 1)

    def scheduler(number, copy):
        rest = Rest(services[(number + copy) % len(services)].port)
        start.wait()
        answers[number, copy] = rest("POST", "/v1/claims", round_.calls[number])

    taken = {provider: next(iter(amounts.items())) for provider, amounts in round_.candidates[0].items()}
    foreign = SqlClaims(services[0].database, taken, round_.foreign_claims, start)
    threads = [threading.Thread(target=scheduler, args=(number, copy))
               for number in range(SCHEDULERS) for copy in range(copies)]
    threads.append(threading.Thread(target=foreign.run))
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(HANG_SECONDS)
    if foreign.error:
        raise foreign.error
    assert len(answers) == SCHEDULERS * copies, f"only {len(answers)} of {SCHEDULERS * copies} calls were answered"
    return [[answers[number, copy] for copy in range(copies)] for number in range(SCHEDULERS)], foreign


def repeat(round_, answers, services):
    """Sends every call with an id once more: one that was granted has the same answer, in every process.

    All at once: refusals beside another program wait for a comparison with the tables, once a second, and share it.
    """
    def send(number):
        return Rest(services[(number + 1) % len(services)].port)("POST", "/v1/claims", round_.calls[number])

    if round_.has_ids:
        with concurrent.futures.ThreadPoolExecutor(SCHEDULERS) as pool:
            for number, answer in enumerate(pool.map(send, range(SCHEDULERS))):
                answers[number].append(answer)


def held_rows(services):
    """How many rows the services found held for longer than a batch waits, as a commit of a busy machine may do."""
    return sum(scrape.read(service.port).sum("placet_writer_held_rows_total") for service in services)


def run_round(name, seed, number, services):
    round_ = Round(name, seed, number)
    print(f"{name}, round {number}: {round_}", flush=True)
    round_.prepare(Rest(services[0].port))
    ledger = Ledger(services[0].database)
    generations = {provider: ledger.generation(provider) for provider in round_.totals}
    held = held_rows(services)
    answers, foreign = send_all(round_, services)
    repeat(round_, answers, services)
    judged = choice_rules.Judged(round_, answers, {consumer: round_.candidates[0] for consumer in foreign.granted})
    judged.check_tables(ledger, generations)
    if held_rows(services) == held:
        judged.check_order()
    else:
        print("A row was held for longer than a batch waits, so later candidates were allowed.", flush=True)
    judged.check_answers()
    judged.check_processes(services)
