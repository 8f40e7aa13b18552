"""Faults around the commits of placet's writer: callers must get the true outcome.

    python -m functional_tests.commit_outcome.run [--engine postgresql|mariadb|galera] [--seed N] [--full]
                                                  [--binary PATH] [--mutant NAME] [TOPIC …]

- `statements`: connections are cut and servers killed at the writer's statements, and at those by which it resolves an
  in-doubt commit. placet's connections go through a proxy (lib/servers/proxy.py), and a run without faults shows which
  statements there are. After each fault the tables and two placets must agree with the answers to callers.
- `commit`: the same at the COMMIT of batches alone: a short run for Galera, where a fault takes long.
- `outage`: the database goes away and comes back (database_outage.py).
- `exhaustion`: all connections of the pool are in use (pool_exhaustion.py).
- `setup`: a lock timeout while the writer sets up a new connection (connection_setup.py), on MariaDB.

The last three concern one server. By default Galera runs `statements`, other engines all but `commit`.
"""

import argparse
import concurrent.futures
import contextlib
import os
import random

from functional_tests.commit_outcome import connection_setup, database_outage, fault_points, pool_exhaustion
from functional_tests.commit_outcome.expected_state import ExpectedState
from functional_tests.commit_outcome.harness import Harness
from functional_tests.lib import command_line, engines, live
from functional_tests.lib.patience import OPTIONS
from functional_tests.lib.rest import Rest
from functional_tests.lib.servers.proxy import Proxy
from functional_tests.lib.test_counts import TestCounts


@contextlib.contextmanager
def harness(engine, options):
    """Starts a placet behind a proxy, and a second one without.

    On Galera the second one uses the last node. The proxy does not lead there, so that node is never killed.
    """
    database = engine.create()
    # A single server is both: behind the proxy, and used directly by the second placet.
    *others, last = [engine.at(database, n) for n in range(len(engine.nodes))][1:] or [database]
    environment = {"PLACET_MUTANT": options.mutant} if options.mutant else {}
    with Proxy(database, *others) as proxy, \
            live.Service("placet", OPTIONS, options.binary, proxy.database, environment=environment) as placet, \
            live.Service("placet", OPTIONS, options.binary, last) as other:
        rest = Rest(placet.port)
        expected = ExpectedState(random.Random(options.seed), rest)
        settle = engine.cluster.settle if engine.kind == "galera" else lambda: None
        yield Harness(proxy, last, engine.nodes, rest, Rest(other.port), expected, settle)


def topic_of(*checks):
    """A topic that runs these checks with one harness."""
    def topic(tests, engine, options):
        with harness(engine, options) as here:
            for each in checks:
                each(tests, here, random.Random(options.seed), options.full)
    return topic


TOPICS = {
    "commit": topic_of(fault_points.at_commit),
    "statements": topic_of(fault_points.at_every_statement, fault_points.while_in_doubt),
    "outage": database_outage.topic, "exhaustion": pool_exhaustion.topic, "setup": connection_setup.topic}
DEFAULT_TOPICS = {
    "postgresql": ["statements", "outage", "exhaustion"], "mariadb": ["statements", "outage", "exhaustion", "setup"],
    "galera": ["statements"]}


def run(topic, options):
    """Runs a topic on database servers of its own."""
    tests = TestCounts()
    with engines.Engine(options.engine) as engine:
        TOPICS[topic](tests, engine, options)
    return tests


def main():
    parser = command_line.parser(__doc__, "--binary", "--mutant", "--seed")
    parser.add_argument("--engine", choices=("postgresql", "mariadb", "galera"), default="postgresql")
    parser.add_argument(
        "--full", action=argparse.BooleanOptionalAction, default=os.environ.get("PLACET_TEST_SIZE") == "full",
        help="faults at every statement, instead of a sample; kills are sampled on Galera and in doubt all the same")
    parser.add_argument("topics", nargs="*", metavar="TOPIC", help=", ".join(TOPICS))
    options = parser.parse_args()
    if "setup" in options.topics and options.engine != "mariadb":
        parser.error("the topic `setup` needs `--engine mariadb`")
    print(f"seed {options.seed} (--seed {options.seed} repeats the choices)", flush=True)
    topics = options.topics or DEFAULT_TOPICS[options.engine]
    whole = TestCounts()
    # Topics mostly wait, so they run concurrently.
    with concurrent.futures.ThreadPoolExecutor(len(topics)) as pool:
        for part in pool.map(lambda topic: run(topic, options), topics):
            whole.add(part)
    whole.finish()


if __name__ == "__main__":
    main()
