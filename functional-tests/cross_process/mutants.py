"""Elsewhere must notice when a guard is missing: it runs with each mutant, and each must make it fail.

    python -m functional_tests.cross_process.mutants --binary PATH [--runs N] [--only MUTANT,…]

The binary is one built with `cargo build --features mutants`.

On PostgreSQL. What others do shows at a full provider alone (the race sees it), after an hour, or in a window too small to
be met here: the unit tests see those (race/unit_mutants.py).
"""

from functional_tests.lib.mutant_runs import Case, MutantRuns, arguments

SERVER = ["--engine", "postgresql"]
# Writes have to meet what is read again after others: with few reads between them there are many at once.
MANY = ["--steps", "10000", "--reads", "2"]
SHOWN = ("expected",)

if __name__ == "__main__":
    MutantRuns("functional_tests.cross_process.run", arguments(__doc__)).check(
        controls=[[*SERVER, "--steps", "1200"]],
        cases=[Case(mutant, [*SERVER, *MANY], SHOWN) for mutant in ("share-in-flight", "revisions-before")])
