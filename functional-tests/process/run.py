"""The live process, as a new user, an operator and a hostile client meet it.

    python -m functional_tests.process.run [--binary PATH] [--seed N] [TOPIC …]

A topic is a file beside this one. Each case starts placet processes of its own in folders of its own, and
ends them by their process ids.
"""

import argparse
import importlib
import os
import random
import time
import traceback

from functional_tests.lib.test_counts import TestCounts
from functional_tests.process import cases

TOPICS = [
    "first_run", "configuration", "commands", "exclusive", "log_lines", "protocol", "hostile_bodies",
    "hostile_connections", "searches", "locked", "full_disk", "read_only", "damaged_file", "stopping",
    "killing",
]


def run(tests, sentence, function):
    began = time.monotonic()

    def took():
        return f"{sentence} ({time.monotonic() - began:.1f} s)"

    try:
        function()
    except cases.Skip as reason:
        tests.skip(sentence, reason)
    except AssertionError as error:
        tests.fail(took(), error)
    except Exception:  # any other end of a case is a failure to report, not to die of
        tests.fail(took(), traceback.format_exc())
    else:
        tests.ok(took())


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--binary")
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(2**32))
    parser.add_argument("topics", nargs="*", metavar="TOPIC", help=", ".join(TOPICS))
    options = parser.parse_args()
    cases.settings.update(
        seed=options.seed, binary=options.binary, full=os.environ.get("PLACET_TEST_SIZE") == "full")
    print(f"seed {options.seed} (--seed {options.seed} makes the same choices again)", flush=True)
    tests = TestCounts()
    topics = options.topics or TOPICS
    for topic in topics:
        importlib.import_module(f"functional_tests.process.{topic}")
    # A topic may use another's helpers, and then has registered its cases too.
    for topic, sentence, function in (each for each in cases.CASES if each[0] in topics):
        run(tests, f"{topic}: {sentence}", function)
    tests.finish()


if __name__ == "__main__":
    main()
