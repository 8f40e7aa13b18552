"""Connections break and servers are killed at every statement of placet's writer: callers must get the true outcome.

    certainty/run.py [--engine postgresql|mariadb|galera] [--seed N] [--full] [--binary PATH] [--mutant NAME] [TOPIC …]

placet works through a proxy (servers/proxy.py). Where to strike is derived from the statements that the proxy sees
when nothing breaks. After each strike the tables and the answers of a second process, which had no part in it, are
compared row by row with what callers were told.
"""

import argparse
import concurrent.futures
import contextlib
import os
import pathlib
import random
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE.parent / "race")]

import command_line  # noqa: E402
import away  # noqa: E402
import crowd  # noqa: E402
import engines  # noqa: E402
import live  # noqa: E402
import stage as stages  # noqa: E402
import strikes  # noqa: E402
from rest import Rest  # noqa: E402
from servers.proxy import Proxy  # noqa: E402
from tally import Tally  # noqa: E402
from world import World  # noqa: E402

PATIENCE = {"placet": {"commit_timeout": "60"}}


@contextlib.contextmanager
def stage(engine, options):
    """placet behind a proxy, and another one beside it: on Galera on the last node, of which nobody kills any."""
    database = engine.create()
    *others, last = [engine.at(database, n) for n in range(len(engine.nodes))][1:] or [database]
    environment = {"PLACET_MUTANT": options.mutant} if options.mutant else {}
    with Proxy(database, *others) as proxy, \
            live.Service("placet", PATIENCE, options.binary, proxy.database, environment=environment) as placet, \
            live.Service("placet", PATIENCE, options.binary, last) as other:
        rest = Rest(placet.port, timeout=120)
        world = World(random.Random(options.seed), rest)
        settle = engine.several.settle if engine.kind == "galera" else lambda: None
        yield stages.Stage(proxy, last, engine.nodes, rest, Rest(other.port, timeout=120), world, settle)


def struck(*kinds):
    def topic(tally, engine, options):
        with stage(engine, options) as here:
            for each in kinds:
                each(tally, here, random.Random(options.seed), options.full)
    return topic


TOPICS = {
    "commit": struck(strikes.at_commit), "strikes": struck(strikes.at_every_statement, strikes.while_in_doubt),
    "away": away.topic, "crowd": crowd.topic}


def run(topic, options):
    """Each on servers of its own, so that all may go on at once: mostly they wait."""
    tally = Tally()
    with engines.Engine(options.engine) as engine:
        TOPICS[topic](tally, engine, options)
    return tally


def main():
    parser = command_line.parser(__doc__, "--binary", "--mutant", "--seed")
    parser.add_argument("--engine", choices=("postgresql", "mariadb", "galera"), default="postgresql")
    parser.add_argument("--full", action=argparse.BooleanOptionalAction, default=os.environ.get("PLACET_TEST_SIZE") == "full")
    parser.add_argument("topics", nargs="*", metavar="TOPIC", help=", ".join(TOPICS))
    options = parser.parse_args()
    print(f"seed {options.seed} (--seed {options.seed} makes the same choices again)", flush=True)
    topics = options.topics or (["strikes"] if options.engine == "galera" else ["strikes", "away", "crowd"])
    whole = Tally()
    with concurrent.futures.ThreadPoolExecutor(len(topics)) as pool:
        for part in pool.map(lambda topic: run(topic, options), topics):
            whole.add(part)
    whole.finish()


if __name__ == "__main__":
    main()
