"""Runs a test with mutants: it must pass without a mutant, and fail for the expected reason with each."""

import argparse
import os
import statistics
import subprocess
import sys
import time
from typing import NamedTuple

from functional_tests.lib.test_counts import TestCounts

SEED = 2026


class Case(NamedTuple):
    """A mutant, the test's options, and `reasons`, one of which must be in the test's output."""

    mutant: str
    options: list
    reasons: tuple


def arguments(description, engines=()):
    """Parses the command line: `binary`, `runs`, `only`, and, if there are `engines`, `engine`.

    The binary must be built with the feature `mutants`. The default engine is the first of `engines`.
    """
    parser = argparse.ArgumentParser(description=description.splitlines()[0])
    parser.add_argument("--binary", required=True)
    parser.add_argument("--runs", type=int, default=1, help="runs of each mutant, each with another seed")
    parser.add_argument("--only", help="only these mutants, separated by commas, and no run without a mutant")
    if engines:
        parser.add_argument("--engine", choices=engines, default=engines[0])
    return parser.parse_args()


class MutantRuns:
    def __init__(self, module, given):
        self.module, self.given, self.tests = module, given, TestCounts()

    def run(self, options, seed=SEED):
        # The options set the size of a run.
        environment = {name: value for name, value in os.environ.items() if name != "PLACET_TEST_SIZE"}
        return subprocess.run(
            [sys.executable, "-m", self.module, "--binary", self.given.binary, "--seed", str(seed), *options],
            capture_output=True, text=True, timeout=1800, env=environment)

    def check(self, controls, cases):
        """Every run of `controls` must pass without a mutant, and the mutant of every case must be noticed."""
        only = self.given.only and self.given.only.split(",")
        for options in [] if only else controls:
            self.tests.step(f"passes without a mutant: {' '.join(options)}", self.passes, options)
        for case in cases:
            if not only or case.mutant in only:
                self.tests.step(f"mutant {case.mutant} is noticed: {' '.join(case.options)}", self.is_noticed, case)
        self.tests.finish()

    def passes(self, options):
        done = self.run(options)
        assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]

    def is_noticed(self, case):
        took, missed = [], []
        for seed in range(SEED, SEED + self.given.runs):
            begin = time.monotonic()
            done = self.run([*case.options, "--mutant", case.mutant], seed)
            lines = [line for line in done.stdout.splitlines() if any(word in line for word in case.reasons)]
            if done.returncode == 0:
                missed.append(f"it passed with seed {seed}")
            elif not lines:
                missed.append(f"it failed without any of {case.reasons}:\n{done.stdout[-3000:]}{done.stderr[-2000:]}")
            else:
                took.append(time.monotonic() - begin)
                said = lines[0].strip()[:200]
        if took:
            print(f"{case.mutant}: noticed in {len(took)} of {self.given.runs} runs, after "
                  f"{statistics.median(took):.0f} s (median), {max(took):.0f} s at most; as {said}", flush=True)
        assert not missed, "\n".join(missed)
