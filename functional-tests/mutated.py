"""Runs a test with each mutant: without one it passes, and with each it has to fail for the reason that is expected."""

import argparse
import subprocess
import sys

from tally import Tally

SEED = 2026


def binary_of(description):
    """The binary that the command line names: one built with the feature `mutants`."""
    parser = argparse.ArgumentParser(description=description.splitlines()[0])
    parser.add_argument("--binary", required=True)
    return parser.parse_args().binary


def check(script, binary, plain, mutated, reasons):
    """`script` with `plain` has to pass; with `mutated` and each mutant of `reasons` it has to fail and say its reason."""
    def run(*more):
        return subprocess.run(
            [sys.executable, str(script), "--binary", binary, "--seed", str(SEED), *more],
            capture_output=True, text=True, timeout=900)

    def passes():
        done = run(*plain)
        assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]

    def is_noticed(mutant, reason):
        done = run(*mutated, "--mutant", mutant)
        assert done.returncode != 0, f"with the mutant {mutant} it passed"
        told = [line for line in done.stdout.splitlines() if any(word in line for word in reason)]
        assert told, f"it failed otherwise than by {reason}:\n{done.stdout[-3000:]}{done.stderr[-2000:]}"
        print(f"{mutant}: said {len(told)} times, as {told[0].strip()[:200]}")

    tally = Tally()
    tally.step("without a mutant", passes)
    for mutant, reason in reasons.items():
        tally.step(f"mutant {mutant} is noticed", is_noticed, mutant, reason)
    tally.finish()
