"""A reload that hangs or fails: claims go on, and searches are refused, or answered from the last valid snapshot."""

import contextlib
import time

from functional_tests.lib import live
from functional_tests.lib.rest import Rest
from functional_tests.reloads.host import OPTIONS, SEARCH, add_host, claim, needs_server, reloads, used

# Less than `commit_timeout`, for which a search waits otherwise.
STALE_SECONDS_MAX, FRESH_SECONDS_MAX = 4, 60


@contextlib.contextmanager
def hanging_reload(database):
    """Has everything read again, and another program has locked a table that nothing else reads."""
    with contextlib.closing(database.connect()) as holder:
        lock = {"postgresql": ("BEGIN", "LOCK TABLE traits IN ACCESS EXCLUSIVE MODE"),
                "mariadb": ("LOCK TABLES traits WRITE",)}[database.engine]
        database.run("UPDATE placet_epoch SET epoch = 'another'")
        for statement in lock:
            holder.execute(statement)
        yield


@contextlib.contextmanager
def failing_reload(database):
    """The same on SQLite, where no lock stops a reader: the table is missing."""
    database.run("ALTER TABLE traits RENAME TO missing_traits")
    database.run("UPDATE placet_writers SET token = 'displaced'")
    try:
        yield
    finally:
        database.run("ALTER TABLE missing_traits RENAME TO traits")


def claims_go_on(binary, database):
    needs_server(database)
    with live.Service("placet", OPTIONS, binary, database) as service:
        rest = Rest(service.port)
        add_host(rest)
        assert claim(rest, 1).status == 204 and used(rest) == 1
        with hanging_reload(database):
            search = rest("GET", SEARCH)
            assert search.status == 503, f"nothing says what is used: {search}"
            statuses = [claim(rest, number).status for number in range(2, 20)]
            assert statuses == [204] * 18, statuses
            assert reloads(service) == 0
        assert used(rest) == 19
        assert reloads(service) == 1


def searches_may_be_stale(binary, database):
    """With `stale_reads_seconds` they are answered from the last valid snapshot, at once and with their age."""
    reload = failing_reload if database.engine == "sqlite" else hanging_reload
    options = {"placet": OPTIONS["placet"] | {"stale_reads_seconds": "60"}}
    with live.Service("placet", options, binary, database) as service:
        rest = Rest(service.port)
        add_host(rest)
        assert claim(rest, 1).status == 204 and used(rest) == 1
        with reload(database):
            for number in range(2, 10):
                assert claim(rest, number).status == 204
                for path in SEARCH, "/resource_providers":
                    began, answer = time.monotonic(), rest("GET", path)
                    assert answer.status == 200, answer
                    assert 1 <= int(answer.headers["age"]) <= 60, answer.headers
                    assert answer.headers["placet-stale"] == answer.headers["age"], answer.headers
                    assert time.monotonic() - began < STALE_SECONDS_MAX, "it waited for the reload"
            unknown = rest("GET", "/allocation_candidates?resources=CUSTOM_NONE:1")
            assert unknown.status >= 500, f"the tables may have the class: {unknown}"
            assert reloads(service) == 0
        until = time.monotonic() + FRESH_SECONDS_MAX
        while "age" in rest("GET", SEARCH).headers and time.monotonic() < until:
            time.sleep(0.05)
        assert "age" not in rest("GET", SEARCH).headers
        assert used(rest) == 9
