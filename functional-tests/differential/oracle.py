"""The oracle of allocation candidates: a slow, exhaustive search, written from the API's documents."""

import itertools
import json
from collections import Counter, namedtuple

from functional_tests.differential import candidates_query as versions
from functional_tests.differential.compare import ordered

# How one group is served: by which providers, and with which (provider, class, amount).
Part = namedtuple("Part", "suffix providers shares")
# One part for each group, for the tree of this root.
Assignment = namedtuple("Assignment", "root parts")
# Both as a frozenset of items: {(provider, class): amount}, {suffix: providers}.
Candidate = namedtuple("Candidate", "amounts mappings")


def assignments(forest, asked):
    """Every assignment of all groups. Whether the added amounts of a provider fit is not checked here."""
    for root, options in options_by_root(forest, asked):
        for parts in itertools.product(*options):
            if is_apart(asked, parts) and all(in_subtree(forest, parts, rule) for rule in asked.subtrees):
                yield Assignment(root, parts)


def options_by_root(forest, asked):
    """Yields each root that has the traits of root_required, with a list of parts for each group."""
    for root in forest.roots():
        if asked.root.hold(root.traits):
            yield root.uuid, [(granular_parts if group.suffix else parts_without_suffix)(forest, group, root)
                              for group in asked.groups]


def parts_without_suffix(forest, group, root):
    """The group without a suffix: any provider for any class. The traits may be spread over these providers."""
    serving = [it for it in forest.of.values() if may_serve(forest, group, root, it)]
    options = [[(it.uuid, name, amount) for it in serving if it.gives(name, amount)]
               for name, amount in group.resources.items()]
    parts = (Part("", frozenset(share[0] for share in shares), frozenset(shares))
             for shares in itertools.product(*options))
    return [part for part in parts
            if group.traits.hold(set().union(*(forest.of[uuid].traits for uuid in part.providers)))]


def may_serve(forest, group, root, provider):
    """The aggregates of the root apply to its whole tree. A provider of another tree has to be in them itself."""
    inside, root_inside = (all(any_of & it.aggregates for any_of in group.inside) for it in (provider, root))
    outside = group.outside & (provider.aggregates | root.aggregates)
    if outside or not forest.serves(provider, root.uuid):
        return False
    if provider.root != root.uuid:
        return inside and group.in_tree is None
    named = forest.named(group.in_tree)
    return (inside or root_inside) and (group.in_tree is None or (named is not None and named.root == root.uuid))


def granular_parts(forest, group, root):
    """A granular group: one provider has all classes, traits and aggregates."""
    named = forest.named(group.in_tree)
    if group.in_tree is not None and named is None:
        return []
    if not group.resources and not group.traits.required and not group.inside:
        # A group without resources needs a required trait or aggregate, which names its provider.
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
    """One of the providers that serve these groups is an ancestor of all the others."""
    uuids = frozenset().union(*(part.providers for part in parts if part.suffix in suffixes))
    return any(all(top in forest.above(uuid) for uuid in uuids) for top in uuids)


def candidates(forest, asked):
    """Each candidate, with the assignments that lead to it."""
    found = {}
    for assignment in assignments(forest, asked):
        amounts = Counter()
        for part in assignment.parts:
            for uuid, name, amount in part.shares:
                amounts[uuid, name] += amount
        used = {uuid for uuid, _ in amounts}
        if asked.minor < versions.NESTED_MINOR and len({forest.of[uuid].root for uuid in used}) < len(used):
            continue
        if all(forest.of[uuid].gives(name, amount) for (uuid, name), amount in amounts.items()):
            mappings = frozenset((part.suffix, part.providers) for part in assignment.parts)
            found.setdefault(Candidate(frozenset(amounts.items()), mappings), []).append(assignment)
    return found


def text(value):
    """A canonical text: values that differ only in the order of lists have the same."""
    return json.dumps(ordered(value), sort_keys=True)


def written(asked, candidate):
    """A candidate in the form of the microversion."""
    shares = {}
    for (uuid, name), amount in candidate.amounts:
        shares.setdefault(uuid, {"resources": {}})["resources"][name] = amount
    if asked.minor < versions.BY_PROVIDER_MINOR:
        return {"allocations": [{"resource_provider": {"uuid": uuid}} | share for uuid, share in shares.items()]}
    if asked.minor < versions.MAPPINGS_MINOR:
        return {"allocations": shares}
    return {"allocations": shares, "mappings": {suffix: sorted(uuids) for suffix, uuids in candidate.mappings}}


def summaries(forest, asked, used):
    """The summaries that come with these providers: their own, and from 1.29 on those of their whole trees."""
    roots = {forest.of[uuid].root for uuid in used}
    shown = used
    if asked.minor >= versions.NESTED_MINOR:
        shown = {uuid for uuid, it in forest.of.items() if it.root in roots}
    return {uuid: summary(asked, forest.of[uuid]) for uuid in shown}


def summary(asked, provider):
    shown = provider.inventories if asked.minor >= versions.ALL_CLASSES_MINOR else asked.classes()
    fields = {"resources": {
        name: {"capacity": int((it["total"] - it["reserved"]) * it["allocation_ratio"]), "used": provider.used[name]}
        for name, it in provider.inventories.items() if name in shown}}
    if asked.minor >= versions.TRAITS_MINOR:
        fields["traits"] = sorted(provider.traits)
    if asked.minor >= versions.NESTED_MINOR:
        fields |= {"parent_provider_uuid": provider.parent, "root_provider_uuid": provider.root}
    return fields
