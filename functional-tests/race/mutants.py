"""The race must notice a missing safeguard: it is run with each mutant, and must fail.

    python -m functional_tests.race.mutants --binary PATH [--runs N] [--only MUTANT,…]

The binary must be built with `cargo build --features mutants`. A race has as many rounds as in `./tox.sh`, so that this
number is known to notice the mutants. More rounds must notice the missing guard: in as few, some seeds bring no
foreign claim between the decision and the write of a claim.
"""

from functional_tests.lib.mutant_runs import Case, MutantRuns, arguments

ON_SQLITE, ON_POSTGRESQL = [], ["--engine", "postgresql", "--rounds", "1"]
IN_MORE_ROUNDS = ["--rounds", "12"]
GANGS, TWINS = "gangs,query-gangs,mixed-gangs", "twins,gang-twins,query-twins"
OVERSUBSCRIBED = ("were granted", "oversubscribed")
UNGUARDED = (*OVERSUBSCRIBED, "generation")
BROKEN, OVER_NORMAL = "a rule was broken by a placement", "went over the normal limit"
BESIDE = "a claim beside the description"
# Each mutant, the races that notice it, and the beginning of a message.
CASES = [
    ("skip-guard", IN_MORE_ROUNDS, "puts", UNGUARDED),
    ("skip-guard", IN_MORE_ROUNDS, "candidates", UNGUARDED),
    ("usage-first", ON_SQLITE, "puts", OVERSUBSCRIBED),
    ("trust-idle", ON_POSTGRESQL, "states", (BESIDE,)),
    ("skip-state", ON_SQLITE, "states", ("claims were granted with the generations", BESIDE)),
    ("first-candidate-only", ON_SQLITE, "candidates", ("were granted",)),
    ("keep-lost-gang", ON_SQLITE, GANGS, ("a gang is partly there",)),
    ("look-once", ON_SQLITE, TWINS, ("two answers to one call differ",)),
    ("forget-answers", ON_SQLITE, TWINS, ("two answers to one call differ", ", remembered")),
    ("judge-room", ON_SQLITE, "workloads", (BROKEN, "breaks a rule")),
    ("skip-level", IN_MORE_ROUNDS, "workloads", (BROKEN,)),
    ("skip-normal-limit", ON_SQLITE, "limits", (OVER_NORMAL,)),
    ("skip-neighbours", ON_SQLITE, "neighbours", (BROKEN,)),
    ("skip-neighbours", ON_POSTGRESQL, "neighbours", (BROKEN,))]

if __name__ == "__main__":
    MutantRuns("functional_tests.race.run", arguments(__doc__)).check(
        controls=[[*on, "--races", ",".join({races: None for _, where, races, _ in CASES if where is on})]
                  for on in (ON_SQLITE, IN_MORE_ROUNDS, ON_POSTGRESQL)],
        cases=[Case(mutant, [*on, "--races", races], seen) for mutant, on, races, seen in CASES])
