"""What the judge has to say of answers that were made up over small forests. run.py counts each kind as a test."""

import copy

from functional_tests.differential import candidates, judge_mutations, oracle
from functional_tests.differential.candidates_query import CandidatesQuery
from functional_tests.differential.forest import Forest, Provider
from functional_tests.differential.judge_mutations import Made
from functional_tests.differential.request import SHARING

INVENTORY = {"total": 8, "reserved": 0, "min_unit": 1, "max_unit": 8, "step_size": 1, "allocation_ratio": 1.0}


def provider(uuid, has, parent=None, traits=(), aggregates=(), **limits):
    """A provider below `parent`, or a root."""
    return Provider(uuid, parent, parent or uuid, {name: INVENTORY | limits for name in has.split()},
                    dict.fromkeys(has.split(), 0), set(traits), set(aggregates))


# Three hosts and the pool that all of them share; the same below a cabinet; two trees with two nodes each.
POOL = Forest([provider(f"host-{n}", "VCPU", aggregates=["red"]) for n in (1, 2, 3)] +
              [provider("pool", "DISK_GB", traits=[SHARING], aggregates=["red"])])
CABINET = Forest([provider("host", "VCPU", aggregates=["red"]), provider("cabinet", ""),
                  provider("pool", "DISK_GB", "cabinet", traits=[SHARING], aggregates=["red"])])
NODES = Forest([provider("one", ""), provider("one-a", "VCPU", "one", aggregates=["red"], max_unit=5),
                provider("one-b", "VCPU", "one", aggregates=["red"]), provider("two", ""),
                provider("two-a", "VCPU", "two", aggregates=["red"], max_unit=2), provider("two-b", "VCPU", "two")])

WRONG, NOTHING = "wrong", "nothing"


def asks(query, minor=39):
    return CandidatesQuery(f"/allocation_candidates?{query}", minor)


def right_body(forest, asked, found=None):
    """The body of a right answer, with all candidates or some of them."""
    found = list(oracle.candidates(forest, asked)) if found is None else found
    shown = [oracle.written(asked, candidate) for candidate in found]
    return {"allocation_requests": shown, "provider_summaries": oracle.summaries(forest, asked, candidates.used_by(shown))}


def raised(body, uuid, by):
    """The body, with more of VCPU from one provider in every candidate that has it."""
    body = copy.deepcopy(body)
    for candidate in body["allocation_requests"]:
        if uuid in candidate["allocations"]:
            candidate["allocations"][uuid]["resources"]["VCPU"] += by
    return body


def said(forest, asked, theirs, ours):
    """What the judge says: the row of a defect, or one of two words."""
    wrong, defect = candidates.judge(forest, asked, theirs, ours)
    return WRONG if wrong else defect or NOTHING


def using(forest, asked, *uuids):
    return [it for it in oracle.candidates(forest, asked) if {key[0] for key, _ in it.amounts} & set(uuids)]


def mutants():
    """Right answers made wrong, at every version that writes them in another way: (what, what is to be said, what is)."""
    made = set()
    for minor in (10, 12, 17, 28, 29, 34, 39):
        for query in ["resources=VCPU:3"] + (["resources=VCPU:3&limit=2"] if minor >= 16 else []):
            asked = asks(query, minor)
            whole = right_body(NODES, asked)
            limited = whole if asked.limit is None else right_body(NODES, asked, using(NODES, asked, "one-a", "one-b"))
            theirs, ours = (Made(kind, limited, whole) for kind in ("upstream", "placet"))
            yield f"right answers to {query} of 1.{minor}", NOTHING, said(NODES, asked, theirs, ours)
            for name, mutant in judge_mutations.mutants(asked, ours):
                made.add(name)
                yield f"{name} ({query} of 1.{minor})", WRONG, said(NODES, asked, theirs, mutant)
            for name, mutant in judge_mutations.mutants(asked, theirs):
                yield f"upstream {name} ({query} of 1.{minor})", WRONG, said(NODES, asked, mutant, ours)
    yield "mutants of every kind", set(judge_mutations.MUTATIONS), made


def limits():
    asked = asks("resources=VCPU:3&limit=1")
    bodies = [right_body(NODES, asked, using(NODES, asked, *uuids)) for uuids in (["one-a"], ["one-a", "two-b"], ["one-b"])]
    one, two, other = bodies
    whole = right_body(NODES, asked)
    theirs = Made("upstream", other, whole)
    yield "another one under a limit", NOTHING, said(NODES, asked, theirs, Made("placet", one, whole))
    yield "more than the limit", WRONG, said(NODES, asked, theirs, Made("placet", two, whole))
    yield "not all without the limit", WRONG, said(NODES, asked, theirs, Made("placet", one, two))
    yield "a stranger under the limit", WRONG, said(NODES, asked, theirs, Made("placet", raised(one, "one-a", 1), whole))
    none = right_body(NODES, asked, [])
    yield "nobody under the limit", WRONG, said(NODES, asked, theirs, Made("placet", none, whole))
    yield "nobody at all", WRONG, said(NODES, asked, theirs, Made("placet", none))


def lost_trees():
    for minor in (28, 39):
        asked = asks("resources=DISK_GB:1&resources1=VCPU:1", minor)
        ours = Made("placet", right_body(POOL, asked))
        for hosts, word in ((["host-1"], candidates.LOST_TREES), ([], candidates.LOST_TREES), (["host-1", "host-2"], WRONG)):
            theirs = Made("upstream", right_body(POOL, asked, using(POOL, asked, *hosts)))
            yield f"{len(hosts)} of three trees are kept (1.{minor})", word, said(POOL, asked, theirs, ours)
            yield f"placet keeps no more than {hosts}", WRONG, said(POOL, asked, theirs, Made("placet", theirs.limited))
            for name, mutant in judge_mutations.mutants(asked, ours):
                yield f"{name} where {hosts} are kept", WRONG, said(POOL, asked, theirs, mutant)
            for name, mutant in judge_mutations.mutants(asked, theirs) if hosts else ():
                yield f"upstream {name} where {hosts} are kept", WRONG, said(POOL, asked, mutant, ours)


def sums():
    asked = asks("resources=VCPU:3&resources1=VCPU:2&member_of1=red")
    body = right_body(NODES, asked)
    ours = Made("placet", body)
    without = {uuid: right_body(NODES, asked, [it for it in oracle.candidates(NODES, asked) if it not in
                                               using(NODES, asked, uuid)]) for uuid in ("one-a", "two-a")}
    for name, word, answer in (
            ("an amount is added twice", candidates.SUMS, raised(body, "one-a", 2)),
            ("an amount is too large by what nobody asks", WRONG, raised(body, "one-a", 1)),
            ("an amount is too small", WRONG, raised(body, "one-a", -1)),
            ("an amount is too large where none meet", WRONG, raised(body, "two-a", 2)),
            ("a candidate is lost where amounts meet", candidates.SUMS, without["one-a"]),
            ("a candidate is lost where none meet", WRONG, without["two-a"])):
        yield f"sums: {name}", word, said(NODES, asked, Made("upstream", answer), ours)
        if word != WRONG:
            yield f"placet: {name}", WRONG, said(NODES, asked, Made("upstream", answer), Made("placet", answer))
    for name, mutant in judge_mutations.mutants(asked, Made("upstream", raised(body, "one-a", 2))):
        # These two can come of the defect.
        if name not in ("a candidate is lost", "an amount is wrong"):
            yield f"sums: {name}", WRONG, said(NODES, asked, mutant, ours)


def shared_from_below():
    asked = asks("resources=DISK_GB:1&resources1=VCPU:1")
    lost = Made("upstream", {"errors": [{"detail": "The server has made an error.\n\n 7  "}]}, status=500)
    ours = Made("placet", right_body(CABINET, asked))
    yield "a 500 with a pool in a cabinet", candidates.SHARED_FROM_BELOW, said(CABINET, asked, lost, ours)
    forbidding = asks(f"resources=DISK_GB:1&resources1=VCPU:1&required=!{SHARING}")
    nobody = Made("placet", right_body(CABINET, forbidding))
    yield "a 500 where a trait forbids the pool", candidates.SHARED_FROM_BELOW, said(CABINET, forbidding, lost, nobody)
    yield "a 500 without a cabinet", NOTHING, said(POOL, asked, lost, Made("placet", right_body(POOL, asked)))
    for name, mutant in judge_mutations.mutants(asked, ours):
        yield f"{name} where upstream answers 500", WRONG, said(CABINET, asked, lost, mutant)


def check(tests, verbose):
    for cases in (mutants, limits, lost_trees, sums, shared_from_below):
        said_wrong = [f"{name}: {word} was to be said, not {got}" for name, word, got in cases() if word != got]
        if said_wrong:
            tests.fail(f"verdicts: {cases.__name__}", "\n".join(said_wrong))
        else:
            tests.ok(f"verdicts: {cases.__name__}", show=verbose)
