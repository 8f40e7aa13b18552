"""A lock timeout at a statement by which the writer sets up a new connection, as Galera answers a read while a node
leaves.

The connection is lost before each request. The writer's set-up begins with its session's settings, and ends where its
transaction begins. The request must succeed: another attempt is made until `commit_timeout`.
"""

import random

from functional_tests.commit_outcome import verifier
from functional_tests.commit_outcome.expected_state import ExpectedState
from functional_tests.lib import live
from functional_tests.lib.patience import OPTIONS
from functional_tests.lib.rest import Rest
from functional_tests.lib.servers.proxy import BEFORE, Proxy

LOCK_TIMEOUT = 1205, "Lock wait timeout exceeded; try restarting transaction"


def topic(tests, engine, options):
    database = engine.create()
    with Proxy(database) as proxy, live.Service("placet", OPTIONS, options.binary, proxy.database) as placet:
        rest = Rest(placet.port)
        setup = Setup(proxy, database, rest, ExpectedState(random.Random(options.seed), rest))
        statements = tests.step("the statements of the set-up", setup.statements)
        for n, text in enumerate(statements or []):
            name = " ".join(text.split())[:60]
            tests.step(f"a lock timeout at statement {n} of the set-up ({name})", setup.times_out, n, text)


class Setup:
    def __init__(self, proxy, database, rest, expected):
        self.proxy, self.database, self.rest, self.expected = proxy, database, rest, expected

    def statements(self):
        """The statements of the set-up, as a request without a fault shows them."""
        for _ in range(2):  # these also insert and look up names, which are cached afterwards
            self._claim()
        self.proxy.cut_all()
        before = self.proxy.written
        self._claim()
        link = next(link for link, request in self.proxy.seen if request.number == before)
        requests = [request for its, request in self.proxy.seen if its is link]
        begun = next(n for n, request in enumerate(requests) if request.number == before)
        texts = [request.text for request in requests[:begun]]
        first = next(n for n, text in enumerate(texts) if sets_up_a_writer(text))
        assert len(texts) - first >= 3, f"the settings, what the server can do, and the change feed: {texts}"
        return texts[first:]

    def times_out(self, number, text):
        positions, refused = {}, []

        def fits(moment):
            if not moment.request.executes:
                return False
            link = moment.link.number
            if link in positions or sets_up_a_writer(moment.request.text):
                positions[link] = positions.get(link, -1) + 1
            return positions.get(link) == number

        def refuse(moment):
            refused.append(moment.request.text)
            moment.refuse(*LOCK_TIMEOUT)

        self.proxy.intercept(BEFORE, fits, refuse)
        try:
            self.proxy.cut_all()
            self._claim()
        finally:
            self.proxy.forget_interceptions()
        assert refused == [text], refused
        verifier.check_tables(self.expected, self.database)

    def _claim(self):
        claim = self.expected.claim(self.rest)
        answer = self.rest(claim.method, claim.path, claim.body)
        assert answer.status == claim.status, answer
        self.expected.apply(claim)


def sets_up_a_writer(text):
    return text.startswith("SET SESSION TRANSACTION") and "READ WRITE" in text
