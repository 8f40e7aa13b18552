"""The live process, as a new user, an operator and a hostile client meet it.

    process/run.py [--binary PATH] [--seed N] [TOPIC …]

A topic is a file beside this one. Each case starts placet processes of its own in folders of its own, and
ends them by their process ids.
"""

import argparse
import importlib
import os
import random
import time
import traceback

import cases
from tally import Tally

TOPICS = [
    "first_run", "configuration", "commands", "exclusive", "log_lines", "protocol", "hostile_bodies",
    "hostile_connections", "searches", "locked", "full_disk", "read_only", "damaged", "stopping",
    "killing",
]


def run(tally, sentence, function):
    began = time.monotonic()
    took = lambda: f"{sentence} ({time.monotonic() - began:.1f} s)"  # noqa: E731
    try:
        function()
    except cases.Skip as reason:
        tally.skip(sentence, reason)
    except AssertionError as error:
        tally.fail(took(), error)
    except Exception:  # any other end of a case is a failure to report, not to die of
        tally.fail(took(), traceback.format_exc())
    else:
        tally.ok(took())


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--binary")
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(2**32))
    parser.add_argument("topics", nargs="*", metavar="TOPIC", help=", ".join(TOPICS))
    options = parser.parse_args()
    cases.settings.update(
        seed=options.seed, binary=options.binary, full=os.environ.get("PLACET_TEST_SIZE") == "full")
    print(f"seed {options.seed} (--seed {options.seed} makes the same choices again)", flush=True)
    tally = Tally()
    topics = options.topics or TOPICS
    for topic in topics:
        importlib.import_module(topic)
    # A topic may use another's helpers, and then has registered its cases too.
    for topic, sentence, function in (each for each in cases.CASES if each[0] in topics):
        run(tally, f"{topic}: {sentence}", function)
    tally.finish()


if __name__ == "__main__":
    main()
