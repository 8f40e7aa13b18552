"""Elsewhere must notice when a guard is missing: it runs with each mutant, and each must make it fail.

    elsewhere/mutants.py --binary PATH [--runs N] [--only MUTANT,…]     (built with the feature `mutants`)

On PostgreSQL. What others do shows at a full provider alone (the race sees it), after an hour, or in a window too small to
be met here: the unit tests see those (race/mutants_following.py).
"""

import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

from mutated import Case, Mutated, arguments  # noqa: E402

SERVER = ["--engine", "postgresql"]
# Writes have to meet what is read again after others: with few reads between them there are many at once.
MANY = ["--steps", "10000", "--reads", "2"]
SHOWN = ("expected",)

if __name__ == "__main__":
    Mutated(HERE / "run.py", arguments(__doc__)).check(
        controls=[[*SERVER, "--steps", "1200"]],
        cases=[Case(mutant, [*SERVER, *MANY], SHOWN) for mutant in ("share-in-flight", "revisions-before")])
