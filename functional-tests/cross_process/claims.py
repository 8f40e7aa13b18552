"""The writes of claims: PUT, POST and DELETE of allocations, and the reshaper. Claims create consumer types."""

from functional_tests.cross_process.expected_state import POOL, Consumer
from functional_tests.cross_process.writes import MAX_CONSUMERS, Write, an_inventory, kind, moved, one_of

CLASS = "DISK_GB"  # of the pool


def some_room(state):
    """Amounts for a claim that fits: of one or two of the worker's own providers, and often of the pool."""
    asked, free = {}, [(p, c) for p in state.living() for c in p.inventories if state.room(p, c) > 0]
    for provider, name in state.chance.sample(free, min(len(free), state.chance.randint(1, 2))):
        asked.setdefault(provider.uuid, {})[name] = state.chance.randint(1, min(3, state.room(provider, name)))
    if state.chance.random() < 0.5:
        asked[POOL] = {CLASS: state.chance.randint(1, 5)}
    return asked


def pooled(holds):
    return holds.get(POOL, {}).get(CLASS, 0)


def body(state, consumer, holds, kind_of):
    return {"allocations": {p: {"resources": dict(amounts)} for p, amounts in holds.items()}, "project_id": state.project,
            "user_id": state.project, "consumer_generation": consumer.generation, "consumer_type": kind_of}


def claimed(state, consumer, holds, kind_of):
    """Applies an acknowledged claim to the consumer. The caller moves the providers' generations, once a request."""
    consumer.generation, consumer.type, consumer.holds = (consumer.generation or 0) + 1, kind_of, holds
    state.consumers[consumer.uuid] = consumer


def emptied(state, consumer):
    """Removes a consumer that has no allocations any more. Its uuid may be claimed for again as a new one."""
    consumer.holds, consumer.generation = {}, None
    del state.consumers[consumer.uuid]


def a_type(state):
    return f"TYPE_{state.number}_{state.chance.randint(1, 5)}"


def a_consumer(state):
    """A new consumer or an existing one. With MAX_CONSUMERS consumers it is an existing one."""
    fewer = len(state.consumers) < MAX_CONSUMERS and state.chance.random() < 0.6
    return Consumer(state.new_uuid()) if fewer else one_of(state, state.consumers.values()) or Consumer(state.new_uuid())


def own(state, *holdings):
    """The worker's own providers in any of these holdings."""
    return [state.providers[p] for p in sorted({p for holds in holdings for p in holds if p != POOL})]


@kind("PUT /allocations/{consumer_uuid}")
def claim_put(state):
    consumer, holds, kind_of = a_consumer(state), some_room(state), a_type(state)
    if not holds:
        return None
    had = consumer.holds

    def done():
        claimed(state, consumer, holds, kind_of)
        for provider in own(state, holds):
            moved(provider)
    return Write("PUT", f"/allocations/{consumer.uuid}", body(state, consumer, holds, kind_of), done,
                 [*own(state, holds, had), consumer], (pooled(holds) - pooled(had), POOL in holds))


@kind("PUT /allocations/{consumer_uuid}")
def claim_wiped(state):
    """A claim without allocations: the generations of the consumer's providers move too."""
    consumer = one_of(state, state.consumers.values())
    if not consumer:
        return None
    had = consumer.holds

    def done():
        emptied(state, consumer)
        for provider in own(state, had):
            moved(provider)
    return Write("PUT", f"/allocations/{consumer.uuid}", body(state, consumer, {}, consumer.type), done,
                 [*own(state, had), consumer], (-pooled(had), POOL in had))


@kind("DELETE /allocations/{consumer_uuid}")
def claim_released(state):
    consumer = one_of(state, state.consumers.values())
    if not consumer:
        return None
    had = consumer.holds
    return Write("DELETE", f"/allocations/{consumer.uuid}", None, lambda: emptied(state, consumer),
                 [*own(state, had), consumer], (-pooled(had), 0))


@kind("POST /allocations")
def claims_posted(state):
    """The allocations of one consumer move to a new one, as when an instance migrates."""
    old, new, kind_of = one_of(state, state.consumers.values()), Consumer(state.new_uuid()), a_type(state)
    if not old:
        return None
    had = old.holds

    def done():
        claimed(state, new, had, kind_of)
        emptied(state, old)
        for provider in own(state, had):
            moved(provider)
    sent = {old.uuid: body(state, old, {}, old.type), new.uuid: body(state, new, had, kind_of)}
    return Write("POST", "/allocations", sent, done, [*own(state, had), old, new], (0, POOL in had))


@kind("POST /v1/claims")
def claim_placed(state):
    """A claim with a choice: the first candidate is a provider that does not exist, and the second one fits."""
    consumer, holds, kind_of = a_consumer(state), some_room(state), a_type(state)
    if not holds:
        return None
    had = consumer.holds
    fits = {"allocations": {p: {"resources": dict(amounts)} for p, amounts in holds.items()}}
    absent = {"allocations": {state.new_uuid(): {"resources": {CLASS: 1}}}}

    def done():
        claimed(state, consumer, holds, kind_of)
        for provider in own(state, holds):
            moved(provider)
    body = {"consumers": [{"uuid": consumer.uuid, "generation": consumer.generation, "project_id": state.project,
                           "user_id": state.project, "type": kind_of, "candidates": [absent, fits]}]}
    return Write("POST", "/v1/claims", body, done, [*own(state, holds, had), consumer],
                 (pooled(holds) - pooled(had), POOL in holds))


@kind("POST /reshaper")
def reshaped(state):
    """The inventory of a class moves to another provider of the tree, with its allocations."""
    provider = one_of(state, (p for p in state.living() if p.inventories))
    name = provider and one_of(state, provider.inventories)
    other = name and one_of(state, (p for p in state.tree(provider.root) if name not in p.inventories))
    if not other:
        return None
    left = {c: it for c, it in provider.inventories.items() if c != name}
    right = {**other.inventories, name: an_inventory(state, state.used(provider, name))}
    moving = {c: _moved_over(c.holds, provider.uuid, other.uuid, name)
              for c in state.consumers.values() if name in c.holds.get(provider.uuid, {})}

    def done():
        for it, kept in ((provider, left), (other, right)):
            it.inventories = kept
            it.generation += 2 if kept else 1
        for consumer, holds in moving.items():
            claimed(state, consumer, holds, consumer.type)
        for it in own(state, *moving.values()):
            moved(it)
    sent = {"inventories": {it.uuid: {"inventories": kept, "resource_provider_generation": it.generation}
                            for it, kept in ((provider, left), (other, right))},
            "allocations": {c.uuid: body(state, c, holds, c.type) for c, holds in moving.items()}}
    return Write("POST", "/reshaper", sent, done, [provider, other, *moving],
                 (0, any(POOL in holds for holds in moving.values())))


def _moved_over(holds, old, new, name):
    after = {p: dict(amounts) for p, amounts in holds.items()}
    amount = after[old].pop(name)
    after.setdefault(new, {})[name] = after.get(new, {}).get(name, 0) + amount
    return {p: amounts for p, amounts in after.items() if amounts}
