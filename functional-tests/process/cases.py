"""The register of the cases: each a function under one sentence that says what it proves."""

import contextlib
import pathlib
import random
import shutil
import tempfile

CASES = []
settings = {"seed": 0, "binary": None, "full": False}


class Skip(Exception):
    """What the case needs is not on this machine."""


def case(sentence):
    """Registers a function, which takes nothing and raises where placet fails."""
    def register(function):
        CASES.append((function.__module__.rpartition(".")[2], sentence, function))
        return function
    return register


def chance(name):
    """Random numbers that the seed of the run makes the same again."""
    return random.Random(f"{settings['seed']}/{name}")


@contextlib.contextmanager
def folder():
    """An empty folder, gone afterwards."""
    path = pathlib.Path(tempfile.mkdtemp(prefix="placet-process-"))
    try:
        yield path
    finally:
        shutil.rmtree(path, ignore_errors=True)


def check(holds, *context):
    """An assertion that shows what it was about."""
    if not holds:
        raise AssertionError(" ".join(str(each) for each in context))


def equal(got, wanted, *context):
    check(got == wanted, *context, f"is {got!r}, not {wanted!r}")
