"""What placet promises on a Galera cluster of three nodes, with three processes, each on a node of its own.

    python -m functional_tests.galera.run [--seconds S] [--clients N] [--seed N] [--binary PATH]

A fight for the same hosts, in which nobody may starve (fairness.py); nodes that stand still or are cut off
(stalled_node.py); and whether the tool that judges lost writes judges well (lost_write_cases.py). What happens under claims
while nodes are killed is chaos/run.py's.
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
    """A new database, and a process on each node of it."""
    database = engine.create()
    with contextlib.ExitStack() as stack:
        members = [stack.enter_context(services.Member(
            "placet", {"placet": placet}, binary, engine.at(database, n))) for n in range(len(engine.nodes))]
        yield database, members


def main():
    parser = command_line.parser(__doc__, "--binary", "--seed")
    full = os.environ.get("PLACET_TEST_SIZE") == "full"
    parser.add_argument("--seconds", type=float, default=60 if full else 8, help="of the fight")
    parser.add_argument("--clients", type=int, default=4, help="of each process in the fight")
    parser.add_argument("--only", choices=("fairness", "standstill", "lost"))
    options = parser.parse_args()
    print(f"seed {options.seed} (--seed {options.seed} repeats the choices)", flush=True)
    tests = TestCounts()
    try:
        with engines.Engine("galera") as engine:
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
        with on_each_node(engine, options.binary, commit_timeout=str(stalled_node.COMMIT_TIMEOUT)) as (database, members):
            topology.prepare(members[0].rest)
            tests.step("a node that lags shows nothing old", lagging_node.shows_nothing_old, engine, members)
            stalled_node.check(tests, engine, members)
            if full:
                tests.step("a process finds another host when its node is killed", stalled_node.finds_another_host,
                           engine, database, options.binary)
    if options.only in (None, "lost"):
        with on_each_node(engine, options.binary) as (database, members):
            lost_write_cases.check(tests, engine, database, members, full)


if __name__ == "__main__":
    main()
