"""The proxy between a client and a database breaks the connections that a test selects, and no others.

    python -m functional_tests.lib.servers.proxy_test [--engine postgresql|mariadb|galera] [--binary PATH]
"""

import argparse
import re
import time

from functional_tests.lib import engines, live
from functional_tests.lib.patience import HANG_SECONDS
from functional_tests.lib.rest import Rest
from functional_tests.lib.servers.proxy import ANSWERED, BEFORE, SENT, Moment, Proxy
from functional_tests.lib.test_counts import TestCounts

HOST = "00000000-0000-4000-8000-000000000001"
# Statements of each of placet's writing transactions. On PostgreSQL the update of the writer's row is part of a longer
# statement.
BEGIN_AND_COMMIT = ("BEGIN", "START TRANSACTION"), ("COMMIT",)
WRITER_STATEMENTS = r"(WITH \w+ AS \()?UPDATE placet_writers SET", "INSERT INTO placet_changes"
LATE_SECONDS = 1


class Proxied:
    def __init__(self, engine, binary):
        self.database, self.binary = engine.create(), binary

    def passes_everything(self, proxy):
        """Rows, many rows, empty results, errors and long texts are the same as without the proxy."""
        long = "x" * 300_000
        statements = [
            ("SELECT 1, NULL, 'a'", ()), ("SELECT ?", [long]), ("SELECT 1 WHERE 1 = 0", ()),
            ("SELECT a.n * 10 + b.n FROM " + " CROSS JOIN ".join(
                f"({' UNION ALL '.join(f'SELECT {n} AS n' for n in range(60))}) {name}" for name in "ab"), ())]
        for sql, values in statements:
            rows = [tuple(row) for row in proxy.database.query(sql, values)]
            assert rows == [tuple(row) for row in self.database.query(sql, values)], sql[:60]
        try:
            proxy.database.query("SELECT nothing")
        except Exception as error:  # the driver's own
            assert "nothing" in str(error), error
        else:
            raise AssertionError("an error was lost")

    def cuts(self, proxy, when, is_done):
        """The client loses its connection, and the statement took effect if and only if `is_done`."""
        self.database.run("DELETE FROM t")
        interception = proxy.intercept(when, lambda moment: moment.request.starts("INSERT"), Moment.cut)
        try:
            proxy.database.run("INSERT INTO t VALUES (1)")
        except Exception:  # the driver's own
            pass
        else:
            raise AssertionError("nothing was cut")
        assert interception.done.is_set()
        assert self._comes(1 if is_done else 0)
        proxy.database.run("INSERT INTO t VALUES (2)")

    def delivers_late(self, proxy):
        self.database.run("DELETE FROM t")
        interception = proxy.intercept(
            BEFORE, lambda moment: moment.request.starts("INSERT"), lambda moment: moment.cut_and_deliver(LATE_SECONDS))
        try:
            proxy.database.run("INSERT INTO t VALUES (1)")
        except Exception:  # the driver's own
            assert not interception.done.is_set(), "the client's connection ended only after the delivery"
        else:
            raise AssertionError("nothing was cut")
        assert not self._count(), "the row was there before the delay"
        assert self._comes(1), "the statement was never delivered"

    def knows_placets_statements(self, proxy):
        """Every statement of placet has a text, prepared or not, and links that write are distinguished."""
        with live.Service("placet", binary=self.binary, database=proxy.database) as placet:
            rest = Rest(placet.port)
            rest.must("POST", "/resource_providers", {"name": "host", "uuid": HOST})
            rest.must("PUT", f"/resource_providers/{HOST}/inventories",
                      {"resource_provider_generation": 0, "inventories": {"VCPU": {"total": 8}}})
            del proxy.seen[:]
            rest.must("PUT", f"/allocations/{HOST}", {
                "allocations": {HOST: {"resources": {"VCPU": 1}}}, "project_id": "p", "user_id": "u",
                "consumer_generation": None, "consumer_type": "VM"})
            rest.must("GET", "/resource_providers")
        assert all(request.text for _, request in proxy.seen), proxy.seen
        writing = [request for link, request in proxy.seen if link.writes]
        for words in BEGIN_AND_COMMIT:
            assert any(request.starts(*words) for request in writing), (words, writing)
        texts = [request.text.replace("`", "").replace('"', "") for request in writing]
        for words in WRITER_STATEMENTS:
            assert any(re.match(words, text) for text in texts), "\n".join([f"none is '{words}'", *texts])
        assert any(not link.writes for link, _ in proxy.seen), "no link only reads"

    def _count(self):
        return self.database.query("SELECT COUNT(*) FROM t")[0][0]

    def _comes(self, count):
        deadline = time.monotonic() + HANG_SECONDS
        while self._count() != count and time.monotonic() < deadline:
            time.sleep(0.02)
        time.sleep(0.1)
        return self._count() == count


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--engine", choices=[name for name in engines.ENGINES if name != "sqlite"],
                        default="postgresql")
    parser.add_argument("--binary")
    options = parser.parse_args()
    tests = TestCounts()
    with engines.Engine(options.engine) as engine:
        proxied = Proxied(engine, options.binary)
        with Proxy(proxied.database) as proxy:
            tests.step("the proxy parses placet's statements", proxied.knows_placets_statements, proxy)
            tests.step("results through the proxy are unchanged", proxied.passes_everything, proxy)
            proxied.database.run("CREATE TABLE t (n INTEGER)")
            tests.step("a statement that is cut before it is sent has no effect", proxied.cuts, proxy, BEFORE, False)
            tests.step("a statement that is cut after it was sent takes effect", proxied.cuts, proxy, SENT, True)
            tests.step("a statement whose answer is cut takes effect", proxied.cuts, proxy, ANSWERED, True)
            tests.step("a late statement takes effect after its client's connection", proxied.delivers_late, proxy)
    tests.finish()


if __name__ == "__main__":
    main()
