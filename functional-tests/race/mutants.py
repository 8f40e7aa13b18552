"""The race must notice when a guard is missing: it is run with each mutant, and each must make it fail.

    race/mutants.py --binary PATH [--runs N] [--only MUTANT,…]

The binary is one built with `cargo build --features mutants`.
"""

import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

from mutated import Case, Mutated, arguments  # noqa: E402

TOO_MUCH = ("were granted", "oversubscribed")

if __name__ == "__main__":
    Mutated(HERE / "run.py", arguments(__doc__)).check(
        controls=[["--rounds", "5"]],
        cases=[Case(mutant, ["--rounds", "30"], TOO_MUCH) for mutant in ("skip-guard", "usage-first")])
