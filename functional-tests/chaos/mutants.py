"""Chaos must notice when a guard is missing: it runs with each mutant, and each must make it fail.

    python -m functional_tests.chaos.mutants --binary PATH [--runs N] [--only MUTANT,…]

The binary is one built with `cargo build --features mutants,mariadb`. A run ends with the first
violation. The same runs have to pass without a mutant, each for a while.
"""

from functional_tests.lib.mutant_runs import Case, MutantRuns, arguments

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
    Case("skip-guard", ["--foreign-writer", *STILL], (GENERATION, TOO_MUCH)),
    Case("usage-first", [*SEVERAL, *STILL, "--mostly", "refill"], (TOO_MUCH,)),
    # What a process says of a doubt, and what it does, are no longer one.
    Case("drop-fence", [*SEVERAL, *LATE], (ORDER,)),
    Case("drop-fence", ["--engine", "mariadb", "--processes", "3", *LATE], (ORDER,)),
    # Memory is behind, or drifts away.
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
