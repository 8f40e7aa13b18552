"""Chaos must notice when a guard is missing: it runs with each mutant, and each must make it fail.

    chaos/mutants.py --binary PATH        (a binary built with `cargo build --features mutants`)
"""

import argparse
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

from tally import Tally  # noqa: E402

# By mutant, what the run says of it.
MUTANTS = {"skip-guard": "is not between", "usage-first": "oversubscribed"}
SECONDS, SEED = 120, 2026


def run(binary, *more):
    return subprocess.run(
        [sys.executable, str(HERE / "run.py"), "--binary", binary, "--seed", str(SEED), "--faults", "", "--stranger",
         *more], capture_output=True, text=True, timeout=900)


def unmutated_passes(binary):
    done = run(binary, "--seconds", "20")
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]


def is_noticed(binary, mutant):
    done = run(binary, "--seconds", str(SECONDS), "--mutant", mutant)
    assert done.returncode != 0, f"{SECONDS} seconds with the mutant {mutant} passed"
    told = [line for line in done.stdout.splitlines() if MUTANTS[mutant] in line]
    assert told, f"it failed otherwise than by '{MUTANTS[mutant]}':\n{done.stdout[-3000:]}{done.stderr[-2000:]}"
    print(f"{mutant}: {told[0].strip()[:200]}")


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
