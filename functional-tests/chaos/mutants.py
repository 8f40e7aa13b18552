"""Chaos must notice a missing guard: it is run with each mutant, and must fail.

    python -m functional_tests.chaos.mutants --binary PATH [--runs N] [--only MUTANT,…]

The binary must be built with `cargo build --features mutants,mariadb`. A run ends at the first violation. The same runs
must pass without a mutant for CONTROL_SECONDS.
"""

from functional_tests.lib.mutant_runs import Case, MutantRuns, arguments

CONTROL_SECONDS, SECONDS = "20", "120"
SEVERAL = ["--engine", "postgresql", "--processes", "3"]
STILL = ["--faults", ""]
LATE = ["--faults", "late-commit"]
# The beginning of each kind's violations.
ORDER, TWICE, GENERATION, USAGE, TOO_MUCH, DIFFER = (
    "no order: ", "released twice: ", "generation: ", "usage: ", "oversubscribed: ", "answers differ: ")

CASES = [
    # Without the guard of generations a claim may be planned on an outdated usage.
    Case("skip-guard", [*SEVERAL, *STILL], (GENERATION, TOO_MUCH)),
    Case("skip-guard", ["--foreign-writer", *STILL], (GENERATION, TOO_MUCH)),
    Case("usage-first", [*SEVERAL, *STILL, "--mostly", "refill"], (TOO_MUCH,)),
    # Without the fence an in-doubt commit may happen after it was answered as undone.
    Case("drop-fence", [*SEVERAL, *LATE], (ORDER,)),
    Case("drop-fence", ["--engine", "mariadb", "--processes", "3", *LATE], (ORDER,)),
    # The snapshot lags behind the tables, or diverges from them.
    Case("share-in-flight", [*SEVERAL, *STILL, "--mostly", "read_own_write"], (GENERATION, USAGE)),
    Case("subtract-unremoved", [*SEVERAL, *STILL, "--mostly", "contend"], (USAGE, DIFFER, ORDER, TWICE)),
    Case("set-deltas", [*SEVERAL, *STILL], (GENERATION, USAGE, DIFFER)),
]


def main():
    runs = []
    for case in CASES:
        if case.options not in runs:
            runs.append(case.options)
    MutantRuns("functional_tests.chaos.run", arguments(__doc__)).check(
        controls=[[*options, "--seconds", CONTROL_SECONDS] for options in runs],
        cases=[case._replace(options=[*case.options, "--seconds", SECONDS]) for case in CASES])


if __name__ == "__main__":
    main()
