"""Judges both services' answers to `GET /allocation_candidates` by an oracle.

placet's answer must be right. OpenStack Placement's must be right, or wrong in the shape of a known defect. pair.py
compares OpenStack Placement's remaining errors with placet's answer.
"""

import json
import re
from collections import Counter

from functional_tests.differential import oracle, upstream_defects
from functional_tests.differential.candidates_query import NESTED_MINOR

# The defects, named as their rows in docs/differences.md.
LOST_TREES = "a group without a suffix that only sharing providers serve, beside a granular group"
SUMS = "the same class in the group without a suffix and in a granular one, with another `group_policy` than `none`"
SHARED_FROM_BELOW = "a sharing provider that is not the root of its tree"
NEGATIVE = "a class in several groups, if a provider that serves one of them has more of it reserved than its total"
# The part of a comparison that is there if the judge found a defect, with the value (row, "").
DEFECT = "the defect"
# The detail of the 500 of SHARED_FROM_BELOW says nothing but the provider's id, in JSON or on a page.
TRAILING_ID = re.compile(r"\n\n \d+  $|<br /><br />\n\d+\n")


def excuse(row):
    """A rule of known_differences.py: it applies if the judge found this defect, and only the body differs."""
    def applies(request, theirs, ours, found, tables):
        # With SHARED_FROM_BELOW their answer is a 500, so status, headers and code differ too.
        return found.get(DEFECT) == (row, "") and (row == SHARED_FROM_BELOW or set(found) <= {DEFECT, "body"})
    return applies


RULES = [(row, excuse(row)) for row in (LOST_TREES, SUMS, SHARED_FROM_BELOW, NEGATIVE)]


class Answers:
    """The answers of one service to the request and to the same request without a limit."""

    def __init__(self, kind, answer, whole):
        self.kind, self.statuses = kind, (answer.status, whole.status)
        self.limited, self.whole = body(answer), body(whole)


def body(answer):
    """The JSON of an answer. Of an error that is a page, an error with the page as its detail."""
    try:
        return json.loads(answer.text)
    except ValueError:
        return {"errors": [{"detail": answer.text}]}


def judge(forest, asked, theirs, ours):
    """Returns the faults of both services (part -> expected and found), and the row of the defect in theirs or None.

    Errors of OpenStack Placement are not judged here, except for the 500 of a known defect.
    """
    right = oracle.candidates(forest, asked)
    found, defect = wrong(forest, asked, ours, right), None
    if theirs.statuses == (200, 200):
        defect = defect_of(forest, asked, right, theirs.whole["allocation_requests"])
        found |= wrong(forest, asked, theirs, None if defect else right)
    elif theirs.statuses == (500, 500) and TRAILING_ID.search(theirs.limited["errors"][0]["detail"]):
        defect = SHARED_FROM_BELOW if upstream_defects.is_shared_from_below(forest, asked) else None
    return found, defect


def defect_of(forest, asked, right, shown):
    if counted(shown) == expected(asked, right):
        return None
    for row, has_shape in ((LOST_TREES, upstream_defects.has_lost_trees), (SUMS, upstream_defects.has_sums),
                           (NEGATIVE, upstream_defects.lacks_negative_trees)):
        if has_shape(forest, asked, right, shown):
            return row
    return None


def counted(shown):
    return Counter(map(oracle.text, shown))


def expected(asked, right):
    return counted(oracle.written(asked, candidate) for candidate in right)


def wrong(forest, asked, answers, right):
    """The faults of one service's answers.

    `right` are all correct candidates, or None if the answers show a defect: then the unlimited answer is the
    standard for the limited one.
    """
    if answers.statuses != (200, 200):
        return {f"candidates of {answers.kind}: statuses": ((200, 200), answers.statuses)}
    shown, whole = (body["allocation_requests"] for body in (answers.limited, answers.whole))
    should = counted(whole) if right is None else expected(asked, right)
    pairs = {"missing and extra without a limit": missing_and_extra(should, counted(whole)),
             "extra with a limit": ([], missing_and_extra(counted(whole), counted(shown))[1])}
    pairs["number"] = min(asked.limit or len(whole), len(whole)), len(shown)
    for name, body in (("limited", answers.limited), ("whole", answers.whole)):
        pairs[f"members of the {name} answer"] = {"allocation_requests", "provider_summaries"}, set(body)
        should = oracle.summaries(forest, asked, providers_to_summarize(forest, asked, answers, body))
        pairs[f"summaries of the {name} answer"] = tuple(
            {uuid: oracle.text(it) for uuid, it in all_.items()} for all_ in (should, body["provider_summaries"]))
    return {f"candidates of {answers.kind}: {name}": pair for name, pair in pairs.items() if pair[0] != pair[1]}


def missing_and_extra(should, shown):
    """The missing and the extra candidates: two disjoint lists, equal only if both are empty."""
    return sorted((should - shown).elements()), sorted((shown - should).elements())


def providers_to_summarize(forest, asked, answers, body):
    """The providers of the forest that candidates of this answer use. Each needs a summary."""
    used, whole = (used_by(it["allocation_requests"]) & forest.of.keys() for it in (body, answers.whole))
    if answers.kind == "upstream" and asked.minor < NESTED_MINOR:
        # It summarises each provider of the unlimited answer whose tree has a provider in the limited answer.
        roots = {forest.of[uuid].root for uuid in used}
        used = {uuid for uuid in whole if forest.of[uuid].root in roots}
    return used


def used_by(shown):
    return {uuid for candidate in shown for uuid, _ in upstream_defects.framed(candidate)[1]}
