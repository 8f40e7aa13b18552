"""What OpenStack Placement's defects make of the right candidates: the shape that its answer has to have then.

`right` is what `oracle.candidates` found, `shown` is the list of candidates that was answered.
"""

from collections import Counter, namedtuple
from dataclasses import replace

from functional_tests.differential import candidates_query as versions, oracle

# A candidate without its amounts: who gives which class, and the mappings if the version shows them.
Frame = namedtuple("Frame", "keys mappings")


def lone(way):
    """How a way serves the group without a suffix."""
    return next((part for part in way.parts if part.suffix == ""), None)


def common(forest, asked):
    """How several trees alike can serve the group without a suffix beside others, with the roots of these trees."""
    found = {}
    for root, options in oracle.options_by_root(forest, asked):
        for part in (part for parts in options for part in parts if part.suffix == ""):
            found.setdefault(part, set()).add(root)
    return {part: roots for part, roots in found.items() if len(roots) > 1} if len(asked.groups) > 1 else {}


def has_lost_trees(forest, asked, right, shown):
    """What several trees have in common is kept for one of them only, and which one is all that is open."""
    by_tree = {part: {root: set() for root in roots} for part, roots in common(forest, asked).items()}
    kept = set()
    for candidate, ways in right.items():
        for way in ways:
            by_tree.get(lone(way), {}).get(way.root, kept).add(candidate)
    texts = {candidate: oracle.text(oracle.written(asked, candidate)) for candidate in right}
    options = [set(map(frozenset, choices.values())) for choices in by_tree.values()]
    return bool(options) and leads_to(Counter(map(oracle.text, shown)), kept, options, texts)


def leads_to(shown, kept, options, texts):
    so_far = Counter(texts[candidate] for candidate in kept)
    if not options or not so_far <= shown:
        return so_far == shown
    return any(leads_to(shown, kept | choice, options[1:], texts) for choice in options[0])


def added_up(forest, asked):
    """Where an amount of the group without a suffix and one of a granular group meet: (provider, class)."""
    found = set()
    if asked.policy != "none":
        for way in oracle.ways(forest, asked):
            keys = [{(uuid, name) for uuid, name, _ in part.shares} for part in way.parts if part.suffix]
            found |= {(uuid, name) for uuid, name, _ in getattr(lone(way), "shares", ())} & set().union(*keys)
    return found


def has_sums(forest, asked, right, shown):
    """Amounts that meet may be too large by what groups ask, and a candidate with such an amount may have been lost."""
    unsure, losable = added_up(forest, asked), common(forest, asked)
    exact, most, needed = {}, Counter(), Counter()
    for candidate, ways in right.items():
        amounts = dict(candidate.amounts)
        mappings = {suffix: sorted(uuids) for suffix, uuids in candidate.mappings}
        frame = Frame(frozenset(amounts), str(sorted(mappings.items())) if asked.minor >= versions.MAPPINGS else "")
        exact.setdefault(frame, []).append(amounts)
        most[frame] += len(ways)
        needed[frame] += not (amounts.keys() & unsure or any(lone(way) in losable for way in ways))
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
    """Whether amounts are the right ones, or where they meet the right ones and some that groups ask more."""
    asks = asked.classes()
    return all(amount == right[key] or (key in unsure and amount - right[key] in multiples(asks[key[1]], amount))
               for key, amount in amounts.items())


def multiples(steps, most):
    """The sums up to `most` of any of `steps`, each as often as one likes."""
    found = {0}
    for total in range(1, most + 1):
        if any(total - step in found for step in steps):
            found.add(total)
    return found


def is_shared_from_below(forest, asked):
    """Whether a provider that is no root may serve the group without a suffix of another tree. It fails before it looks
    at the traits of who serves this group."""
    return any(forest.of[uuid].root not in (root.uuid, uuid)
               for root in forest.roots() if asked.root.hold(root.traits)
               for group in asked.groups if group.suffix == ""
               for part in oracle.together(forest, replace(group, traits=versions.Traits()), root)
               for uuid in part.providers)
