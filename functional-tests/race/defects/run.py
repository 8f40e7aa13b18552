"""Races that corrupt the data of OpenStack Placement but not of placet: eight clients of two processes.

    python -m functional_tests.race.defects.run [--server placet|upstream] [--engine ENGINE] [--binary PATH] [--seed N]
                                                [--rounds N] [--mutant NAME] [RACE...]

For each race of races.py it prints the number of rounds in which the defect was seen, judged by SQL and by the answers.
With placet a single round is a failure, and so is an answer that no order of the eight requests explains. For OpenStack
Placement the number is only measured. An SQLite file is served by one placet.
"""

import contextlib
import os
import random

from functional_tests.lib import command_line, engines, live
from functional_tests.lib.ledger import Ledger
from functional_tests.lib.rest import Rest
from functional_tests.lib.test_counts import TestCounts
from functional_tests.race.defects.races import RACES
from functional_tests.race.defects.simultaneous import send

ROUNDS = {"full": 25}.get(os.environ.get("PLACET_TEST_SIZE"), 8)
SHOWN_ROUNDS = 3


@contextlib.contextmanager
def services(server, engine, binary=None, mutant=None):
    """Two processes on one new database, of which the first makes the tables."""
    environment = {"PLACET_MUTANT": mutant} if mutant else {}
    with live.Service(server, {}, binary, environment=environment, engine=engine) as first:
        if server == "placet" and engine.kind == "sqlite":
            yield [first]
            return
        with live.Service(server, {}, binary, database=first.database, environment=environment) as second:
            yield [first, second]


def measure(name, rounds, seed, found, shown=SHOWN_ROUNDS):
    """Runs one race `rounds` times; returns the number of rounds with the defect, and other wrong answers."""
    rest, ledger = Rest(found[0].port), Ledger(found[0].database)
    violated, wrong = 0, []
    for number in range(rounds):
        race = RACES[name](random.Random(f"{seed}/{name}/{number}"), rest)
        answers = send(race.requests, found, race.hold)
        violation = race.violation(answers, ledger)
        violated += bool(violation)
        if violation and violated <= shown:
            print(f"        round {number}: {violation}", flush=True)
        statuses = sorted(answer.status for answer in answers)
        if race.expected() and statuses != sorted(race.expected()) or max(statuses) >= 500:
            wrong.append(f"round {number}: answers {statuses}")
    print(f"        {name}: violated in {violated} of {rounds} rounds", flush=True)
    return violated, wrong


def check_placet(name, rounds, seed, found):
    """placet must never show the defect, and every answer must be one of a correct service."""
    violated, wrong = measure(name, rounds, seed, found)
    assert not violated, f"{RACES[name].__doc__}: in {violated} of {rounds} rounds"
    assert not wrong, "\n".join(wrong[:SHOWN_ROUNDS])
    faults = Ledger(found[0].database).faults()
    assert faults == [], faults


def measure_upstream(name, rounds, seed, found):
    """Prints whether OpenStack Placement shows the defect."""
    violated, _ = measure(name, rounds, seed, found)
    print(f"        {RACES[name].__doc__}: {'seen' if violated else 'NOT SEEN'}", flush=True)


def main():
    parser = command_line.parser(__doc__, "--binary", "--engine", "--mutant", "--seed", "--server")
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("races", nargs="*", metavar="RACE", help=", ".join(RACES))
    options = parser.parse_args()
    for name in options.races:
        if name not in RACES:
            parser.error(f"no such race: {name} (known: {', '.join(RACES)})")
    print(f"seed {options.seed} (--seed {options.seed} repeats the requests)", flush=True)
    tests = TestCounts()
    run = check_placet if options.server == "placet" else measure_upstream
    with engines.Engine(options.engine) as engine, services(
            options.server, engine, options.binary, options.mutant) as found:
        for name in options.races or RACES:
            tests.step(name, run, name, options.rounds, options.seed, found)
    tests.finish()


if __name__ == "__main__":
    main()
