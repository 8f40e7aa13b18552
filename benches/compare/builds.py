"""Two builds of placet, each with a copy of one cloud in a file of its own."""

import argparse
import contextlib

from benches.compare.cloud import SHAPES
from benches.compare.sizing import prepare
from benches.compare.systems import Placet
from functional_tests.lib import engines

NAMES = ("before", "after")


def parser(description, rounds):
    """The options of a bench of two builds."""
    options = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in NAMES:
        options.add_argument(name, metavar=name.upper())
    options.add_argument("--shape", choices=SHAPES, default="flat")
    options.add_argument("--hosts", type=int, default=10_000)
    options.add_argument("--rounds", type=int, default=rounds)
    return options


@contextlib.contextmanager
def running(chosen):
    """The services of both builds, and the cloud."""
    with engines.Engine("sqlite") as engine, contextlib.ExitStack() as stack:
        services = []
        for binary in (chosen.before, chosen.after):
            database = engine.create()
            cloud = prepare(database, chosen.shape, chosen.hosts, 0, binary)
            services.append(stack.enter_context(Placet(database, binary)))
        yield services, cloud


def alternating(rounds, measure):
    """The figures of both builds in each round. `measure` gets 0 or 1. The first round warms up, and does not count."""
    found = []
    for number in range(rounds + 1):
        order = (0, 1) if number % 2 == 0 else (1, 0)
        figures = {at: measure(at) for at in order}
        if number > 0:
            found.append((figures[0], figures[1]))
    return found
