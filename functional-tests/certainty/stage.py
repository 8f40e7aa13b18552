"""placet behind a proxy, and a second placet that is not: requests are sent, struck, and judged."""

import concurrent.futures
import threading
import time

import witness
from servers.proxy import BEFORE
from world import LEAD

HOLD_SECONDS = 0.15  # in which requests that come together reach the writer's queue
DOWN_SECONDS = 0.2


class Stage:
    """`node` is the server that is killed; `settle` waits after its restart."""

    def __init__(self, proxy, database, node, placet, other, world, settle=lambda: None):
        self.proxy, self.database, self.node, self.world = proxy, database, node, world
        self.placet, self.other, self.settle = placet, other, settle
        self.base = 0

    def undisturbed(self, kinds):
        """The statements that requests of these kinds send, when nothing breaks."""
        self.play(kinds, [])  # what is named for the first time takes more statements
        self.play(kinds, [])
        return self.sent()

    def sent(self):
        """The writer's statements since the last requests were sent."""
        return [request for _, request in self.proxy.seen if request.number is not None and request.number >= self.base]

    def play(self, kinds, strikes):
        """Sends the requests, breaks what is to be broken, and judges what they were answered.

        More strikes than one: the next is counted from the statement after the one before.
        """
        try:
            self._play([kind(self.world, self.placet) for kind in kinds], strikes)
        except BaseException:
            self.proxy.forget()
            if not self.node.alive:
                self.node.restart()
            witness.wait_for("the tables", lambda: self.world.resign(witness.tables(self.database)))
            raise

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
        sends = lambda request: (request, self.placet(request.method, request.path, request.body))  # noqa: E731
        if len(requests) == 1:
            self.base = self.proxy.written
            plans = self._plan(strikes, self.base)
            sent = [pool.submit(sends, requests[0])]
        else:
            plans, sent = self._send_together(pool, sends, requests, strikes)
        for strike, plan in zip(strikes, plans):
            self._attend(strike, plan, sent)
        return [each.result(180) for each in sent]

    def _send_together(self, pool, sends, requests, strikes):
        """A claim goes ahead; the rest waits while its COMMIT is held back, and becomes one batch."""
        plans, free = [], threading.Event()

        def hold(moment):
            free.wait(10)
            self.base = moment.request.number + 1
            plans.extend(self._plan(strikes, self.base))
        held = self.proxy.plan(BEFORE, lambda moment: moment.request.starts("COMMIT") and moment.link.writes, hold)
        lead = self.world.claim(self.placet, {LEAD: 1})
        sent = [pool.submit(sends, request) for request in [lead]]
        time.sleep(HOLD_SECONDS)
        sent += [pool.submit(sends, request) for request in requests]
        time.sleep(HOLD_SECONDS)
        free.set()
        assert held.struck.wait(30) and not held.error, f"nothing was committed: {held.error}"
        return plans, sent

    def _plan(self, strikes, base):
        plans = []
        for strike in strikes:
            base += strike.step
            plans.append(self.proxy.plan(
                strike.when, lambda moment, number=base: moment.request.number == number, strike.action(self.node)))
            base += 1
        return plans

    def _attend(self, strike, plan, sent):
        """Waits for a strike, and brings up again what it killed."""
        while not plan.struck.wait(0.01):
            if all(each.done() for each in sent) and not plan.struck.is_set():
                raise AssertionError(f"the moment never came: {strike}")
        if plan.error:
            raise plan.error
        if strike.kills:
            time.sleep(DOWN_SECONDS)
            self.node.restart()
            self.settle()

    def _really(self, request):
        """What became of it, for the report."""
        consumers, _ = witness.tables(self.database)
        is_there = consumers.get(request.consumer) == request.after
        return f"it happened all the same: its rows say {consumers.get(request.consumer)}" if is_there else "nothing of it is there"
