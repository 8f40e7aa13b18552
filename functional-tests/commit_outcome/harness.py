"""Injects faults into the requests of a placet behind a proxy, and verifies the outcome with a second placet."""

import concurrent.futures
import threading
import time

from functional_tests.commit_outcome import verifier
from functional_tests.commit_outcome.expected_state import LEAD
from functional_tests.commit_outcome.fault_points import CUT, KILL, LATE, LATE_ELSEWHERE, MomentMissed
from functional_tests.lib.patience import HANG_SECONDS, eventually, succeeds
from functional_tests.lib.servers.proxy import BEFORE
from functional_tests.metrics import scrape

DOWN_SECONDS = 0.2


class Harness:
    """A kill hits the server of the link at which the fault is injected. `settle` waits after its restart."""

    def __init__(self, proxy, database, nodes, placet, other, expected, settle=lambda: None):
        self.proxy, self.database, self.nodes, self.expected = proxy, database, nodes, expected
        self.placet, self.other, self.settle = placet, other, settle
        self.names = [CUT, KILL, LATE] + ([LATE_ELSEWHERE] if len(nodes) > 1 else [])
        self.first_node = proxy.servers[0]
        self.base = self.end = 0

    def kill(self, port):
        next(node for node in self.nodes if node.port == port).kill()

    def restart(self):
        """Restarts the servers that were killed."""
        dead = [node for node in self.nodes if not node.alive]
        for node in dead:
            node.restart()
        if dead:
            self.settle()

    def switch_node(self):
        """Directs new connections to another node, if there is one."""
        self.proxy.servers[:2] = self.proxy.servers[1::-1]

    def _reset_to_first_node(self):
        """Makes sure that the writer has a connection to the first node, and has written on it."""
        first = self.first_node
        if self.proxy.servers[0] == first and any(
                link.writes and link.port == first[1] for link in list(self.proxy.links)):
            return
        self.proxy.servers.sort(key=lambda server: server != first)
        self.proxy.cut_all()
        lead = self.expected.claim(self.placet, {LEAD: 1})
        succeeds("a claim", lambda: self.placet.must(lead.method, lead.path, lead.body))
        self.expected.apply(lead)
        self.verify([])

    def sends(self, kinds, faults=()):
        """The statements that the writer sends for requests of these kinds, after the last of these faults."""
        for _ in range(3):  # the first two also insert and look up names, which are cached afterwards
            self.play(kinds, faults)
        while self._pruned() or not faults and sum(it.starts("COMMIT") for it in self._sent()) > 1:
            self.play(kinds, faults)
        first = self.base + sum(fault.step + 1 for fault in faults)
        return [request for request in self._sent() if request.number >= first]

    def play(self, kinds, faults, tries=3):
        """Sends the requests, injects the faults, and verifies the answers.

        The step of a second fault counts from the statement after the first one's. A statement may be missed because
        the writer pruned, or took the requests in two batches: then all of it is tried again.
        """
        self._reset_to_first_node()
        try:
            self._play([kind(self.expected, self.placet) for kind in kinds], faults)
        except BaseException as error:
            self.proxy.forget_interceptions()
            self.restart()
            succeeds("the tables", lambda: self.expected.adopt(verifier.tables(self.database)))
            if not isinstance(error, MomentMissed) or tries == 1:
                raise
            self.play(kinds, faults, tries - 1)

    def _sent(self):
        """The writer's statements between the sending of the last requests and the last answer."""
        return [request for _, request in self.proxy.seen
                if request.number is not None and self.base <= request.number < self.end]

    def _pruned(self):
        """Whether the writer has pruned old changes, as it does once a minute between two transactions.

        Then the statements that follow have other numbers than expected.
        """
        return any(request.starts("DELETE") and not request.inside for request in self._sent())

    def _play(self, requests, faults):
        with concurrent.futures.ThreadPoolExecutor(len(requests) + 1) as pool:
            answers = self._send(pool, requests, faults)
        for request, answer in answers:
            assert answer.status == request.status, f"{request.name} was answered {answer}; {self._actual_outcome(request)}"
            self.expected.apply(request)
        self.verify([request.consumers[-1] for request, _ in answers])

    def verify(self, consumers):
        """The tables, the process with the fault and the other process all agree with the answers."""
        verifier.check_tables(self.expected, self.database)
        for rest in (self.placet, self.other):
            verifier.check_answers(self.expected, rest, consumers)

    def _send(self, pool, requests, faults):
        def sends(request):
            return request, self.placet(request.method, request.path, request.body)

        if len(requests) == 1:
            self.base = self.proxy.written
            interceptions = self._plan(faults, self.base)
            sent = [pool.submit(sends, requests[0])]
        else:
            interceptions, sent = self._send_together(pool, sends, requests, faults)
        for fault, interception in zip(faults, interceptions):
            self._await(fault, interception, sent)
        answers = [each.result(HANG_SECONDS) for each in sent]
        self.end = self.proxy.written
        return answers

    def _send_together(self, pool, sends, requests, faults):
        """Sends a claim and holds its COMMIT back. The other requests wait for it, and become one batch."""
        interceptions, held, free = [], threading.Event(), threading.Event()

        def hold(moment):
            held.set()
            free.wait(HANG_SECONDS)
            self.base = moment.request.number + 1
            interceptions.extend(self._plan(faults, self.base))
        interception = self.proxy.intercept(
            BEFORE, lambda moment: moment.request.starts("COMMIT") and moment.link.writes, hold)
        sent = [pool.submit(sends, self.expected.claim(self.placet, {LEAD: 1}))]
        assert held.wait(HANG_SECONDS), "no COMMIT came"
        sent += [pool.submit(sends, request) for request in requests]
        # The writer is to find them in its queue together. The claim whose COMMIT waits counts too.
        eventually(f"the {len(sent)} requests are in the queue", lambda: any(each.done() for each in sent) or (
            scrape.read(self.placet.port).sum("placet_writer_queue_length") == len(sent)))
        free.set()
        assert interception.done.wait(HANG_SECONDS) and not interception.error, f"nothing was committed: {interception.error}"
        return interceptions, sent

    def _plan(self, faults, base):
        interceptions = []
        for fault in faults:
            base += fault.step
            interceptions.append(self.proxy.intercept(
                fault.when, lambda moment, number=base: moment.request.number == number, fault.action(self)))
            base += 1
        return interceptions

    def _await(self, fault, interception, sent):
        """Waits for a fault, and restarts the server that it killed."""
        while not interception.done.wait(0.01):
            # A late delivery may come long after all requests were answered.
            if all(each.done() for each in sent) and not interception.begun.is_set():
                self.end = self.proxy.written
                raise MomentMissed(f"the statement was never sent: {fault}")
        if interception.error:
            raise interception.error
        if fault.kills:
            time.sleep(DOWN_SECONDS)
            self.restart()

    def _actual_outcome(self, request):
        """The actual outcome of a request, as a text for the report."""
        consumers, *_ = verifier.tables(self.database)
        first = request.consumers[0]
        found = consumers.get(first)
        return f"it happened all the same: its rows are {found}" if found == request.after_of(first) else "it did not happen"
