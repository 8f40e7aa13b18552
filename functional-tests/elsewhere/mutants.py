"""Elsewhere must notice when a guard is missing: it runs with each mutant, and each must make it fail.

    elsewhere/mutants.py --binary PATH        (a binary built with `cargo build --features mutants`)

On PostgreSQL. What others do shows at a full provider alone (the race sees it), after an hour, or in a window too small to
be met here: the unit tests see those (race/mutants_following.py).
"""

import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

import mutated  # noqa: E402

SERVER = ["--engine", "postgresql"]
SHOWN = ("expected",)

if __name__ == "__main__":
    mutated.check(
        HERE / "run.py", mutated.binary_of(__doc__), plain=[*SERVER, "--steps", "1200"],
        mutated=[*SERVER, "--steps", "3000", "--reads", "0"],
        reasons={"share-in-flight": SHOWN, "revisions-before": SHOWN})
