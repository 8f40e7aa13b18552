"""Chaos must notice when a guard is missing: it runs with each mutant, and each must make it fail.

    chaos/mutants.py --binary PATH        (a binary built with `cargo build --features mutants`)
"""

import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

import mutated  # noqa: E402

STILL = ["--faults", "", "--stranger"]

if __name__ == "__main__":
    mutated.check(
        HERE / "run.py", mutated.binary_of(__doc__), plain=[*STILL, "--seconds", "20"],
        mutated=[*STILL, "--seconds", "120"],
        reasons={"skip-guard": ("is not between",), "usage-first": ("oversubscribed",)})
