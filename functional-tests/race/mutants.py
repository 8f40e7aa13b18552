"""The race must notice when a guard is missing: it is run with each mutant, and each must make it fail.

    race/mutants.py --binary PATH        (a binary built with `cargo build --features mutants`)
"""

import argparse
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

from tally import Tally  # noqa: E402

MUTANTS = ["skip-guard", "usage-first"]
ROUNDS = 30
SEED = 2026


def run(binary, *more):
    return subprocess.run(
        [sys.executable, str(HERE / "run.py"), "--binary", binary, "--seed", str(SEED), *more],
        capture_output=True, text=True, timeout=900)


def unmutated_passes(binary):
    done = run(binary, "--rounds", "5")
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]


def is_noticed(binary, mutant):
    done = run(binary, "--rounds", str(ROUNDS), "--mutant", mutant)
    assert done.returncode != 0, f"{ROUNDS} rounds with the mutant {mutant} passed"
    granted = [line for line in done.stdout.splitlines() if "were granted" in line or "oversubscribed" in line]
    assert granted, f"it failed otherwise than by granting too much:\n{done.stdout[-3000:]}{done.stderr[-2000:]}"
    print(f"{mutant}: {len(granted)} of {ROUNDS} rounds granted too much, as {granted[0].strip()}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--binary", required=True)
    binary = parser.parse_args().binary
    tally = Tally()
    tally.step("without a mutant", unmutated_passes, binary)
    for mutant in MUTANTS:
        tally.step(f"mutant {mutant} is noticed", is_noticed, binary, mutant)
    tally.finish()


if __name__ == "__main__":
    main()
