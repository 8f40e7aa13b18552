"""The race must notice a missing safeguard: it is run with each mutant, and must fail.

    python -m functional_tests.race.mutants --binary PATH [--runs N] [--only MUTANT,…]

The binary must be built with `cargo build --features mutants`.
"""

from functional_tests.lib.mutant_runs import Case, MutantRuns, arguments

OVERSUBSCRIBED = ("were granted", "oversubscribed")
PUTS = ["--races", "puts", "--rounds"]
# Each mutant, the race that notices it, and the beginning of a message.
CHOICES = [
    ("skip-state", "states", ("claims were granted with the generations", "a claim beside the description")),
    ("first-candidate-only", "candidates", ("were granted",)),
    ("keep-lost-gang", "gangs", ("a gang is partly there",)),
    ("skip-guard", "candidates", (*OVERSUBSCRIBED, "generation")),
    ("look-once", "twins", ("two answers to one call differ",)),
    ("forget-answers", "twins", ("two answers to one call differ", ", remembered")),
]

BROKEN, OVER_NORMAL = "a rule was broken by a placement", "went over the normal limit"
WORKLOADS = [
    ("judge-room", ["--races", "workloads"], (BROKEN,)),
    ("skip-level", ["--races", "workloads"], (BROKEN,)),
    ("skip-normal-limit", ["--races", "limits"], (OVER_NORMAL,)),
    ("skip-neighbours", ["--races", "neighbours"], (BROKEN,)),
    ("skip-neighbours", ["--engine", "postgresql", "--races", "neighbours"], (BROKEN,))]

if __name__ == "__main__":
    MutantRuns("functional_tests.race.run", arguments(__doc__)).check(
        controls=[[*PUTS, "5"], ["--races", "candidates,gangs,queries,twins", "--rounds", "3"],
                  ["--races", "workloads,limits,neighbours", "--rounds", "4"]],
        cases=[*(Case(mutant, [*PUTS, "30"], OVERSUBSCRIBED) for mutant in ("skip-guard", "usage-first")),
               Case("trust-idle", ["--engine", "postgresql", "--races", "states", "--rounds", "6"],
                    ("a claim beside the description",)),
               *(Case(mutant, ["--races", race, "--rounds", "12"], seen) for mutant, race, seen in CHOICES),
               *(Case(mutant, [*options, "--rounds", "6"], seen) for mutant, options, seen in WORKLOADS)])
