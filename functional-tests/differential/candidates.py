"""The differences of allocation candidates that are meant, judged by what the tables say of each candidate."""

import json
import re
import urllib.parse
from collections import Counter

from world import SHARING

UNITS = """SELECT min_unit, max_unit, step_size FROM inventories i
           JOIN resource_providers p ON p.id = i.resource_provider_id
           JOIN resource_classes c ON c.id = i.resource_class_id WHERE p.uuid = ? AND c.name = ?"""
SHARERS = """SELECT p.uuid FROM resource_providers p JOIN resource_provider_traits t ON t.resource_provider_id = p.id
             WHERE t.trait_id = (SELECT id FROM traits WHERE name = ?)"""


class Asked:
    """A request for candidates: the classes of each group."""

    def __init__(self, request):
        url = urllib.parse.urlsplit(request.path)
        self.is_candidates = url.path == "/allocation_candidates" and request.method == "GET"
        query = dict(urllib.parse.parse_qsl(url.query))
        self.policy = query.get("group_policy")
        self.limited = "limit" in query
        self.groups = {key.removeprefix("resources"): {part.split(":")[0] for part in value.split(",")}
                       for key, value in query.items() if key.startswith("resources")}


def found_by(answer):
    """Each candidate as a text, with how often it came."""
    return Counter(json.dumps(candidate, sort_keys=True) for candidate in json.loads(answer.text)["allocation_requests"])


def both_found(asked, theirs, ours, found):
    return asked.is_candidates and theirs.status == ours.status == 200 and set(found) == {"body"}


def sums_across_candidates(request, theirs, ours, found, tables):
    asked = Asked(request)
    granular = set().union(*(classes for suffix, classes in asked.groups.items() if suffix), set())
    return both_found(asked, theirs, ours, found) and asked.policy != "none" and asked.groups.get("", set()) & granular


def lost_trees(request, theirs, ours, found, tables):
    asked = Asked(request)
    if not both_found(asked, theirs, ours, found) or "" not in asked.groups or len(asked.groups) < 2:
        return False
    theirs, ours = found_by(theirs), found_by(ours)
    if asked.limited:
        return ours.total() > theirs.total()
    sharers = {row[0] for row in tables.execute(SHARERS, [SHARING])}
    extra = [json.loads(text) for text in ours - theirs]
    return not theirs - ours and all(set(one.get("mappings", {}).get("", [])) <= sharers for one in extra)


def sharer_below_a_root(request, theirs, ours, found, tables):
    # The id of the provider is all that is said.
    detail = json.loads(theirs.text)["errors"][0]["detail"] if theirs.status == 500 else ""
    return Asked(request).is_candidates and ours.status == 200 and re.search(r"\n\n \d+  $", detail)


def sums_between_units(request, theirs, ours, found, tables):
    asked = Asked(request)
    if not both_found(asked, theirs, ours, found) or len(asked.groups) < 2:
        return False
    theirs, ours = found_by(theirs), found_by(ours)
    if asked.limited:
        return ours.total() < theirs.total()
    return not ours - theirs and all(breaks_units(json.loads(text), tables) for text in theirs - ours)


def breaks_units(candidate, tables):
    for provider, share in candidate["allocations"].items():
        for name, amount in share["resources"].items():
            least, most, step = tables.execute(UNITS, [provider, name]).fetchone()
            if not least <= amount <= most or amount % step:
                return True
    return False


RULES = [
    ("a group without a suffix that only sharing providers serve, beside a granular group", lost_trees),
    ("the same class in the group without a suffix and in a granular one, with another `group_policy` than `none`",
     sums_across_candidates),
    ("a sharing provider that is not the root of its tree", sharer_below_a_root),
    ("`min_unit` and `step_size` where several groups come together on one provider", sums_between_units),
]
