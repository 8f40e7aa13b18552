"""Without the fence a late COMMIT takes effect although its caller was refused: the test must notice that.

    python -m functional_tests.commit_outcome.mutants [--engine postgresql|mariadb] --binary PATH [--runs N]

The binary must be built with `cargo build --features mutants`.
"""

from functional_tests.lib.mutant_runs import Case, MutantRuns, arguments

if __name__ == "__main__":
    given = arguments(__doc__, engines=("postgresql", "mariadb"))
    run = ["--engine", given.engine, "--no-full", "statements"]
    MutantRuns("functional_tests.commit_outcome.run", given).check(
        controls=[run], cases=[Case("drop-fence", run, ("it happened all the same",))])
