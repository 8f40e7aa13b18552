"""Runs the suite cross_process with mutants, each of which lacks a safeguard. Each must make the suite fail.

    python -m functional_tests.cross_process.mutants --binary PATH [--runs N] [--only MUTANT,…]

The binary is one built with `cargo build --features mutants`.

The suite runs on PostgreSQL. Other mutants show only at a full provider, which the suite race has, after an hour, or in
a window too small for this suite. The unit tests find those (race/unit_mutants.py).
"""

from functional_tests.lib.mutant_runs import Case, MutantRuns, arguments

ENGINE = ["--engine", "postgresql"]
# The mutants show when writes overlap with reads that follow other writes. Few reads for each write make more overlaps.
MANY_STEPS = ["--steps", "10000", "--reads", "2"]
REASONS = ("expected",)

if __name__ == "__main__":
    MutantRuns("functional_tests.cross_process.run", arguments(__doc__)).check(
        controls=[[*ENGINE, "--steps", "1200"]],
        cases=[Case(mutant, [*ENGINE, *MANY_STEPS], REASONS) for mutant in ("share-in-flight", "revisions-before")])
