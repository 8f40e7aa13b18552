"""The shapes that OpenStack Placement's defects give to an answer with candidates.

`right` are the candidates of `oracle.candidates`. `shown` is the list of candidates in the answer.
"""

from collections import Counter, namedtuple
from dataclasses import replace

from functional_tests.differential import candidates_query as versions, oracle

# A candidate without its amounts: (provider, class) pairs, and the mappings if the microversion has them.
Frame = namedtuple("Frame", "keys mappings")


def part_without_suffix(assignment):
    """The part of the group without a suffix, or None."""
    return next((part for part in assignment.parts if part.suffix == ""), None)


def common(forest, asked):
    """The parts that serve the group without a suffix in several trees, with the roots of these trees. Without other
    groups there are none."""
    found = {}
    for root, options in oracle.options_by_root(forest, asked):
        for part in (part for parts in options for part in parts if part.suffix == ""):
            found.setdefault(part, set()).add(root)
    return {part: roots for part, roots in found.items() if len(roots) > 1} if len(asked.groups) > 1 else {}


def has_lost_trees(forest, asked, right, shown):
    """Whether the answer keeps each part that several trees have in common for only one of them, whichever it is."""
    by_tree = {part: {root: set() for root in roots} for part, roots in common(forest, asked).items()}
    kept = set()
    for candidate, assignments in right.items():
        for it in assignments:
            by_tree.get(part_without_suffix(it), {}).get(it.root, kept).add(candidate)
    texts = {candidate: oracle.text(oracle.written(asked, candidate)) for candidate in right}
    options = [set(map(frozenset, choices.values())) for choices in by_tree.values()]
    return bool(options) and leads_to(Counter(map(oracle.text, shown)), kept, options, texts)


def leads_to(shown, kept, options, texts):
    so_far = Counter(texts[candidate] for candidate in kept)
    if not options or not so_far <= shown:
        return so_far == shown
    return any(leads_to(shown, kept | choice, options[1:], texts) for choice in options[0])


def added_up(forest, asked):
    """The (provider, class) pairs where an amount of the group without a suffix is added to one of a granular group."""
    found = set()
    if asked.policy != "none":
        for it in oracle.assignments(forest, asked):
            keys = [{(uuid, name) for uuid, name, _ in part.shares} for part in it.parts if part.suffix]
            lone = {(uuid, name) for uuid, name, _ in getattr(part_without_suffix(it), "shares", ())}
            found |= lone & set().union(*keys)
    return found


def has_sums(forest, asked, right, shown):
    """Whether only added amounts are too large, by amounts of groups, and only candidates with them are lost."""
    unsure, losable = added_up(forest, asked), common(forest, asked)
    exact, most, needed = {}, Counter(), Counter()
    for candidate, assignments in right.items():
        amounts = dict(candidate.amounts)
        mappings = {suffix: sorted(uuids) for suffix, uuids in candidate.mappings}
        mapped = str(sorted(mappings.items())) if asked.minor >= versions.MAPPINGS_MINOR else ""
        frame = Frame(frozenset(amounts), mapped)
        exact.setdefault(frame, []).append(amounts)
        most[frame] += len(assignments)
        needed[frame] += not (amounts.keys() & unsure or any(part_without_suffix(it) in losable for it in assignments))
    got = Counter()
    for frame, amounts in map(framed, shown):
        got[frame] += 1
        if not any(is_too_large(asked, unsure, amounts, its) for its in exact.get(frame, ())):
            return False
    return bool(unsure) and got <= most and needed <= got


def framed(shown):
    shares = shown["allocations"]
    if isinstance(shares, list):
        shares = {share["resource_provider"]["uuid"]: share for share in shares}
    amounts = {(uuid, name): amount for uuid, share in shares.items() for name, amount in share["resources"].items()}
    mappings = {suffix: sorted(uuids) for suffix, uuids in shown.get("mappings", {}).items()}
    return Frame(frozenset(amounts), str(sorted(mappings.items())) if mappings else ""), amounts


def is_too_large(asked, unsure, amounts, right):
    """Whether each amount is right, or is an added amount that is too large by amounts of groups."""
    asks = asked.classes()
    return all(amount == right[key] or (key in unsure and amount - right[key] in multiples(asks[key[1]], amount))
               for key, amount in amounts.items())


def multiples(steps, most):
    """The sums up to `most` of any of `steps`, each any number of times."""
    found = {0}
    for total in range(1, most + 1):
        if any(total - step in found for step in steps):
            found.add(total)
    return found


def lacks_negative_trees(forest, asked, right, shown):
    """Whether the answer lacks the candidates of each tree where the capacities add up to less than the groups ask for,
    because a negative one is among them, and no others."""
    lost = negative_trees(forest, asked)
    kept = [candidate for candidate, assignments in right.items() if not {it.root for it in assignments} <= lost]
    return bool(lost) and Counter(map(oracle.text, shown)) == Counter(
        oracle.text(oracle.written(asked, candidate)) for candidate in kept)


def negative_trees(forest, asked):
    """The roots of the trees where a class of several groups has less capacity than they ask for together, over the
    providers that serve any group."""
    amounts = {}
    for name, amount in (asks for group in asked.groups for asks in group.resources.items()):
        amounts.setdefault(name, []).append(amount)
    several = {name: sum(its) for name, its in amounts.items() if len(its) > 1}
    return {root for root, options in oracle.options_by_root(forest, asked)
            for serving in [{uuid for parts in options for part in parts for uuid, _, _ in part.shares}]
            if any(sum(capacity(forest.of[uuid], name) for uuid in serving) < amount for name, amount in several.items())}


def capacity(provider, name):
    it = provider.inventories.get(name)
    return int((it["total"] - it["reserved"]) * it["allocation_ratio"]) if it else 0


def is_shared_from_below(forest, asked):
    """Whether a provider that is not a root may serve the group without a suffix of another tree. OpenStack Placement
    fails before it checks the traits of this group."""
    return any(forest.of[uuid].root not in (root.uuid, uuid)
               for root in forest.roots() if asked.root.hold(root.traits)
               for group in asked.groups if group.suffix == ""
               for part in oracle.parts_without_suffix(forest, replace(group, traits=versions.Traits()), root)
               for uuid in part.providers)
