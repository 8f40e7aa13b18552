"""Every way to write claims: PUT, POST and DELETE of allocations, and the reshaper. Consumer types come by being used."""

from world import POOL, Consumer
from writes import CONSUMERS, Write, an_inventory, kind, moved, one_of

CLASS = "DISK_GB"  # of the pool


def some_room(world):
    """What a claim asks for: of one or two of its own providers, and often of the pool."""
    asked, free = {}, [(p, c) for p in world.living() for c in p.inventories if world.room(p, c) > 0]
    for provider, name in world.chance.sample(free, min(len(free), world.chance.randint(1, 2))):
        asked.setdefault(provider.uuid, {})[name] = world.chance.randint(1, min(3, world.room(provider, name)))
    if world.chance.random() < 0.5:
        asked[POOL] = {CLASS: world.chance.randint(1, 5)}
    return asked


def pooled(holds):
    return holds.get(POOL, {}).get(CLASS, 0)


def body(world, consumer, holds, kind_of):
    return {"allocations": {p: {"resources": dict(amounts)} for p, amounts in holds.items()}, "project_id": world.project,
            "user_id": world.project, "consumer_generation": consumer.generation, "consumer_type": kind_of}


def claimed(world, consumer, holds, kind_of):
    """What an acknowledged claim makes of the consumer; providers' generations move once a request, elsewhere."""
    consumer.generation, consumer.type, consumer.holds = (consumer.generation or 0) + 1, kind_of, holds
    world.consumers[consumer.uuid] = consumer


def emptied(world, consumer):
    """What is left of a consumer that has nothing any more: its uuid, which may be claimed for as a new one."""
    consumer.holds, consumer.generation = {}, None
    del world.consumers[consumer.uuid]


def a_type(world):
    return f"TYPE_{world.number}_{world.chance.randint(1, 5)}"


def a_consumer(world):
    """A new one while there are few, or one that is there."""
    fewer = len(world.consumers) < CONSUMERS and world.chance.random() < 0.6
    return Consumer(world.new_uuid()) if fewer else one_of(world, world.consumers.values()) or Consumer(world.new_uuid())


def own(world, *holdings):
    """The worker's own providers in any of these."""
    return [world.providers[p] for p in sorted({p for holds in holdings for p in holds if p != POOL})]


@kind("PUT /allocations/{consumer_uuid}")
def claim_put(world):
    consumer, holds, kind_of = a_consumer(world), some_room(world), a_type(world)
    if not holds:
        return None
    had = consumer.holds

    def done():
        claimed(world, consumer, holds, kind_of)
        for provider in own(world, holds):
            moved(provider)
    return Write("PUT", f"/allocations/{consumer.uuid}", body(world, consumer, holds, kind_of), done,
                 [*own(world, holds, had), consumer], (pooled(holds) - pooled(had), POOL in holds))


@kind("PUT /allocations/{consumer_uuid}")
def claim_wiped(world):
    """With nothing in it: what it had moves too."""
    consumer = one_of(world, world.consumers.values())
    if not consumer:
        return None
    had = consumer.holds

    def done():
        emptied(world, consumer)
        for provider in own(world, had):
            moved(provider)
    return Write("PUT", f"/allocations/{consumer.uuid}", body(world, consumer, {}, consumer.type), done,
                 [*own(world, had), consumer], (-pooled(had), POOL in had))


@kind("DELETE /allocations/{consumer_uuid}")
def claim_released(world):
    consumer = one_of(world, world.consumers.values())
    if not consumer:
        return None
    had = consumer.holds
    return Write("DELETE", f"/allocations/{consumer.uuid}", None, lambda: emptied(world, consumer),
                 [*own(world, had), consumer], (-pooled(had), 0))


@kind("POST /allocations")
def claims_posted(world):
    """What one consumer has goes to a new one, as when an instance moves."""
    old, new, kind_of = one_of(world, world.consumers.values()), Consumer(world.new_uuid()), a_type(world)
    if not old:
        return None
    had = old.holds

    def done():
        claimed(world, new, had, kind_of)
        emptied(world, old)
        for provider in own(world, had):
            moved(provider)
    sent = {old.uuid: body(world, old, {}, old.type), new.uuid: body(world, new, had, kind_of)}
    return Write("POST", "/allocations", sent, done, [*own(world, had), old, new], (0, POOL in had))


@kind("POST /reshaper")
def reshaped(world):
    """A class of a provider goes to another of the tree, with all that is used of it."""
    provider = one_of(world, (p for p in world.living() if p.inventories))
    name = provider and one_of(world, provider.inventories)
    other = name and one_of(world, (p for p in world.tree(provider.root) if name not in p.inventories))
    if not other:
        return None
    left = {c: it for c, it in provider.inventories.items() if c != name}
    right = {**other.inventories, name: an_inventory(world, world.used(provider, name))}
    moving = {c: _moved_over(c.holds, provider.uuid, other.uuid, name)
              for c in world.consumers.values() if name in c.holds.get(provider.uuid, {})}

    def done():
        for it, kept in ((provider, left), (other, right)):
            it.inventories = kept
            it.generation += 2 if kept else 1
        for consumer, holds in moving.items():
            claimed(world, consumer, holds, consumer.type)
        for it in own(world, *moving.values()):
            moved(it)
    sent = {"inventories": {it.uuid: {"inventories": kept, "resource_provider_generation": it.generation}
                            for it, kept in ((provider, left), (other, right))},
            "allocations": {c.uuid: body(world, c, holds, c.type) for c, holds in moving.items()}}
    return Write("POST", "/reshaper", sent, done, [provider, other, *moving],
                 (0, any(POOL in holds for holds in moving.values())))


def _moved_over(holds, old, new, name):
    after = {p: dict(amounts) for p, amounts in holds.items()}
    amount = after[old].pop(name)
    after.setdefault(new, {})[name] = after.get(new, {}).get(name, 0) + amount
    return {p: amounts for p, amounts in after.items() if amounts}
