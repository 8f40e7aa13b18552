"""placet behind a proxy, and a second placet that is not: requests are sent, struck, and judged."""

import concurrent.futures
import threading
import time

import witness
from servers.proxy import BEFORE
from strikes import CUT, KILL, LATE, LATE_ELSEWHERE, Missed
from world import LEAD

HOLD_SECONDS = 0.15  # in which requests that come together reach the writer's queue
DOWN_SECONDS = 0.2


class Stage:
    """Which server is killed says the link that is struck. `settle` waits after its restart until all is well."""

    def __init__(self, proxy, database, nodes, placet, other, world, settle=lambda: None):
        self.proxy, self.database, self.nodes, self.world = proxy, database, nodes, world
        self.placet, self.other, self.settle = placet, other, settle
        self.names = [CUT, KILL, LATE] + ([LATE_ELSEWHERE] if len(nodes) > 1 else [])
        self.home = proxy.servers[0]
        self.base = self.end = 0

    def kill(self, port):
        next(node for node in self.nodes if node.port == port).kill()

    def restart(self):
        """What was killed, if anything was."""
        dead = [node for node in self.nodes if not node.alive]
        for node in dead:
            node.restart()
        if dead:
            self.settle()

    def elsewhere(self):
        """From now on new connections go to another node, where there is one."""
        self.proxy.servers[:2] = self.proxy.servers[1::-1]

    def _home(self):
        """Whatever was before: the writer has a connection to the first node, on which it has written."""
        first = self.home
        if self.proxy.servers[0] == first and any(
                link.writes and link.port == first[1] for link in list(self.proxy.links)):
            return
        self.proxy.servers.sort(key=lambda server: server != first)
        self.proxy.cut_all()
        lead = self.world.claim(self.placet, {LEAD: 1})
        witness.wait_for("a claim", lambda: self.placet.must(lead.method, lead.path, lead.body))
        self.world.happened(lead)
        self.witnessed([])

    def sends(self, kinds, strikes=()):
        """The statements that the writer sends for requests of these kinds, after the last of these strikes."""
        for _ in range(3):  # what is named for the first time is made, for the second looked up
            self.play(kinds, strikes)
        while self._kept_house() or not strikes and sum(it.starts("COMMIT") for it in self._sent()) > 1:
            self.play(kinds, strikes)
        first = self.base + sum(strike.step + 1 for strike in strikes)
        return [request for request in self._sent() if request.number >= first]

    def play(self, kinds, strikes, tries=3):
        """Sends the requests, breaks what is to be broken, and judges what they were answered.

        More strikes than one: the next is counted from the statement after the one before. A moment may fail to come
        where the writer kept house, or took the requests in two batches: then all is played again.
        """
        self._home()
        try:
            self._play([kind(self.world, self.placet) for kind in kinds], strikes)
        except BaseException as error:
            self.proxy.forget()
            self.restart()
            witness.wait_for("the tables", lambda: self.world.resign(witness.tables(self.database)))
            if not isinstance(error, Missed) or tries == 1:
                raise
            self.play(kinds, strikes, tries - 1)

    def _sent(self):
        """The writer's statements from when the last requests were sent until the last was answered."""
        return [request for _, request in self.proxy.seen
                if request.number is not None and self.base <= request.number < self.end]

    def _kept_house(self):
        """Once a minute the writer clears old changes away, between two transactions: then moments come later than counted."""
        return any(request.starts("DELETE") and not request.inside for request in self._sent())

    def _play(self, requests, strikes):
        with concurrent.futures.ThreadPoolExecutor(len(requests) + 1) as pool:
            answers = self._send(pool, requests, strikes)
        for request, answer in answers:
            assert answer.status == 204, f"{request.name} was answered {answer}; {self._really(request)}"
            self.world.happened(request)
        self.witnessed([request.consumer for request, _ in answers])

    def witnessed(self, consumers):
        """The tables, the process that was struck and the one that was not all say what was answered."""
        witness.wait_for("the tables", lambda: witness.agrees(self.world, self.database), 0)
        for rest in (self.placet, self.other):
            witness.shows(self.world, rest, consumers)

    def _send(self, pool, requests, strikes):
        def sends(request):
            return request, self.placet(request.method, request.path, request.body)

        if len(requests) == 1:
            self.base = self.proxy.written
            plans = self._plan(strikes, self.base)
            sent = [pool.submit(sends, requests[0])]
        else:
            plans, sent = self._send_together(pool, sends, requests, strikes)
        for strike, plan in zip(strikes, plans):
            self._attend(strike, plan, sent)
        answers = [each.result(180) for each in sent]
        self.end = self.proxy.written
        return answers

    def _send_together(self, pool, sends, requests, strikes):
        """A claim goes ahead; the rest waits while its COMMIT is held back, and becomes one batch."""
        plans, held, free = [], threading.Event(), threading.Event()

        def hold(moment):
            held.set()
            free.wait(30)
            self.base = moment.request.number + 1
            plans.extend(self._plan(strikes, self.base))
        plan = self.proxy.plan(BEFORE, lambda moment: moment.request.starts("COMMIT") and moment.link.writes, hold)
        sent = [pool.submit(sends, self.world.claim(self.placet, {LEAD: 1}))]
        assert held.wait(60), "nothing was to be committed"
        sent += [pool.submit(sends, request) for request in requests]
        time.sleep(HOLD_SECONDS)
        free.set()
        assert plan.struck.wait(30) and not plan.error, f"nothing was committed: {plan.error}"
        return plans, sent

    def _plan(self, strikes, base):
        plans = []
        for strike in strikes:
            base += strike.step
            plans.append(self.proxy.plan(
                strike.when, lambda moment, number=base: moment.request.number == number, strike.action(self)))
            base += 1
        return plans

    def _attend(self, strike, plan, sent):
        """Waits for a strike, and brings up again what it killed."""
        while not plan.struck.wait(0.01):
            # What is delivered late may come when all was answered long since.
            if all(each.done() for each in sent) and not plan.begun.is_set():
                self.end = self.proxy.written
                raise Missed(f"the moment never came: {strike}")
        if plan.error:
            raise plan.error
        if strike.kills:
            time.sleep(DOWN_SECONDS)
            self.restart()

    def _really(self, request):
        """What became of it, for the report."""
        consumers, _ = witness.tables(self.database)
        is_there = consumers.get(request.consumer) == request.after
        return f"it happened all the same: its rows say {consumers.get(request.consumer)}" if is_there else "nothing of it is there"
