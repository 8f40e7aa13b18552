"""Judges answers with allocation candidates by what is right, and what a defect of OpenStack Placement makes of it."""

import json
import re
from collections import Counter

from functional_tests.differential import oracle, upstream_defects
from functional_tests.differential.candidates_query import NESTED

LOST_TREES = "a group without a suffix that only sharing providers serve, beside a granular group"
SUMS = "the same class in the group without a suffix and in a granular one, with another `group_policy` than `none`"
SHARED_FROM_BELOW = "a sharing provider that is not the root of its tree"
# The part of what differs that names the row of a defect.
DEFECT = "the defect"
# The id of the provider is all that is said.
LOST_ID = re.compile(r"\n\n \d+  $")


def is_row(row):
    def applies(request, theirs, ours, found, tables):
        # All that comes with an error differs where one is a 500.
        return found.get(DEFECT) == (row, "") and (row == SHARED_FROM_BELOW or set(found) <= {DEFECT, "body"})
    return applies


RULES = [(row, is_row(row)) for row in (LOST_TREES, SUMS, SHARED_FROM_BELOW)]


class Answers:
    """What one service answered: to the request, and to the same one without a limit."""

    def __init__(self, kind, answer, whole):
        self.kind, self.statuses = kind, (answer.status, whole.status)
        self.limited, self.whole = json.loads(answer.text), json.loads(whole.text)


def judge(forest, asked, theirs, ours):
    """What is wrong with two answers, by the name of the part; the row of the defect that theirs has, or None."""
    right = oracle.candidates(forest, asked)
    found, defect = wrong(forest, asked, ours, right), None
    if theirs.statuses == (200, 200):
        defect = defect_of(forest, asked, right, theirs.whole["allocation_requests"])
        found |= wrong(forest, asked, theirs, None if defect else right)
    elif theirs.statuses == (500, 500) and LOST_ID.search(theirs.limited["errors"][0]["detail"]):
        defect = SHARED_FROM_BELOW if upstream_defects.is_shared_from_below(forest, asked) else None
    return found, defect


def defect_of(forest, asked, right, shown):
    if counted(shown) == expected(asked, right):
        return None
    for row, has_shape in ((LOST_TREES, upstream_defects.has_lost_trees), (SUMS, upstream_defects.has_sums)):
        if has_shape(forest, asked, right, shown):
            return row
    return None


def counted(shown):
    return Counter(map(oracle.text, shown))


def expected(asked, right):
    return counted(oracle.written(asked, candidate) for candidate in right)


def wrong(forest, asked, answers, right):
    """What is wrong with one service's answers; `right`: all candidates, or None where their shape was seen to."""
    if answers.statuses != (200, 200):
        return {f"candidates of {answers.kind}: statuses": ((200, 200), answers.statuses)}
    shown, whole = (body["allocation_requests"] for body in (answers.limited, answers.whole))
    should = counted(whole) if right is None else expected(asked, right)
    pairs = {"missing and too many without a limit": parted(should, counted(whole)),
             "none without a limit": ([], parted(counted(whole), counted(shown))[1])}
    pairs["how many"] = min(asked.limit or len(whole), len(whole)), len(shown)
    for name, body in (("limited", answers.limited), ("whole", answers.whole)):
        pairs[f"members of the {name} answer"] = {"allocation_requests", "provider_summaries"}, set(body)
        should = oracle.summaries(forest, asked, summed_up(forest, asked, answers, body))
        pairs[f"summaries of the {name} answer"] = tuple(
            {uuid: oracle.text(it) for uuid, it in told.items()} for told in (should, body["provider_summaries"]))
    return {f"candidates of {answers.kind}: {name}": pair for name, pair in pairs.items() if pair[0] != pair[1]}


def parted(should, shown):
    """What is missing, and what is there too often."""
    return sorted((should - shown).elements()), sorted((shown - should).elements())


def summed_up(forest, asked, answers, body):
    """The providers that are used, known to the forest."""
    used, whole = (used_by(it["allocation_requests"]) & forest.of.keys() for it in (body, answers.whole))
    if answers.kind == "upstream" and asked.minor < NESTED:
        # It keeps the summaries of whoever is used without a limit, where somebody of the same tree is shown.
        roots = {forest.of[uuid].root for uuid in used}
        used = {uuid for uuid in whole if forest.of[uuid].root in roots}
    return used


def used_by(shown):
    return {uuid for candidate in shown for uuid, _ in upstream_defects.framed(candidate)[1]}
