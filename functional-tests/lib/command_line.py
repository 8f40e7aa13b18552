"""Command line options of several tests. The description of a test in `--help` is the docstring."""

import argparse
import random

from functional_tests.lib import engines

COMMON = {
    "--binary": {"help": "placet's binary (default: the one that cargo built)"},
    "--engine": {"choices": engines.ENGINES, "default": "sqlite", "help": "the database engine of the services"},
    "--mutant": {"help": "the safeguard that the binary omits; it must be built with the feature `mutants`"},
    "--seed": {"type": int, "default": random.SystemRandom().randrange(2**32)},
    "--server": {"choices": ("placet", "upstream"), "default": "placet"},
}


def parser(doc, *common):
    """An argument parser with this description and these common options, to which the test adds its own."""
    made = argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in common:
        made.add_argument(name, **COMMON[name])
    return made
