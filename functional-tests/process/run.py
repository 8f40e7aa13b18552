"""The live process: command line, configuration, signals, hostile clients, full and damaged disks.

    python -m functional_tests.process.run [--binary PATH] [--seed N] [--jobs N] [TOPIC …]

A topic is a file in this folder. Each case starts its own placet processes in its own folders, and ends them by their
process ids. So cases run side by side, `--jobs` at a time: most of a case is a wait.
"""

import argparse
import contextlib
import importlib
import io
import multiprocessing
import os
import random
import time
import traceback
from concurrent.futures import ProcessPoolExecutor

from functional_tests.lib.test_counts import TestCounts
from functional_tests.process import cases

# The topics with the longest cases come first, so that none of them runs alone at the end.
TOPICS = [
    "native_claims", "killing", "descriptors",
    "first_run", "configuration", "mistakes", "published", "request_lines", "token_files", "commands", "exclusive",
    "log_lines", "lost_log", "start_log",
    "protocol", "hostile_bodies", "large_bodies", "body_memory",
    "hostile_connections", "scarce_connections", "framing", "targets", "limits", "json_bombs", "slow_clients",
    "idle_connections", "keep_alive", "searches", "callers", "locked", "whole_file", "old_log", "backup", "lost_file",
    "pending", "refused_searches",
    "full_disk", "small_disk", "read_only", "degraded", "quoted_errors", "damaged_file", "stopping", "standstill", "tls",
    "systemd", "upgrading", "other_projects",
]
# Of a binary with the feature `mutants`, and run by name.
MUTANT_TOPICS = ["panics"]


def run(number):
    """Runs a registered case; returns its count, and what it printed with the line of its result."""
    topic, sentence, function = cases.CASES[number]
    tests, began = TestCounts(), time.monotonic()

    def took():
        return f"{topic}: {sentence} ({time.monotonic() - began:.1f} s)"

    with contextlib.redirect_stdout(io.StringIO()) as printed:
        try:
            function()
        except cases.Skip as reason:
            tests.skip(f"{topic}: {sentence}", reason)
        except AssertionError as error:
            tests.fail(took(), error)
        except Exception:  # any other exception is reported as a failure, and the run continues
            tests.fail(took(), traceback.format_exc())
        else:
            tests.ok(took())
    return tests, printed.getvalue()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--binary")
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(2**32))
    parser.add_argument("--jobs", type=int, default=3)
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
    numbers = [number for topic in topics for number, case in enumerate(cases.CASES) if case[0] == topic]
    # A fork has the cases and the settings.
    with ProcessPoolExecutor(options.jobs, multiprocessing.get_context("fork")) as pool:
        for counts, printed in pool.map(run, numbers):
            print(printed, end="", flush=True)
            tests.add(counts)
    tests.finish()


if __name__ == "__main__":
    main()
