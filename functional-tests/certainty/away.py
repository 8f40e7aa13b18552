"""The database is away for longer than `commit_timeout`: killed, or it stands still and keeps its connections."""

import concurrent.futures
import contextlib
import random
import time

import live
import witness
from rest import Rest
from servers.proxy import ANSWERED, BEFORE, Proxy
from world import LEAD, ONE, World

TIMEOUT, STALE = 2, 4  # commit_timeout, stale_reads_seconds
POOL_TIMEOUT = 4
SLACK = 2.0
CANDIDATES, PROVIDERS = "/allocation_candidates?resources=VCPU:1", "/resource_providers"
OTHER_READS = (
    f"/resource_providers/{ONE}", f"/resource_providers/{ONE}/inventories", f"/resource_providers/{ONE}/usages",
    f"/resource_providers/{ONE}/traits", f"/allocations/{ONE}", "/usages?project_id=p", "/traits", "/resource_classes")


@contextlib.contextmanager
def impatient(database, binary, stale=0):
    """A placet that loses patience soon."""
    options = {"placet": {"commit_timeout": TIMEOUT, "stale_reads_seconds": stale},
               "placement_database": {"pool_timeout": POOL_TIMEOUT}}
    options = {section: {name: str(value) for name, value in its.items()} for section, its in options.items()}
    with live.Service("placet", options, binary, database) as placet:
        yield Rest(placet.port, timeout=60)


def topic(tally, engine, options):
    database, node = engine.create(), engine.nodes[0]
    with impatient(database, options.binary) as strict, impatient(database, options.binary, STALE) as stale:
        away = Away(database, node, options.seed, strict, stale)
        tally.step("killed for longer than commit_timeout: 503 in time, nothing is half done, and two reads are stale",
                   away.killed)
        tally.step("standing still for longer than commit_timeout: the same", away.still)
    database = engine.create()
    with Proxy(database) as proxy, impatient(proxy.database, options.binary) as rest:
        tally.step("killed at COMMIT for longer than commit_timeout: nobody knows, and all or nothing is there",
                   doubt_that_cannot_end, proxy, database, node, rest, options.seed)


class Away:
    def __init__(self, database, node, seed, strict, stale):
        self.database, self.node, self.strict, self.stale = database, node, strict, stale
        self.world = World(random.Random(seed), strict)

    def killed(self):
        self._away(self.node.kill, self.node.restart, TIMEOUT, 1.5)

    def still(self):
        """It accepts what it is sent and answers nothing. Callers give up after the writer had twice the time."""
        self._away(self.node.pause, self.node.resume, 2 * TIMEOUT, POOL_TIMEOUT)

    def _away(self, leave, come_back, patience, reading):
        kinds = (World.claim, World.claim_of_several, World.replacement, World.delete)
        requests = {rest: [kind(self.world, rest) for kind in kinds] for rest in (self.strict, self.stale)}
        for rest in requests:
            witness.shows(self.world, rest, [])
        left = time.monotonic()
        leave()
        try:
            with concurrent.futures.ThreadPoolExecutor(64) as pool:
                asked = [pool.submit(self._is_refused, patience, rest, each.method, each.path, each.body)
                         for rest, its in requests.items() for each in its]
                asked += [pool.submit(self._is_refused, reading, self.strict, "GET", path)
                          for path in (*OTHER_READS, CANDIDATES, PROVIDERS)]
                asked += [pool.submit(self._is_refused, reading, self.stale, "GET", path) for path in OTHER_READS]
                asked += [pool.submit(self._is_stale, left, path) for path in (CANDIDATES, PROVIDERS)]
                for each in asked:
                    each.result(60)
            time.sleep(max(0, left + STALE + 0.5 - time.monotonic()))
            for path in (CANDIDATES, PROVIDERS):
                self._is_refused(TIMEOUT, self.stale, "GET", path)
        finally:
            come_back()
        # What nobody waits for any more may still be under way on the server: nothing of it may come.
        time.sleep(0.5)
        witness.agrees(self.world, self.database)
        self._serves_again(requests)

    def _is_refused(self, patience, rest, method, path, body=None):
        began = time.monotonic()
        answer = rest(method, path, body)
        took = time.monotonic() - began
        assert answer.status == 503 and int(answer.headers.get("retry-after", 0)) >= 1, f"{method} {path}: {answer}"
        assert "age" not in answer.headers and "placet-stale" not in answer.headers, answer.headers
        assert took < patience + SLACK, f"{method} {path} was refused after {took:.1f} s, not {patience} s"

    def _is_stale(self, left, path):
        answer = self.stale("GET", path)
        assert answer.status == 200, f"GET {path}: {answer}"
        age = int(answer.headers.get("age", -1))
        assert answer.headers.get("placet-stale") == str(age), answer.headers
        assert 1 <= age <= time.monotonic() - left + SLACK, f"it says to be {age} s old"

    def _serves_again(self, requests):
        """The very requests that were refused are granted, and nothing is stale."""
        def fresh(rest):
            answer = rest.must("GET", CANDIDATES)
            assert "age" not in answer.headers and "placet-stale" not in answer.headers, answer.headers
        for rest, its in requests.items():
            witness.wait_for("fresh answers", lambda rest=rest: fresh(rest))
            for each in its:
                answer = rest(each.method, each.path, each.body)
                assert answer.status == 204, f"after it was back {each.name} was answered {answer}"
                self.world.happened(each)
        witness.agrees(self.world, self.database)
        for rest in requests:
            witness.shows(self.world, rest, [])


def doubt_that_cannot_end(proxy, database, node, rest, seed):
    """COMMIT is sent, and the database stays away: nobody knows, and that is what is said; in the tables is all or nothing."""
    world = World(random.Random(seed), rest)
    for when in (BEFORE, ANSWERED):
        request = world.claim_of_several(rest)

        def kill(moment):
            node.kill()
            moment.cut()
        plan = proxy.plan(when, lambda moment: moment.link.writes and moment.request.starts("COMMIT"), kill)
        began = time.monotonic()
        answer = rest(request.method, request.path, request.body)
        took = time.monotonic() - began
        assert plan.struck.is_set() and not plan.error, "nothing was struck"
        node.restart()
        assert answer.status == 503 and int(answer.headers.get("retry-after", 0)) >= 1, answer
        assert "The outcome of this request is unknown" in answer.raw.decode(), answer
        assert "Nothing was changed" not in answer.raw.decode(), answer
        assert took < TIMEOUT + SLACK, f"it took {took:.1f} s"
        if when == ANSWERED:
            world.happened(request)
        witness.agrees(world, database)
        follows = world.claim(rest, {LEAD: 1})
        witness.wait_for("a claim", lambda follows=follows: rest.must(follows.method, follows.path, follows.body))
        world.happened(follows)
        witness.agrees(world, database)
        witness.shows(world, rest, [request.consumer, follows.consumer])
