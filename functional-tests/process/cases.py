"""The register of test cases. A case is a function with the sentence to prove."""

import contextlib
import pathlib
import random
import shutil
import tempfile

CASES = []
settings = {"seed": 0, "binary": None, "full": False}


class Skip(Exception):
    """The machine lacks something that the case needs."""


def case(sentence):
    """Registers a function without parameters, which raises if placet fails."""
    def register(function):
        CASES.append((function.__module__.rpartition(".")[2], sentence, function))
        return function
    return register


def chance(name):
    """A random generator, seeded with the seed of the run and this name."""
    return random.Random(f"{settings['seed']}/{name}")


@contextlib.contextmanager
def folder():
    """An empty temporary folder, removed at the end."""
    path = pathlib.Path(tempfile.mkdtemp(prefix="placet-process-"))
    try:
        yield path
    finally:
        shutil.rmtree(path, ignore_errors=True)


def check(holds, *context):
    """An assertion; `context` is its message."""
    if not holds:
        raise AssertionError(" ".join(str(each) for each in context))


def equal(got, wanted, *context):
    check(got == wanted, *context, f"is {got!r}, not {wanted!r}")
