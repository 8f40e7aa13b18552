"""The live process: command line, configuration, signals, hostile clients, full and damaged disks.

    python -m functional_tests.process.run [--binary PATH] [--seed N] [TOPIC …]

A topic is a file in this folder. Each case starts its own placet processes in its own folders, and ends them by their
process ids.
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
    "first_run", "configuration", "mistakes", "request_lines", "token_files", "commands", "exclusive", "log_lines",
    "protocol", "hostile_bodies", "large_bodies",
    "hostile_connections", "framing", "targets", "limits", "json_bombs", "slow_clients", "idle_connections",
    "descriptors", "searches", "locked", "whole_file", "old_log", "backup", "lost_file", "pending",
    "full_disk", "small_disk", "read_only", "damaged_file", "stopping", "killing", "tls",
    "systemd", "upgrading", "native_claims",
]
# Of a binary with the feature `mutants`, and run by name.
MUTANT_TOPICS = ["panics"]


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
    except Exception:  # any other exception is reported as a failure, and the run continues
        tests.fail(took(), traceback.format_exc())
    else:
        tests.ok(took())


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--binary")
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(2**32))
    parser.add_argument("topics", nargs="*", metavar="TOPIC", help=", ".join(TOPICS + MUTANT_TOPICS))
    options = parser.parse_args()
    cases.settings.update(
        seed=options.seed, binary=options.binary, full=os.environ.get("PLACET_TEST_SIZE") == "full")
    print(f"seed {options.seed} (--seed {options.seed} repeats the choices)", flush=True)
    tests = TestCounts()
    topics = options.topics or TOPICS
    for topic in topics:
        importlib.import_module(f"functional_tests.process.{topic}")
    # A topic that imports another one has registered the other's cases too.
    for topic, sentence, function in (each for each in cases.CASES if each[0] in topics):
        run(tests, f"{topic}: {sentence}", function)
    tests.finish()


if __name__ == "__main__":
    main()
