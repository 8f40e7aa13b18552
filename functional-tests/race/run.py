"""64 clients and a foreign writer race for the capacity of providers: exactly as many claims are granted as fit.

    python -m functional_tests.race.run [--server placet|upstream] [--engine ENGINE] [--binary PATH] [--seed N]
                                        [--rounds N] [--processes N] [--races NAME,…] [--mutant NAME]

`puts.py` has the race of `PUT /allocations/{consumer}`. choices.py has the races of `POST /v1/claims`: by candidates
and by query, for one consumer and for gangs, on private hosts and with a shared pool, and calls sent twice with the
same id. `states.py` has the race of claims and a drained host, `workloads.py` the race of workloads and claims,
`neighbours.py` the race of two workloads with a rule in between, `limits.py` the race of a normal limit.
"""

import contextlib
import os

from functional_tests.lib import command_line, engines, live, patience
from functional_tests.lib.test_counts import TestCounts
from functional_tests.race import choices, limits, neighbours, puts, states, workloads

IS_FULL_SIZE = os.environ.get("PLACET_TEST_SIZE") == "full"
PUT_ROUNDS = 50 if IS_FULL_SIZE else 6
# Rounds differ in turn, in twos and threes: with or without a pool, a foreign writer, and ids.
KINDS_OF_ROUNDS = 6
CHOICE_ROUNDS = 15 if IS_FULL_SIZE else 2
# Of each: its module, what holds, the number of rounds, and what else a round takes.
OTHERS = {
    "states": (states, "nothing new after the change", 60 if IS_FULL_SIZE else 3),
    "limits": (limits, "no claim goes over the normal limit", 60 if IS_FULL_SIZE else 4),
    "workloads": (workloads, "no rule is broken by a placement", *((20, 40) if IS_FULL_SIZE else (2, 15))),
    "neighbours": (neighbours, "no rule between two workloads is broken", *((10, 20) if IS_FULL_SIZE else (1, 8)))}
SERVER_PROCESSES = 3  # on a server; an SQLite file is served by one process


@contextlib.contextmanager
def services(options, engine):
    """The processes on one new database; on Galera each has a node of its own."""
    environment = {"PLACET_MUTANT": options.mutant} if options.mutant else {}
    # OpenStack Placement has a thread for each client, which holds up to two connections. placet places pending
    # replicas of workloads as often as it can, beside the clients.
    settings = ({"placement_database": {"max_overflow": str(3 * puts.CLIENTS)}} if options.server == "upstream"
                else patience.OPTIONS | {"placet": patience.OPTIONS["placet"] | {"pending_interval": "1"}})
    database, nodes = engine.create(), max(1, len(engine.nodes))
    with contextlib.ExitStack() as stack:
        yield [stack.enter_context(live.Service(
            options.server, settings, options.binary, engine.at(database, n % nodes), environment=environment))
            for n in range(options.processes)]


def choice_rounds(name, options):
    """The numbers of a race's rounds. Each race begins at another, so that few rounds of each have all kinds
    together.
    """
    rounds = options.rounds or CHOICE_ROUNDS
    first = list(choices.RACES).index(name) * rounds % KINDS_OF_ROUNDS if rounds < KINDS_OF_ROUNDS else 0
    return range(first, first + rounds)


def arguments():
    parser = command_line.parser(__doc__, "--binary", "--engine", "--mutant", "--seed", "--server")
    parser.add_argument("--races", default=None, help=f"some of {', '.join(['puts', *OTHERS, *choices.RACES])}; default: all")
    parser.add_argument("--rounds", type=int, help="of each race")
    parser.add_argument("--processes", type=int)
    options = parser.parse_args()
    names = ["puts"] if options.server == "upstream" else ["puts", *OTHERS, *choices.RACES]
    options.races = options.races.split(",") if options.races else names
    if unknown := set(options.races) - set(names):
        parser.error(f"no such race: {', '.join(sorted(unknown))}")
    alone = options.engine == "sqlite" or options.server == "upstream"
    options.processes = options.processes or (1 if alone else SERVER_PROCESSES)
    return options


def main():
    options = arguments()
    print(f"seed {options.seed} (--seed {options.seed} repeats these rounds)", flush=True)
    tests = TestCounts()
    with engines.Engine(options.engine) as engine, services(options, engine) as found:
        if "puts" in options.races:
            for number in range(options.rounds or PUT_ROUNDS):
                tests.step(f"round {number} grants exactly the capacity", puts.run_round, options.seed, number, found)
        for name in [name for name in OTHERS if name in options.races]:
            race, holds, rounds, *more = OTHERS[name]
            for number in range(options.rounds or rounds):
                tests.step(f"{name}, round {number}: {holds}", race.run_round, options.seed, number, found, *more)
        for name in options.races:
            for number in choice_rounds(name, options) if name in choices.RACES else ():
                tests.step(f"{name}, round {number} grants exactly the capacity", choices.run_round,
                           name, options.seed, number, found)
    tests.finish()


if __name__ == "__main__":
    main()
