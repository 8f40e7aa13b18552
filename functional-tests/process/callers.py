"""The writer's queue is fair between callers: a caller that fills the queue is refused, and no other caller is."""

import threading
import uuid

from functional_tests.lib.patience import HANG_SECONDS, SERVICE_SECONDS, eventually
from functional_tests.lib.rest import KeptRest, Rest
from functional_tests.process.cases import case, check, equal, folder
from functional_tests.process.claims import HOSTS, claim, prepare
from functional_tests.process.locked import Claims, consumer, held, is_busy, serving, write_lock
from functional_tests.process.placet_process import Placet

# A token of another project is another caller.
FILLING, OTHER = "admin:filling", "admin:other"


@case("hostile 13: a caller whose claims fill the queue loses the newest ones to a second caller, whose claims wait")
def a_queue_that_one_caller_fills():
    size, others = 8, range(100, 103)
    with folder() as here, Placet(here, serving(commit_timeout=SERVICE_SECONDS, queue_size=size)) as placet:
        prepare(placet.rest)
        with write_lock(placet.database) as release:
            filling = Claims(placet, range(40), FILLING).are_waiting()
            before = len(filling.answers)
            other = Claims(placet, others, OTHER)
            eventually("each claim of the second caller takes the place of one of the first, or is refused",
                       lambda: other.answers or len(filling.answers) == before + len(others))
            equal(other.answers, {}, "answers of the second caller")
            release()
            filling.wait()
            equal(other.wait().statuses(), [204] * len(others))
        refused = [answer for answer in filling.answers.values() if answer.status != 204]
        equal(len(refused), before + len(others))
        for answer in refused:
            is_busy(answer)
            detail = answer.json["errors"][0]["detail"]
            check("[placet] queue_size" in detail and "this caller" in detail, detail)
        granted = {n for n, answer in filling.answers.items() if answer.status == 204}
        equal(held(placet), {consumer(n) for n in granted | set(others)})


class Filling:
    """Clients of one caller that repeat `send`, each on a connection of its own, until the end."""

    def __init__(self, placet, clients, send):
        self.statuses, self.stopped = set(), threading.Event()
        self.threads = [threading.Thread(target=self._repeat, args=(placet, send)) for _ in range(clients)]

    def _repeat(self, placet, send):
        rest = KeptRest(placet.port, FILLING)
        while not self.stopped.is_set():
            self.statuses.add(send(rest).status)

    def __enter__(self):
        for thread in self.threads:
            thread.start()
        return self

    def __exit__(self, *_):
        self.stopped.set()
        for thread in self.threads:
            thread.join(HANG_SECONDS)
            check(not thread.is_alive(), "a client is still waiting for an answer")


def claims_are_granted(placet, token, numbers):
    rest = Rest(placet.port, token)
    for number in numbers:
        answer = rest("PUT", f"/allocations/{consumer(number)}", claim(HOSTS[number % 4]))
        equal(answer.status, 204, answer)


@case("hostile 13: all claims of a caller are granted beside 16 clients of another caller that keep a short queue full")
def beside_a_full_queue():
    with folder() as here, Placet(here, serving(commit_timeout=SERVICE_SECONDS, queue_size=2)) as placet:
        prepare(placet.rest)
        with Filling(placet, 16, lambda rest: rest("PUT", f"/traits/CUSTOM_{uuid.uuid4().hex.upper()}")) as filling:
            claims_are_granted(placet, OTHER, range(40))
        equal(filling.statuses, {201, 503}, "statuses of the caller that fills the queue")


@case("hostile 12: six clients with calls of 1,000 consumers refuse no small claim, of their caller and of others")
def beside_large_commands():
    def call(rest):
        consumers = {str(uuid.uuid4()): claim(HOSTS[n % 4]) | {"allocations": {HOSTS[n % 4]: {"resources": {"VCPU": 1}}}}
                     for n in range(1_000)}
        return rest("POST", "/allocations", consumers)

    with folder() as here, Placet(here, serving(commit_timeout=SERVICE_SECONDS, queue_size=1)) as placet:
        prepare(placet.rest)
        for host in HOSTS:
            placet.rest.must("PUT", f"/resource_providers/{host}/inventories",
                             {"resource_provider_generation": 1, "inventories": {"VCPU": {"total": 1_000_000_000}}})
        with Filling(placet, 6, call) as filling:
            claims_are_granted(placet, FILLING, range(20))
            claims_are_granted(placet, OTHER, range(20, 40))
        equal(filling.statuses, {204, 503}, "statuses of the large calls")
