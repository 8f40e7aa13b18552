"""The options that many tests have, each said once. What a test does stands in its docstring, which `--help` shows."""

import argparse
import random

from functional_tests.lib import engines

COMMON = {
    "--binary": {"help": "placet's binary, if not the one cargo built"},
    "--engine": {"choices": engines.ENGINES, "default": "sqlite", "help": "what the services keep their data in"},
    "--mutant": {"help": "which guard the binary, built with the feature, is to leave out"},
    "--seed": {"type": int, "default": random.SystemRandom().randrange(2**32)},
    "--server": {"choices": ("placet", "upstream"), "default": "placet"},
}


def parser(doc, *common):
    """Of a test with this docstring, which has these of the common options; it adds its own."""
    made = argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in common:
        made.add_argument(name, **COMMON[name])
    return made
