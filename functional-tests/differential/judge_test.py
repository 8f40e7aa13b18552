"""Tests of the judge with made-up answers over small forests. run.py counts each function as a test."""

import copy

from functional_tests.differential import candidates, judge_mutations, oracle
from functional_tests.differential.candidates_query import CandidatesQuery
from functional_tests.differential.forest import Forest, Provider
from functional_tests.differential.judge_mutations import MadeUp
from functional_tests.differential.request import SHARING

INVENTORY = {"total": 8, "reserved": 0, "min_unit": 1, "max_unit": 8, "step_size": 1, "allocation_ratio": 1.0}


def provider(uuid, has, parent=None, traits=(), aggregates=(), **limits):
    """A provider below `parent`, or a root."""
    return Provider(uuid, parent, parent or uuid, {name: INVENTORY | limits for name in has.split()},
                    dict.fromkeys(has.split(), 0), set(traits), set(aggregates))


# POOL has three hosts and a pool that shares with all of them. The pool of CABINET is below a cabinet. NODES has two
# trees with two nodes each.
POOL = Forest([provider(f"host-{n}", "VCPU", aggregates=["red"]) for n in (1, 2, 3)] +
              [provider("pool", "DISK_GB", traits=[SHARING], aggregates=["red"])])
CABINET = Forest([provider("host", "VCPU", aggregates=["red"]), provider("cabinet", ""),
                  provider("pool", "DISK_GB", "cabinet", traits=[SHARING], aggregates=["red"])])
NODES = Forest([provider("one", ""), provider("one-a", "VCPU", "one", aggregates=["red"], max_unit=5),
                provider("one-b", "VCPU", "one", aggregates=["red"]), provider("two", ""),
                provider("two-a", "VCPU", "two", aggregates=["red"], max_unit=2), provider("two-b", "VCPU", "two")])

# Two trees of a host, a node and disks. The disks of the first have more reserved CPUs than they have.
RESERVED = Forest([it for root in ("less", "more") for it in (
    provider(root, "VCPU"), provider(f"{root}-node", "VCPU", root), provider(f"{root}-disks", "DISK_GB VCPU", root))])
RESERVED.of["less-disks"].inventories["VCPU"] = INVENTORY | {"reserved": 28}

WRONG, NOTHING = "wrong", "nothing"


def asks(query, minor=39):
    return CandidatesQuery(f"/allocation_candidates?{query}", minor)


def right_body(forest, asked, found=None):
    """The body of a right answer, with all candidates or some of them."""
    found = list(oracle.candidates(forest, asked)) if found is None else found
    shown = [oracle.written(asked, candidate) for candidate in found]
    return {"allocation_requests": shown, "provider_summaries": oracle.summaries(forest, asked, candidates.used_by(shown))}


def raised(body, uuid, by):
    """A copy of the body with a higher amount of VCPU in every candidate that uses the provider."""
    body = copy.deepcopy(body)
    for candidate in body["allocation_requests"]:
        if uuid in candidate["allocations"]:
            candidate["allocations"][uuid]["resources"]["VCPU"] += by
    return body


def verdict(forest, asked, theirs, ours):
    """The row of a defect, or one of two words."""
    wrong, defect = candidates.judge(forest, asked, theirs, ours)
    return WRONG if wrong else defect or NOTHING


def using(forest, asked, *uuids):
    return [it for it in oracle.candidates(forest, asked) if {key[0] for key, _ in it.amounts} & set(uuids)]


def mutants():
    """Yields (name, expected verdict, verdict) of mutants, at every version that changed the form of an answer."""
    made = set()
    for minor in (10, 12, 17, 28, 29, 34, 39):
        for query in ["resources=VCPU:3"] + (["resources=VCPU:3&limit=2"] if minor >= 16 else []):
            asked = asks(query, minor)
            whole = right_body(NODES, asked)
            limited = whole if asked.limit is None else right_body(NODES, asked, using(NODES, asked, "one-a", "one-b"))
            theirs, ours = (MadeUp(kind, limited, whole) for kind in ("upstream", "placet"))
            yield f"right answers to {query} of 1.{minor}", NOTHING, verdict(NODES, asked, theirs, ours)
            for name, mutant in judge_mutations.mutants(asked, ours):
                made.add(name)
                yield f"{name} ({query} of 1.{minor})", WRONG, verdict(NODES, asked, theirs, mutant)
            for name, mutant in judge_mutations.mutants(asked, theirs):
                yield f"upstream {name} ({query} of 1.{minor})", WRONG, verdict(NODES, asked, mutant, ours)
    yield "mutants of every kind", set(judge_mutations.MUTATIONS), made


def limits():
    asked = asks("resources=VCPU:3&limit=1")
    bodies = [right_body(NODES, asked, using(NODES, asked, *uuids)) for uuids in (["one-a"], ["one-a", "two-b"], ["one-b"])]
    one, two, other = bodies
    whole = right_body(NODES, asked)
    theirs = MadeUp("upstream", other, whole)
    yield "another candidate with a limit", NOTHING, verdict(NODES, asked, theirs, MadeUp("placet", one, whole))
    yield "more than the limit", WRONG, verdict(NODES, asked, theirs, MadeUp("placet", two, whole))
    yield "a candidate is missing without the limit", WRONG, verdict(NODES, asked, theirs, MadeUp("placet", one, two))
    invented = MadeUp("placet", raised(one, "one-a", 1), whole)
    yield "an invented candidate with a limit", WRONG, verdict(NODES, asked, theirs, invented)
    none = right_body(NODES, asked, [])
    yield "no candidate with a limit", WRONG, verdict(NODES, asked, theirs, MadeUp("placet", none, whole))
    yield "no candidate with or without a limit", WRONG, verdict(NODES, asked, theirs, MadeUp("placet", none))


def lost_trees():
    for minor in (28, 39):
        asked = asks("resources=DISK_GB:1&resources1=VCPU:1", minor)
        ours = MadeUp("placet", right_body(POOL, asked))
        for hosts, word in ((["host-1"], candidates.LOST_TREES), ([], candidates.LOST_TREES), (["host-1", "host-2"], WRONG)):
            theirs = MadeUp("upstream", right_body(POOL, asked, using(POOL, asked, *hosts)))
            yield f"{len(hosts)} of three trees are kept (1.{minor})", word, verdict(POOL, asked, theirs, ours)
            alike = MadeUp("placet", theirs.limited)
            yield f"placet loses all trees but {hosts}", WRONG, verdict(POOL, asked, theirs, alike)
            for name, mutant in judge_mutations.mutants(asked, ours):
                yield f"{name} where {hosts} are kept", WRONG, verdict(POOL, asked, theirs, mutant)
            for name, mutant in judge_mutations.mutants(asked, theirs) if hosts else ():
                yield f"upstream {name} where {hosts} are kept", WRONG, verdict(POOL, asked, mutant, ours)


def sums():
    asked = asks("resources=VCPU:3&resources1=VCPU:2&member_of1=red")
    body = right_body(NODES, asked)
    ours = MadeUp("placet", body)
    without = {uuid: right_body(NODES, asked, [it for it in oracle.candidates(NODES, asked) if it not in
                                               using(NODES, asked, uuid)]) for uuid in ("one-a", "two-a")}
    for name, word, answer in (
            ("an amount is added twice", candidates.SUMS, raised(body, "one-a", 2)),
            ("an amount is too large by no amount of a group", WRONG, raised(body, "one-a", 1)),
            ("an amount is too small", WRONG, raised(body, "one-a", -1)),
            ("an amount of one group is too large", WRONG, raised(body, "two-a", 2)),
            ("a candidate with added amounts is lost", candidates.SUMS, without["one-a"]),
            ("a candidate without added amounts is lost", WRONG, without["two-a"])):
        yield f"sums: {name}", word, verdict(NODES, asked, MadeUp("upstream", answer), ours)
        if word != WRONG:
            yield f"placet: {name}", WRONG, verdict(NODES, asked, MadeUp("upstream", answer), MadeUp("placet", answer))
    for name, mutant in judge_mutations.mutants(asked, MadeUp("upstream", raised(body, "one-a", 2))):
        # The defect can cause these two.
        if name not in ("a candidate is lost", "an amount is wrong"):
            yield f"sums: {name}", WRONG, verdict(NODES, asked, mutant, ours)


def shared_from_below():
    asked = asks("resources=DISK_GB:1&resources1=VCPU:1")
    lost = MadeUp("upstream", {"errors": [{"detail": "The server has made an error.\n\n 7  "}]}, status=500)
    ours = MadeUp("placet", right_body(CABINET, asked))
    yield "a 500 with a pool in a cabinet", candidates.SHARED_FROM_BELOW, verdict(CABINET, asked, lost, ours)
    forbidding = asks(f"resources=DISK_GB:1&resources1=VCPU:1&required=!{SHARING}")
    none = verdict(CABINET, forbidding, lost, MadeUp("placet", right_body(CABINET, forbidding)))
    yield "a 500 although a trait forbids the pool", candidates.SHARED_FROM_BELOW, none
    yield "a 500 without a cabinet", NOTHING, verdict(POOL, asked, lost, MadeUp("placet", right_body(POOL, asked)))
    for name, mutant in judge_mutations.mutants(asked, ours):
        yield f"{name} beside a 500 of upstream", WRONG, verdict(CABINET, asked, lost, mutant)


def negative_trees():
    asked = asks("resources1=VCPU:3&resources2=VCPU:3&resources3=DISK_GB:1&group_policy=isolate")
    ours = MadeUp("placet", right_body(RESERVED, asked))
    for name, word, kept in (("the tree with the negative capacity is lost", candidates.NEGATIVE, ["more"]),
                             ("the other tree is lost", WRONG, ["less"]), ("both trees are lost", WRONG, []),
                             ("no tree is lost", NOTHING, ["less", "more"])):
        shown = right_body(RESERVED, asked, using(RESERVED, asked, *kept))
        yield name, word, verdict(RESERVED, asked, MadeUp("upstream", shown), ours)
        yield f"placet: {name}", word if word == NOTHING else WRONG, verdict(
            RESERVED, asked, MadeUp("upstream", shown), MadeUp("placet", shown))
    fits = asks("resources1=VCPU:3&resources3=DISK_GB:1&group_policy=isolate")
    lost = MadeUp("upstream", right_body(RESERVED, fits, using(RESERVED, fits, "more", "more-node")))
    yield "a class of one group", WRONG, verdict(RESERVED, fits, lost, MadeUp("placet", right_body(RESERVED, fits)))


def line_feeds():
    """A parameter whose name ends in a line feed: OpenStack Placement accepts it, and ignores some of them."""
    for parameter, count in (("in_tree%0A=two", 1), ("required%0A=!CUSTOM_A", 3), ("member_of%0A=red", 3),
                             ("in_tree=two", 1), ("member_of=red", 2)):
        asked = asks(f"resources=VCPU:3&{parameter}")
        yield parameter, count, len(list(oracle.candidates(NODES, asked)))


def check(tests, verbose):
    for cases in (mutants, limits, lost_trees, sums, shared_from_below, negative_trees, line_feeds):
        wrong = [f"{name}: expected {word}, got {got}" for name, word, got in cases() if word != got]
        if wrong:
            tests.fail(f"verdicts: {cases.__name__}", "\n".join(wrong))
        else:
            tests.ok(f"verdicts: {cases.__name__}", show=verbose)
