"""Mutations of right answers with candidates. The judge has to find the fault in each mutant."""

import copy

from functional_tests.differential import candidates
from functional_tests.differential.compare import ordered


class MadeUp(candidates.Answers):
    """Answers that no service gave."""

    def __init__(self, kind, limited, whole=None, status=200):
        self.kind, self.statuses, self.limited, self.whole = kind, (status, status), limited, whole or limited


def mutants(asked, answers):
    """Yields wrong answers with the names of their faults. With a limit, the whole answer stays right."""
    for name, mutate in MUTATIONS.items():
        if asked.limit is not None and mutate in (move_share, swap_mappings):
            # The result may be another right candidate, which the limit could have left.
            continue
        body = copy.deepcopy(answers.limited)
        try:
            mutate(body)
        except (LookupError, StopIteration):
            # The answer has nothing to mutate in this way.
            continue
        yield name, MadeUp(answers.kind, body, None if asked.limit is None else answers.whole)


def lose_candidate(body):
    body["allocation_requests"].pop()


def double_candidate(body):
    body["allocation_requests"].append(body["allocation_requests"][0])


def invent_candidate(body):
    body["allocation_requests"].append({"allocations": {"a stranger": {"resources": {"VCPU": 1}}}})


def raise_amount(body):
    shares = body["allocation_requests"][0]["allocations"]
    resources = (shares[0] if isinstance(shares, list) else next(iter(shares.values())))["resources"]
    resources[next(iter(resources))] += 1


def move_share(body):
    """Moves an amount to another provider."""
    shares = body["allocation_requests"][0]["allocations"]
    other = next(uuid for uuid in body["provider_summaries"] if uuid not in str(shares))
    if isinstance(shares, list):
        shares[0]["resource_provider"]["uuid"] = other
    else:
        shares[other] = shares.pop(next(iter(shares)))


def lose_mapping(body):
    body["allocation_requests"][0]["mappings"].popitem()


def swap_mappings(body):
    mappings = [candidate["mappings"] for candidate in body["allocation_requests"]]
    # The order of providers does not matter, so the mappings must differ when sorted.
    body["allocation_requests"][0]["mappings"] = next(it for it in mappings if ordered(it) != ordered(mappings[0]))


def lose_summary(body):
    body["provider_summaries"].popitem()


def invent_summary(body):
    body["provider_summaries"]["a stranger"] = next(iter(body["provider_summaries"].values()))


def use_more(body):
    resources = next(it["resources"] for it in body["provider_summaries"].values() if it["resources"])
    resources[next(iter(resources))]["used"] += 1


def lose_traits(body):
    next(iter(body["provider_summaries"].values())).pop("traits")


MUTATIONS = {
    "a candidate is lost": lose_candidate, "a candidate comes twice": double_candidate,
    "a candidate is invented": invent_candidate, "an amount is wrong": raise_amount,
    "an amount is on another provider": move_share, "a group has no mapping": lose_mapping,
    "mappings are those of another candidate": swap_mappings, "a summary is lost": lose_summary,
    "a summary is invented": invent_summary, "a usage is wrong": use_more, "the traits are missing": lose_traits,
}
