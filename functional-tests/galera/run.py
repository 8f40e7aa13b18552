"""placet on a Galera cluster of three nodes, with three processes, each on a node of its own.

    python -m functional_tests.galera.run [--seconds S] [--clients N] [--seed N] [--binary PATH]

The suite tests fairness under contention (fairness.py), reads through a lagging node (lagging_node.py), paused or
isolated nodes (stalled_node.py), and the tool that attributes lost writes (lost_write_cases.py). chaos/run.py tests
claims while nodes are killed.
"""

import contextlib
import os

from functional_tests.chaos import services, topology
from functional_tests.galera import fairness, lagging_node, lost_write_cases, stalled_node
from functional_tests.lib import command_line, engines
from functional_tests.lib.servers import machine
from functional_tests.lib.test_counts import TestCounts


@contextlib.contextmanager
def on_each_node(engine, binary, **placet):
    """Makes a database, and starts a process on each node."""
    database = engine.create()
    with contextlib.ExitStack() as stack:
        members = [stack.enter_context(services.Member(
            "placet", {"placet": placet}, binary, engine.at(database, n))) for n in range(len(engine.nodes))]
        yield database, members


def main():
    parser = command_line.parser(__doc__, "--binary", "--seed")
    full = os.environ.get("PLACET_TEST_SIZE") == "full"
    parser.add_argument("--seconds", type=float, default=60 if full else 8, help="of the test of fairness")
    parser.add_argument("--clients", type=int, default=4, help="of each process in the test of fairness")
    parser.add_argument("--only", choices=("fairness", "standstill", "lost"))
    options = parser.parse_args()
    print(f"seed {options.seed} (--seed {options.seed} repeats the choices)", flush=True)
    tests = TestCounts()
    try:
        # In a folder in memory MariaDB writes its log through a mapping, of which a killed server loses nothing.
        with engines.Engine("galera", durable=full) as engine:
            test(tests, engine, options, full)
    except machine.Missing as missing:
        tests.skip("galera", missing)
    tests.finish()


def test(tests, engine, options, full):
    if options.only in (None, "fairness"):
        with on_each_node(engine, options.binary) as (database, members):
            topology.prepare(members[0].rest)
            fairness.check(tests, engine, members, database, options)
    if options.only in (None, "standstill"):
        timeout = str(stalled_node.COMMIT_TIMEOUT_SECONDS)
        with on_each_node(engine, options.binary, commit_timeout=timeout) as (database, members):
            topology.prepare(members[0].rest)
            tests.step("a process on a lagging node answers no stale read",
                       lagging_node.answers_no_stale_read, engine, members)
            stalled_node.check(tests, engine, members)
            if full:
                tests.step("a process connects to another node of its URL when its own is killed",
                           stalled_node.connects_to_another_node, engine, database, options.binary)
    if options.only in (None, "lost"):
        with on_each_node(engine, options.binary) as (database, members):
            lost_write_cases.check(tests, engine, database, members, full)


if __name__ == "__main__":
    main()
