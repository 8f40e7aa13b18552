"""An outage of the database that is longer than `commit_timeout`: killed, or paused with open connections."""

import concurrent.futures
import contextlib
import random
import time

from functional_tests.commit_outcome import verifier
from functional_tests.commit_outcome.expected_state import LEAD, ONE, WORKLOADS, ExpectedState
from functional_tests.lib import live
from functional_tests.lib.patience import HANG_SECONDS, OPTIONS, eventually, succeeds
from functional_tests.lib.rest import Rest
from functional_tests.lib.servers.proxy import ANSWERED, BEFORE, Proxy

COMMIT_TIMEOUT_SECONDS, STALE_SECONDS = 1, 10  # commit_timeout, stale_reads_seconds
POOL_TIMEOUT_SECONDS = 4
# The writer may use commit_timeout twice. Ten times this is in time: without a timeout a request waits until the outage
# ends.
IN_TIME_SECONDS = 10 * 2 * COMMIT_TIMEOUT_SECONDS
CANDIDATES, PROVIDERS = "/allocation_candidates?resources=VCPU:1", "/resource_providers"
OTHER_READS = (
    f"/resource_providers/{ONE}", f"/resource_providers/{ONE}/inventories", f"/resource_providers/{ONE}/usages",
    f"/resource_providers/{ONE}/traits", f"/allocations/{ONE}", "/usages?project_id=p", "/traits", "/resource_classes")


@contextlib.contextmanager
def with_short_timeouts(database, binary, stale=0):
    """Starts a placet with short timeouts."""
    options = {"placet": {"commit_timeout": COMMIT_TIMEOUT_SECONDS, "stale_reads_seconds": stale},
               "placement_database": {"pool_timeout": POOL_TIMEOUT_SECONDS}}
    options = {section: {name: str(value) for name, value in its.items()} for section, its in options.items()}
    with live.Service("placet", options, binary, database) as placet:
        yield Rest(placet.port)


@contextlib.contextmanager
def patient(database, binary):
    """Starts a placet that makes what the tests need, however slow the machine is."""
    with live.Service("placet", OPTIONS, binary, database) as placet:
        yield Rest(placet.port)


def topic(tests, engine, options):
    database, node = engine.create(), engine.nodes[0]
    with patient(database, options.binary) as maker, with_short_timeouts(database, options.binary) as strict, \
            with_short_timeouts(database, options.binary, STALE_SECONDS) as stale:
        outage = Outage(database, node, options.seed, maker, strict, stale)
        tests.step("while the database is killed, requests are 503 in time or stale, and nothing is half done",
                   outage.killed)
        tests.step("while the database is paused, requests are 503 in time or stale, and nothing is half done",
                   outage.paused)
    database = engine.create()
    with Proxy(database) as proxy, patient(database, options.binary) as maker, \
            with_short_timeouts(proxy.database, options.binary) as rest:
        tests.step("if the database is killed at COMMIT, the outcome is unknown, and all or nothing is stored",
                   commit_outcome_unknown, proxy, database, node, maker, rest, options.seed)


class Outage:
    def __init__(self, database, node, seed, maker, strict, stale):
        self.database, self.node, self.maker, self.strict, self.stale = database, node, maker, strict, stale
        self.expected = ExpectedState(random.Random(seed), maker)

    def killed(self):
        self._unavailable(self.node.kill, self.node.restart)

    def paused(self):
        """The database accepts statements and answers none."""
        self._unavailable(self.node.pause, self.node.resume)

    def _unavailable(self, begin_outage, end_outage):
        kinds = (ExpectedState.claim, ExpectedState.claim_of_several, ExpectedState.replacement, ExpectedState.delete)
        requests = {rest: [kind(self.expected, self.maker) for kind in kinds] for rest in (self.strict, self.stale)}
        fresh = time.monotonic()
        for rest in requests:
            answers_as_expected(self.expected, rest, [])
        began = time.monotonic()
        begin_outage()
        try:
            with concurrent.futures.ThreadPoolExecutor(64) as pool:
                asked = [pool.submit(self._is_refused, rest, each.method, each.path, each.body)
                         for rest, its in requests.items() for each in its]
                asked += [pool.submit(self._is_refused, self.strict, "GET", path)
                          for path in (*OTHER_READS, CANDIDATES, PROVIDERS)]
                asked += [pool.submit(self._is_refused, self.stale, "GET", path) for path in OTHER_READS]
                asked += [pool.submit(self._is_stale, fresh, path) for path in (CANDIDATES, PROVIDERS)]
                for each in asked:
                    each.result(HANG_SECONDS)
            time.sleep(max(0, began + STALE_SECONDS + 0.5 - time.monotonic()))
            for path in (CANDIDATES, PROVIDERS):
                self._is_refused(self.stale, "GET", path)
        finally:
            end_outage()
        # Statements of refused requests may still be in flight on the server. None of them may take effect.
        time.sleep(0.5)
        verifier.check_tables(self.expected, self.database)
        self._serves_again(requests)

    def _is_refused(self, rest, method, path, body=None):
        began = time.monotonic()
        answer = rest(method, path, body)
        took = time.monotonic() - began
        assert answer.status == 503 and int(answer.headers.get("retry-after", 0)) >= 1, f"{method} {path}: {answer}"
        assert "age" not in answer.headers and "placet-stale" not in answer.headers, answer.headers
        assert took < IN_TIME_SECONDS, f"{method} {path} was refused after {took:.1f} s"

    def _is_stale(self, fresh, path):
        answer = self.stale("GET", path)
        assert answer.status == 200, f"GET {path}: {answer}"
        age = int(answer.headers.get("age", -1))
        assert answer.headers.get("placet-stale") == str(age), answer.headers
        # In whole seconds, rounded up.
        assert 1 <= age <= time.monotonic() - fresh + 1, f"the answer's age is {age} s"

    def _serves_again(self, requests):
        """The same requests that were refused are granted, and no answer is stale."""
        def fresh(rest):
            answer = rest.must("GET", CANDIDATES)
            assert "age" not in answer.headers and "placet-stale" not in answer.headers, answer.headers
        for rest, its in requests.items():
            succeeds("fresh answers", lambda rest=rest: fresh(rest))
            for each in its:
                answer = eventually(f"{each.name} is no longer refused", lambda rest=rest, each=each: unless_refused(
                    rest(each.method, each.path, each.body)))
                assert answer.status == 204, f"after the outage {each.name} was answered {answer}"
                self.expected.apply(each)
        verifier.check_tables(self.expected, self.database)
        for rest in requests:
            answers_as_expected(self.expected, rest, [])


def unless_refused(answer):
    """The answer, or None if it is that nothing was changed: on a busy machine `commit_timeout` is short."""
    return None if answer.status == 503 and "Nothing was changed" in str(answer) else answer


def answers_as_expected(expected, rest, consumers):
    succeeds("the answers are as expected", lambda: verifier.check_answers(expected, rest, consumers))


def commit_outcome_unknown(proxy, database, node, maker, rest, seed):
    """The database is killed at COMMIT and stays away. The answer is that the outcome is unknown, and the tables have
    all of the request or nothing."""
    expected = ExpectedState(random.Random(seed), maker)
    kinds = (ExpectedState.claim_of_several, *WORKLOADS)
    # The first claim of a process may also write names, with a COMMIT of their own.
    first = expected.claim(rest, {LEAD: 1})
    succeeds("a claim", lambda: rest.must(first.method, first.path, first.body))
    expected.apply(first)
    for when, kind in ((when, kind) for kind in kinds for when in (BEFORE, ANSWERED)):
        request = kind(expected, maker)

        def kill(moment):
            node.kill()
            moment.cut()
        interception = proxy.intercept(
            when, lambda moment: moment.link.writes and moment.request.starts("COMMIT"), kill)

        def attempt(request=request, interception=interception):
            """The answer and its duration. On a busy machine `commit_timeout` may end before COMMIT: then once more."""
            began = time.monotonic()
            answer = rest(request.method, request.path, request.body)
            is_early = not interception.done.is_set() and unless_refused(answer) is None
            return None if is_early else (answer, time.monotonic() - began)

        answer, took = eventually("a COMMIT is reached", attempt)
        assert interception.done.is_set() and not interception.error, "no COMMIT was intercepted"
        node.restart()
        assert answer.status == 503 and int(answer.headers.get("retry-after", 0)) >= 1, answer
        assert "The outcome of this request is unknown" in answer.raw.decode(), answer
        assert "Nothing was changed" not in answer.raw.decode(), answer
        assert took < IN_TIME_SECONDS, f"it took {took:.1f} s"
        if when == ANSWERED:
            expected.apply(request)
        verifier.check_tables(expected, database)
        follows = expected.claim(rest, {LEAD: 1})
        succeeds("a claim", lambda follows=follows: rest.must(follows.method, follows.path, follows.body))
        expected.apply(follows)
        verifier.check_tables(expected, database)
        answers_as_expected(expected, rest, request.consumers + follows.consumers)
