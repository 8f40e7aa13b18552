"""The slow and obvious oracle of allocation candidates: it goes through everything, as the API's documents tell it."""

import itertools
import json
from collections import Counter, namedtuple

from functional_tests.differential import candidates_query as versions
from functional_tests.differential.compare import ordered

# How one group is served: by whom, and with which (provider, class, amount).
Part = namedtuple("Part", "suffix providers shares")
# One part for each group, for the tree of this root.
Way = namedtuple("Way", "root parts")
# Both as a frozenset of items: {(provider, class): amount}, {suffix: providers}.
Candidate = namedtuple("Candidate", "amounts mappings")


def ways(forest, asked):
    """Every way to serve all groups that heeds all but what providers have room for together."""
    for root, options in options_by_root(forest, asked):
        for parts in itertools.product(*options):
            if is_apart(asked, parts) and all(in_subtree(forest, parts, rule) for rule in asked.subtrees):
                yield Way(root, parts)


def options_by_root(forest, asked):
    """For the root of each tree that may be meant: a list of parts for each group."""
    for root in forest.roots():
        if asked.root.hold(root.traits):
            yield root.uuid, [together(forest, group, root) if group.suffix == "" else alone(forest, group, root)
                              for group in asked.groups]


def together(forest, group, root):
    """The group without a suffix: any provider for any class; all of them have the traits together."""
    serving = [it for it in forest.of.values() if may_serve(forest, group, root, it)]
    options = [[(it.uuid, name, amount) for it in serving if it.gives(name, amount)]
               for name, amount in group.resources.items()]
    parts = (Part("", frozenset(share[0] for share in shares), frozenset(shares))
             for shares in itertools.product(*options))
    return [part for part in parts
            if group.traits.hold(set().union(*(forest.of[uuid].traits for uuid in part.providers)))]


def may_serve(forest, group, root, provider):
    """An aggregate of the root is one of its whole tree; who comes from elsewhere has to be in it itself."""
    inside, root_inside = (all(any_of & it.aggregates for any_of in group.inside) for it in (provider, root))
    outside = group.outside & (provider.aggregates | root.aggregates)
    if outside or not forest.serves(provider, root.uuid):
        return False
    if provider.root != root.uuid:
        return inside and group.in_tree is None
    named = forest.of.get(group.in_tree)
    return (inside or root_inside) and (group.in_tree is None or (named is not None and named.root == root.uuid))


def alone(forest, group, root):
    """A granular group: one provider has all of it, and its traits and aggregates itself."""
    named = forest.of.get(group.in_tree)
    if group.in_tree is not None and named is None:
        return []
    if not group.resources and not group.traits.required and not group.inside:
        # Who gives nothing is found by what is required of it.
        return []
    found = [it for it in forest.of.values()
             if forest.serves(it, root.uuid) and group.traits.hold(it.traits)
             and all(any_of & it.aggregates for any_of in group.inside) and not group.outside & it.aggregates
             and (named is None or not group.resources or it.root == named.root)
             and all(it.gives(name, amount) for name, amount in group.resources.items())]
    return [Part(group.suffix, frozenset([it.uuid]),
                 frozenset((it.uuid, name, amount) for name, amount in group.resources.items())) for it in found]


def is_apart(asked, parts):
    granular = [part.providers for part in parts if part.suffix]
    return asked.policy != "isolate" or len(frozenset().union(*granular)) == len(granular)


def in_subtree(forest, parts, suffixes):
    """One of the providers that serve these groups stands above all the others."""
    uuids = frozenset().union(*(part.providers for part in parts if part.suffix in suffixes))
    return any(all(top in forest.above(uuid) for uuid in uuids) for top in uuids)


def candidates(forest, asked):
    """Each candidate, with the ways that lead to it."""
    found = {}
    for way in ways(forest, asked):
        amounts = Counter()
        for part in way.parts:
            for uuid, name, amount in part.shares:
                amounts[uuid, name] += amount
        used = {uuid for uuid, _ in amounts}
        if asked.minor < versions.NESTED and len({forest.of[uuid].root for uuid in used}) < len(used):
            continue
        if all(forest.of[uuid].gives(name, amount) for (uuid, name), amount in amounts.items()):
            mappings = frozenset((part.suffix, part.providers) for part in way.parts)
            found.setdefault(Candidate(frozenset(amounts.items()), mappings), []).append(way)
    return found


def text(value):
    """One text for what is the same in another order."""
    return json.dumps(ordered(value), sort_keys=True)


def written(asked, candidate):
    """A candidate as the version writes it."""
    shares = {}
    for (uuid, name), amount in candidate.amounts:
        shares.setdefault(uuid, {"resources": {}})["resources"][name] = amount
    if asked.minor < versions.BY_PROVIDER:
        return {"allocations": [{"resource_provider": {"uuid": uuid}} | share for uuid, share in shares.items()]}
    if asked.minor < versions.MAPPINGS:
        return {"allocations": shares}
    return {"allocations": shares, "mappings": {suffix: sorted(uuids) for suffix, uuids in candidate.mappings}}


def summaries(forest, asked, used):
    """Who is summed up where these providers are used: from 1.29 on their whole trees."""
    roots = {forest.of[uuid].root for uuid in used}
    shown = used if asked.minor < versions.NESTED else {uuid for uuid, it in forest.of.items() if it.root in roots}
    return {uuid: summary(asked, forest.of[uuid]) for uuid in shown}


def summary(asked, provider):
    shown = provider.inventories if asked.minor >= versions.ALL_CLASSES else asked.classes()
    told = {"resources": {
        name: {"capacity": int((it["total"] - it["reserved"]) * it["allocation_ratio"]), "used": provider.used[name]}
        for name, it in provider.inventories.items() if name in shown}}
    if asked.minor >= versions.TRAITS:
        told["traits"] = sorted(provider.traits)
    if asked.minor >= versions.NESTED:
        told |= {"parent_provider_uuid": provider.parent, "root_provider_uuid": provider.root}
    return told
