"""The race must notice when a guard is missing: it is run with each mutant, and each must make it fail.

    race/mutants.py --binary PATH        (a binary built with `cargo build --features mutants`)
"""

import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

import mutated  # noqa: E402

TOO_MUCH = ("were granted", "oversubscribed")

if __name__ == "__main__":
    mutated.check(
        HERE / "run.py", mutated.binary_of(__doc__), plain=["--rounds", "5"], mutated=["--rounds", "30"],
        reasons={"skip-guard": TOO_MUCH, "usage-first": TOO_MUCH})
