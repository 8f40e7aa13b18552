"""`/health/live` and `/health/ready` through all their states."""

import concurrent.futures
import contextlib
import os
import signal
import time

from functional_tests.lib import live
from functional_tests.lib.patience import HANG_SECONDS
from functional_tests.lib.rest import Rest
from functional_tests.query_plans import cloud

LIVE, READY = "/health/live", "/health/ready"
LIMIT_SECONDS = 3
DRAIN_SECONDS = 10  # the requests in it take about half as long
LARGE_CLOUD = 40_000 if os.environ.get("PLACET_TEST_SIZE") == "full" else 10_000
GONE, BACK = "The database has not answered for ", "The database answers again, after "
LOADING = {"status": "not ready", "reason": "the tables are being read"}
STOPPING = {"status": "not ready", "reason": "the process stops"}


def ask(port, path, method="GET", timeout=HANG_SECONDS):
    """Asks without a token or a version."""
    rest = Rest(port, timeout=timeout)
    return rest(method, path, headers={"x-auth-token": None, "openstack-api-version": None, "accept": None})


def until(port, status, seconds, path=READY):
    """Asks again and again until the answer has this status; returns it."""
    deadline = time.monotonic() + seconds
    while True:
        answer = ask(port, path)
        if answer.status == status:
            return answer
        assert time.monotonic() < deadline, f"{path} is still answered {answer} after {seconds} s"
        time.sleep(0.1)


def first_answer(port, path):
    """The first answer of a process that starts."""
    deadline = time.monotonic() + HANG_SECONDS
    while True:
        with contextlib.suppress(ConnectionError):
            return ask(port, path)
        assert time.monotonic() < deadline, "nothing listens"
        time.sleep(0.005)


def service(binary, engine, **options):
    options = {name: str(value) for name, value in options.items()}
    return live.Service("placet", {"placet": {"ready_timeout": str(LIMIT_SECONDS), **options}}, binary, engine=engine)


def health_needs_no_token_and_tells_only_its_state(binary, engine):
    with service(binary, engine, url_prefix="/placement") as placet:
        for path, body in ((LIVE, {"status": "live"}), (READY, {"status": "ready"})):
            for asked in (path, f"/placement{path}", f"{path}?x=1"):
                answer = ask(placet.port, asked)
                assert (answer.status, answer.json) == (200, body), f"{asked}: {answer}"
                assert answer.headers["content-type"] == "application/json", answer.headers
                assert answer.headers["cache-control"] == "no-store", answer.headers
            head = ask(placet.port, path, "HEAD")
            assert (head.status, head.raw) == (200, b""), head
            for method in ("POST", "PUT", "DELETE", "OPTIONS"):
                answer = ask(placet.port, path, method)
                assert (answer.status, answer.headers["allow"]) == (405, "GET, HEAD"), f"{method}: {answer}"
        assert ask(placet.port, f"{READY}?for=writes").json == {"status": "ready"}
        for purpose in ("reads", "write", "", "writes%20"):
            answer = ask(placet.port, f"{READY}?for={purpose}")
            assert (answer.status, answer.json["status"]) == (400, "error"), f"{purpose!r}: {answer}"
        for path in ("/health", "/health/", "/health/live/", "/health/readyx", "/x/health/live"):
            assert ask(placet.port, path).status == 401, path


def a_process_is_not_ready_while_it_reads_a_large_cloud(binary, engine):
    with service(binary, engine) as placet:
        placet.stop()
        cloud.load(placet.database, LARGE_CLOUD)
        placet.restart(wait=False)
        seen = [(answer.status, answer.json) for answer in [first_answer(placet.port, READY)]]
        assert first_answer(placet.port, LIVE).status == 200
        until(placet.port, 200, HANG_SECONDS)
    assert seen == [(503, LOADING)], seen


def a_request_that_arrives_while_the_tables_are_read_waits_for_them(binary, engine):
    with service(binary, engine) as placet:
        Rest(placet.port).must("POST", "/resource_providers", {"name": "early"})
        placet.stop()
        with concurrent.futures.ThreadPoolExecutor(1) as thread, stopped(engine):
            placet.restart(wait=False)
            assert first_answer(placet.port, READY).json == LOADING
            early = thread.submit(Rest(placet.port), "GET", "/resource_providers")
            time.sleep(1)
            assert not early.done() and ask(placet.port, READY).json == LOADING
            assert ask(placet.port, LIVE).status == 200
        found = early.result(HANG_SECONDS)
        assert [each["name"] for each in found.json["resource_providers"]] == ["early"], found
        until(placet.port, 200, HANG_SECONDS)


def a_process_that_is_stopped_while_it_reads_ends_at_once(binary, engine):
    with service(binary, engine, drain_time=60) as placet:
        placet.stop()
        with concurrent.futures.ThreadPoolExecutor(1) as thread, stopped(engine):
            placet.restart(wait=False)
            assert first_answer(placet.port, READY).json == LOADING
            early = thread.submit(Rest(placet.port), "GET", "/resource_providers")
            time.sleep(0.5)
            placet.signal(signal.SIGTERM)
            assert placet.process.wait(HANG_SECONDS) == 0
            assert early.result(HANG_SECONDS).status == 503, early.result()


@contextlib.contextmanager
def stopped(engine):
    """The server is stopped by SIGSTOP: its connections stay open, and new ones are not answered."""
    engine.nodes[0].pause()
    try:
        yield
    finally:
        engine.nodes[0].resume()


def a_database_that_stops_is_noticed_without_requests(binary, engine):
    stopped_database(binary, engine, [])


def a_database_that_stops_is_noticed_under_requests(binary, engine):
    stopped_database(binary, engine, ["/resource_providers", "/allocation_candidates?resources=VCPU:1"])


def stopped_database(binary, engine, paths):
    with service(binary, engine, commit_timeout=2) as placet:
        assert until(placet.port, 200, HANG_SECONDS)
        time.sleep(LIMIT_SECONDS + 2)
        assert ask(placet.port, READY).status == 200, "an idle process with a database is not ready"
        with stopped(engine):
            began = time.monotonic()
            with concurrent.futures.ThreadPoolExecutor(4) as clients:
                sent = [clients.submit(Rest(placet.port), "GET", path) for path in paths * 4]
                answer = until(placet.port, 503, HANG_SECONDS)
                took = time.monotonic() - began
                assert all(each.result().status == 503 for each in sent), [str(each.result()) for each in sent]
            assert took > LIMIT_SECONDS - 2, f"503 after {took:.1f} s"
            body = answer.json
            assert body["status"] == "not ready", answer
            assert body["reason"].startswith("the database has not answered for "), answer
            assert ask(placet.port, LIVE).status == 200
            time.sleep(2)
            assert ask(placet.port, READY).status == 503
        until(placet.port, 200, HANG_SECONDS)
        time.sleep(1)
        log = placet.log()
        assert (log.count(GONE), log.count(BACK)) == (1, 1), log[-2000:]


def a_stop_signal_makes_a_process_unready_before_it_stops(binary, engine):
    with service(binary, engine, drain_time=DRAIN_SECONDS) as placet:
        until(placet.port, 200, HANG_SECONDS)
        began = time.monotonic()
        placet.signal(signal.SIGTERM)
        answer = until(placet.port, 503, HANG_SECONDS)
        assert answer.json == STOPPING, answer
        for _ in range(8):
            answers = [Rest(placet.port)("GET", "/resource_providers"), ask(placet.port, READY), ask(placet.port, LIVE)]
            assert [answer.status for answer in answers] == [200, 503, 200], [str(answer) for answer in answers]
            time.sleep(0.5)
        assert placet.process.wait(HANG_SECONDS) == 0
        took = time.monotonic() - began
        assert took >= DRAIN_SECONDS, f"it ended after {took:.1f} s"


def a_second_stop_signal_ends_the_drain(binary, engine):
    with service(binary, engine, drain_time=600) as placet:
        placet.signal(signal.SIGTERM)
        until(placet.port, 503, HANG_SECONDS)
        placet.signal(signal.SIGTERM)
        assert placet.process.wait(HANG_SECONDS) == 0


# SQLite has no server that could stop, and a lock that a reader waits for.
SERVER_CASES = [
    a_request_that_arrives_while_the_tables_are_read_waits_for_them,
    a_process_that_is_stopped_while_it_reads_ends_at_once,
    a_database_that_stops_is_noticed_without_requests,
    a_database_that_stops_is_noticed_under_requests,
]
CASES = [
    health_needs_no_token_and_tells_only_its_state,
    a_process_is_not_ready_while_it_reads_a_large_cloud,
    a_stop_signal_makes_a_process_unready_before_it_stops,
    a_second_stop_signal_ends_the_drain,
]
