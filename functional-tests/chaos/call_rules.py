"""Rules about the answers to claims: refusals, and calls that are repeated with their id. Pure functions."""

from functional_tests.chaos.history import CONFLICT, REFUSED, ROOM


def refused(operations, used, least_totals, known):
    """Claims that were refused for a reason that cannot have been there, as texts.

    - For lack of room: one of the consumers has no candidate for which there was surely room at every moment of the
      request. The least total of each provider and class is in `least_totals`, and the most that may have been used is
      that of `used`. What the consumer itself holds counts as used, although it is free for it.
    - For a conflict: each consumer of the call was to be new, and no other request names one of them until it ended.
    """
    found = []
    namings = naming_times(operations)
    for op in operations:
        if op.outcome != REFUSED or op.ended is None:
            continue
        if op.refusal == ROOM and all(
                any(surely_fits(op, consumer, place, used, least_totals) for place in op.may_set(consumer))
                for consumer in op.sets):
            found.append(f"there was room for {shown(op)}")
        is_for_new_ones = op.choices and all(expected is None for expected in op.expects.values())
        if op.refusal == CONFLICT and is_for_new_ones and not is_named_by_others(op, namings, known):
            found.append(f"no other request names the new consumers of {shown(op)}")
    return found


def naming_times(operations):
    """Consumer -> when each request began that names it, with the number of the request."""
    namings = {}
    for op in operations:
        for consumer in op.sets:
            namings.setdefault(consumer, []).append((op.began, op.number))
    return namings


def is_named_by_others(op, namings, known):
    """Whether a consumer of the request existed before the history, or another request that began before its end
    names it.
    """
    return any(consumer in known or any(number != op.number and began < op.ended for began, number in namings[consumer])
               for consumer in op.sets)


def surely_fits(op, consumer, place, used, least_totals):
    """Whether the place had room at every moment of the request, whatever the other consumers of the request took."""
    for provider, amounts in place.items():
        for name, amount in amounts.items():
            others = sum(max(amount_of(other, provider, name) for other in op.may_set(it))
                         for it in op.sets if it != consumer)
            _, most = used.between(provider, name, op.began, op.ended)
            if most + others + amount > least_totals.get(provider, {}).get(name, 0):
                return False
    return True


def amount_of(place, provider, name):
    return place.get(provider, {}).get(name, 0)


def granted(operations):
    """The id of a call -> the first answer that granted it."""
    found = {}
    for op in sorted((op for op in operations if op.ended is not None), key=lambda op: op.ended):
        for call, answer in op.seen("answer").items():
            if answer.startswith("200 "):
                found.setdefault(call, (op, answer))
    return found


def repeated(operations, answers):
    """Answers to a call that differ from the one that granted it, as (id, text). `answers` has those from before."""
    found, first = [], granted(operations)
    for op in operations:
        for call, answer in op.seen("answer").items():
            by, expected = first.get(call, (None, None))
            is_later = call in answers or by is not None and by.ended <= op.began
            expected = answers.get(call, expected)
            if answer != expected and (is_later or answer.startswith("200 ")):
                found.append((call, f"call {call} was answered {expected}, and then {answer}: {shown(op)}"))
    return found


def shown(op):
    sets = {consumer: op.may_set(consumer) for consumer in op.sets}
    return f"{op.number} {op.kind} {sets}, {op.began:.4f} to {op.ended:.4f}: {op.answer}"
