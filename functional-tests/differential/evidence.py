"""Fetches what the judge of candidates needs: the forest, and the same answers without a limit."""

import traceback
from collections import Counter

from functional_tests.differential import candidates, forest, judge_mutations, oracle
from functional_tests.differential.candidates_query import CandidatesQuery, Traits, is_candidates, without_limit
from functional_tests.differential.request import Request


class Evidence:
    def __init__(self, theirs, ours):
        self.sides = theirs, ours
        self.forest, self.judged, self.noticed = None, Counter(), Counter()

    def forget(self):
        """Has to be called after a write: the forest is read again."""
        self.forest = None

    def found(self, request, *answers):
        """If placet's answer has candidates: the faults of both, and the row of the defect in theirs or None."""
        if not is_candidates(request) or answers[1].status != 200:
            return {}, None
        try:
            return self.judged_by_forest(request, answers)
        except (ValueError, LookupError, TypeError, AttributeError):
            # An answer of another form than candidates have is a fault too.
            return {"candidates of an unexpected form": (traceback.format_exc(), "")}, None

    def judged_by_forest(self, request, answers):
        asked = CandidatesQuery(request.path, int(answers[1].headers["openstack-api-version"].partition("1.")[2]))
        # The tables of both are equal: a run ends when they differ.
        self.forest = self.forest or forest.read(self.sides[1])
        whole = answers
        if asked.limit is not None:
            unlimited = Request("GET", without_limit(request.path), version=f"1.{asked.minor}")
            whole = [side.send(unlimited) for side in self.sides]
        theirs, ours = (candidates.Answers(side.kind, *pair) for side, *pair in zip(self.sides, answers, whole))
        wrong, defect = candidates.judge(self.forest, asked, theirs, ours)
        self.judged.update(features(asked, ours))
        return wrong or self.unnoticed(asked, ours), defect

    def unnoticed(self, asked, ours):
        """Checks that the judge finds the fault in a mutant of a right answer. Each call takes the next mutation."""
        found = {}
        mutants = list(judge_mutations.mutants(asked, ours))
        if mutants:
            name, mutant = mutants[self.noticed.total() % len(mutants)]
            self.noticed[name] += 1
            if not candidates.wrong(self.forest, asked, mutant, oracle.candidates(self.forest, asked)):
                found["a mutant that the judge accepts"] = name, ""
        return found


def features(asked, ours):
    """The features that an answer has. The run prints how often each was judged."""
    shown = ours.whole["allocation_requests"]
    granular = {bool(group.suffix) for group in asked.groups}
    yield "judged"
    if not shown:
        return
    yield "not empty"
    for name, applies in (
            ("several candidates", len(shown) > 1),
            ("over several providers", any(len(candidates.used_by([one])) > 1 for one in shown)),
            ("cut by a limit", len(ours.limited["allocation_requests"]) < len(shown)),
            ("granular groups", True in granular), ("beside a group without a suffix", len(granular) == 2),
            ("isolated", asked.policy == "isolate" and len(asked.groups) > 1),
            ("same_subtree", asked.subtrees), ("root_required", asked.root != Traits()),
            ("a group without resources", not all(group.resources for group in asked.groups)),
            ("traits", any(group.traits != Traits() for group in asked.groups)),
            ("member_of", any(group.inside or group.outside for group in asked.groups)),
            ("in_tree", any(group.in_tree for group in asked.groups))):
        if applies:
            yield name
