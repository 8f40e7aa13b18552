"""The test must notice a missing safeguard: it is run with the mutant, and must fail.

    python -m functional_tests.held_rows.mutants --binary PATH [--engine postgresql|mariadb] [--runs N]
                                                 [--only MUTANT,…]

The binary must be built with `cargo build --features mutants,mariadb`.
"""

from functional_tests.lib.mutant_runs import Case, MutantRuns, arguments

# A batch of which one command waits for a held row is not split: the others wait with it.
WAIT_TOGETHER = "wait-together"
NOTICED = "FAILED  {}: no request for other rows waits"


def main():
    given = arguments(__doc__, ("postgresql", "mariadb"))
    options = ["--engine", given.engine]
    MutantRuns("functional_tests.held_rows.run", given).check(
        controls=[options],
        cases=[Case(WAIT_TOGETHER, [*options, name], (NOTICED.format(name),)) for name in ("transaction", "consumer")])


if __name__ == "__main__":
    main()
