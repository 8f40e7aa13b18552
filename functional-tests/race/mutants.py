"""The race must notice a missing safeguard: it is run with each mutant, and must fail.

    python -m functional_tests.race.mutants --binary PATH [--runs N] [--only MUTANT,…]

The binary must be built with `cargo build --features mutants`.
"""

from functional_tests.lib.mutant_runs import Case, MutantRuns, arguments

OVERSUBSCRIBED = ("were granted", "oversubscribed")

if __name__ == "__main__":
    MutantRuns("functional_tests.race.run", arguments(__doc__)).check(
        controls=[["--rounds", "5"]],
        cases=[Case(mutant, ["--rounds", "30"], OVERSUBSCRIBED) for mutant in ("skip-guard", "usage-first")])
