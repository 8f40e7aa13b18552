"""The register of the cases: each a function under one sentence that says what it proves."""

import contextlib
import pathlib
import random
import shutil
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
# The race test's eye on the tables serves here too.
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "race"))

CASES = []
settings = {"seed": 0, "binary": None, "full": False}


class Skip(Exception):
    """What the case needs is not on this machine."""


def case(sentence):
    """Registers a function, which takes nothing and raises where placet fails."""
    def register(function):
        CASES.append((function.__module__, sentence, function))
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


def check(holds, *told):
    """An assertion that shows what it was about."""
    if not holds:
        raise AssertionError(" ".join(str(each) for each in told))


def equal(got, wanted, *told):
    check(got == wanted, *told, f"is {got!r}, not {wanted!r}")
