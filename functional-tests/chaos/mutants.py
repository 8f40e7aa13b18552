"""Chaos must notice when a guard is missing: it runs with each mutant, and each must make it fail.

    chaos/mutants.py --binary PATH [--runs N] [--only MUTANT,…]

The binary is one built with `cargo build --features mutants,mariadb`. A run ends with the first
violation. The same runs have to pass without a mutant, each for a while.
"""

import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

from mutated import Case, Mutated, arguments  # noqa: E402

CONTROL_SECONDS, SECONDS = "20", "120"
SEVERAL = ["--engine", "postgresql", "--processes", "3"]
STILL = ["--faults", ""]
LATE = ["--faults", "late-commit"]
# What a violation of each kind begins with.
ORDER, TWICE, GENERATION, USAGE, TOO_MUCH, DIFFER = (
    "no order: ", "released twice: ", "generation: ", "usage: ", "oversubscribed: ", "answers differ: ")

CASES = [
    # Generations do not vouch for usage any more.
    Case("skip-guard", [*SEVERAL, *STILL], (GENERATION, TOO_MUCH)),
    Case("skip-guard", ["--stranger", *STILL], (GENERATION, TOO_MUCH)),
    Case("usage-first", [*SEVERAL, *STILL, "--habit", "squeeze"], (TOO_MUCH,)),
    # What a process says of a doubt, and what it does, are no longer one.
    Case("drop-fence", [*SEVERAL, *LATE], (ORDER,)),
    Case("drop-fence", ["--engine", "mariadb", "--processes", "3", *LATE], (ORDER,)),
    # Memory is behind, or drifts away.
    Case("share-in-flight", [*SEVERAL, *STILL, "--habit", "sit"], (GENERATION, USAGE)),
    Case("subtract-unremoved", [*SEVERAL, *STILL, "--habit", "quarrel"], (USAGE, DIFFER, ORDER, TWICE)),
    Case("set-deltas", [*SEVERAL, *STILL], (GENERATION, USAGE, DIFFER)),
]


def main():
    runs = []
    for case in CASES:
        if case.options not in runs:
            runs.append(case.options)
    Mutated(HERE / "run.py", arguments(__doc__)).check(
        controls=[[*options, "--seconds", CONTROL_SECONDS] for options in runs],
        cases=[case._replace(options=[*case.options, "--seconds", SECONDS]) for case in CASES])


if __name__ == "__main__":
    main()
