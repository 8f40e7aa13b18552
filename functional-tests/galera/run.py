"""What placet promises on a Galera cluster of three nodes, with three processes, each on a node of its own.

    galera/run.py [--seconds S] [--clients N] [--seed N] [--binary PATH]

A fight for the same hosts, in which nobody may starve (fairness.py); nodes that stand still or are cut off
(standstill.py); and whether the tool that judges lost writes judges well (lost_cases.py). What happens under claims
while nodes are killed is chaos/run.py's.
"""

import contextlib
import os
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE.parent / "chaos"), str(HERE.parent / "race")]

import command_line  # noqa: E402
import engines  # noqa: E402
import fairness  # noqa: E402
import lagging  # noqa: E402
import lost_cases  # noqa: E402
import services  # noqa: E402
import standstill  # noqa: E402
import world  # noqa: E402
from servers import machine  # noqa: E402
from tally import Tally  # noqa: E402


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
    print(f"seed {options.seed} (--seed {options.seed} makes the same choices again)", flush=True)
    tally = Tally()
    try:
        with engines.Engine("galera") as engine:
            test(tally, engine, options, full)
    except machine.Missing as missing:
        tally.skip("galera", missing)
    tally.finish()


def test(tally, engine, options, full):
    if options.only in (None, "fairness"):
        with on_each_node(engine, options.binary) as (database, members):
            world.prepare(members[0].rest)
            fairness.check(tally, engine, members, database, options)
    if options.only in (None, "standstill"):
        with on_each_node(engine, options.binary, commit_timeout=str(standstill.COMMIT_TIMEOUT)) as (database, members):
            world.prepare(members[0].rest)
            tally.step("a node that lags shows nothing old", lagging.shows_nothing_old, engine, members)
            standstill.check(tally, engine, members)
            if full:
                tally.step("a process finds another host when its node is killed", standstill.finds_another_host,
                           engine, database, options.binary)
    if options.only in (None, "lost"):
        with on_each_node(engine, options.binary) as (database, members):
            lost_cases.check(tally, engine, database, members, full)


if __name__ == "__main__":
    main()
