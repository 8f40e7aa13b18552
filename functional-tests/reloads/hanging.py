"""A reload that hangs or fails: claims go on, and searches are refused, or answered from the last valid snapshot."""

import concurrent.futures
import contextlib

from functional_tests.lib import live
from functional_tests.lib.rest import Rest
from functional_tests.lib.patience import eventually
from functional_tests.reloads.host import SEARCH, add_host, claim, needs_server, reloads, used

# For this time a search waits for the reload. What does not wait for it is answered before that search is refused.
COMMIT_TIMEOUT_SECONDS = 15
STALE_SECONDS = 600


def serving(binary, database, **more):
    options = {"commit_timeout": COMMIT_TIMEOUT_SECONDS, **more}
    return live.Service("placet", {"placet": {name: str(value) for name, value in options.items()}}, binary, database)


@contextlib.contextmanager
def waiting_search(service, path):
    """A search that waits for the reload. It is still waiting at the end of the block, and refused after that."""
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        search = pool.submit(Rest(service.port), "GET", path)
        yield
        assert not search.done(), f"the search was answered before the other requests: {search.result()}"
        assert search.result().status == 503, f"GET {path}: {search.result()}"


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
    with serving(binary, database) as service:
        rest = Rest(service.port)
        add_host(rest)
        assert claim(rest, 1).status == 204 and used(rest) == 1
        with hanging_reload(database):
            with waiting_search(service, SEARCH):
                statuses = [claim(rest, number).status for number in range(2, 20)]
            assert statuses == [204] * 18, statuses
            assert reloads(service) == 0
        assert used(rest) == 19
        assert reloads(service) == 1


def is_stale(answer):
    assert answer.status == 200, answer
    assert 1 <= int(answer.headers["age"]) <= STALE_SECONDS, answer.headers
    assert answer.headers["placet-stale"] == answer.headers["age"], answer.headers


def searches_may_be_stale(binary, database):
    """With `stale_reads_seconds` they are answered from the last valid snapshot, at once and with their age."""
    reload = failing_reload if database.engine == "sqlite" else hanging_reload
    with serving(binary, database, stale_reads_seconds=STALE_SECONDS) as service:
        rest = Rest(service.port)
        add_host(rest)
        assert claim(rest, 1).status == 204 and used(rest) == 1
        with reload(database):
            # The tables may have the class, so this search needs the reload. On SQLite it is refused at once.
            needs_reload = "/allocation_candidates?resources=CUSTOM_NONE:1"
            is_sqlite = database.engine == "sqlite"
            with contextlib.nullcontext() if is_sqlite else waiting_search(service, needs_reload):
                for number in range(2, 10):
                    assert claim(rest, number).status == 204
                    for path in SEARCH, "/resource_providers":
                        is_stale(rest("GET", path))
            assert not is_sqlite or rest("GET", needs_reload).status == 500
            assert reloads(service) == 0
        eventually("a search is fresh", lambda: "age" not in rest("GET", SEARCH).headers)
        assert used(rest) == 9
