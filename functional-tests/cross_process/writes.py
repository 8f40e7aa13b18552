"""The kinds of writes: the request, the effect on the worker's state, and the reads that have to show the effect.

The nouns of the native API that other nouns do not depend on are in nouns/, with their reads.
"""

from functional_tests.cross_process.expected_state import POOL, SHARED, Provider

MAX_CHILDREN, MAX_NAMES, MAX_CONSUMERS = 3, 4, 8
KINDS = {}  # by name: the route, and the function that makes a write


class Write:
    """A request. `done` applies it to the state once it is acknowledged, and the things in `shows` have to show it."""

    def __init__(self, method, path, body, done, shows, pool=(0, 0), version="latest"):
        self.method, self.path, self.body, self.version = method, path, body, version
        self.done, self.shows = done, shows
        self.pool = pool  # the deltas of the pool's usage and of its generation


def kind(route):
    def taken(function):
        KINDS[function.__name__] = route, function
        return function
    return taken


def an_inventory(state, at_least=0):
    total = at_least + state.chance.randint(4, 60)
    return {"total": total, "reserved": state.chance.randint(0, 2), "min_unit": 1, "max_unit": 1000, "step_size": 1,
            "allocation_ratio": state.chance.choice((1.0, 1.5, 4.0))}


def one_of(state, things):
    """One of them, or None."""
    things = list(things)
    return state.chance.choice(things) if things else None


def at(provider, more=""):
    return f"/resource_providers/{provider.uuid}{more}"


def moved(provider):
    provider.generation += 1


# --- providers ---

@kind("POST /resource_providers")
def provider_created(state):
    if len(state.providers) >= len(state.roots) + MAX_CHILDREN:
        return None
    made = Provider(state.new_name("child"), state.new_uuid(), state.chance.choice(state.living()))
    body = {"name": made.name, "uuid": made.uuid, "parent_provider_uuid": made.parent.uuid}

    def done():
        state.providers[made.uuid] = made
    return Write("POST", "/resource_providers", body, done, [made])


@kind("PUT /resource_providers/{uuid}")
def provider_renamed(state):
    provider, name = state.chance.choice(state.living()), state.new_name("renamed")
    body = {"name": name}
    if provider.parent:
        body["parent_provider_uuid"] = provider.parent.uuid

    def done():
        provider.name = name
    return Write("PUT", at(provider), body, done, [provider])


@kind("PUT /resource_providers/{uuid}")
def provider_moved(state):
    """Moves a provider and its descendants to another parent, in the same tree or another."""
    provider = one_of(state, (p for p in state.living() if p.parent))

    def goes_along(it):
        return it is provider or (it.parent and goes_along(it.parent))
    parent = provider and one_of(state, (p for p in state.living() if not goes_along(p)))
    if not parent:
        return None
    old = provider.root

    def done():
        provider.parent = parent
    return Write("PUT", at(provider), {"name": provider.name, "parent_provider_uuid": parent.uuid}, done,
                 [provider, old])


@kind("DELETE /resource_providers/{uuid}")
def provider_deleted(state):
    parents = {p.parent for p in state.living()}
    provider = one_of(state, (
        p for p in state.living() if p.parent and p not in parents and not state.is_used(p)))

    def done():
        provider.alive = False
        del state.providers[provider.uuid]
    return provider and Write("DELETE", at(provider), None, done, [provider])


def _described(state, path, body_of, method="PUT"):
    provider, value = state.chance.choice(state.living()), state.chance.randint(0, 9)
    body = {"generation": provider.described, "properties": {"Value": value}}

    def done():
        if provider.described is None or provider.description != body["properties"]:
            provider.described = (provider.described or 0) + 1
        provider.description = body["properties"]
    return Write(method, path(provider), body_of(provider, body), done, [provider])


@kind("PUT /v1/providers/{uuid}")
def provider_described(state):
    return _described(state, lambda provider: f"/v1/providers/{provider.uuid}", lambda _, body: body)


@kind("PATCH /v1/providers/{uuid}")
def provider_patched(state):
    return _described(state, lambda provider: f"/v1/providers/{provider.uuid}", lambda _, body: body, "PATCH")


@kind("PATCH /v1/providers")
def states_set(state):
    """The state of a host, which is a domain of its own. All hosts stay up."""
    provider = state.chance.choice(state.roots)

    def done():
        provider.described = provider.described or 1
    return Write("PATCH", f"/v1/providers?in_domain=host:{provider.uuid}", {"state": "up"}, done, [provider])


@kind("PUT /v1/providers")
def providers_described(state):
    return _described(state, lambda _: "/v1/providers",
                      lambda provider, body: {"providers": [{"uuid": provider.uuid, **body}]})


# --- inventories ---

@kind("POST /resource_providers/{uuid}/inventories")
def inventory_added(state):
    provider = state.chance.choice(state.living())
    name = one_of(state, (c for c in state.classes if c not in provider.inventories))
    inventory = an_inventory(state)

    def done():
        provider.inventories[name] = inventory
        moved(provider)
    return name and Write("POST", at(provider, "/inventories"), {"resource_class": name, **inventory}, done, [provider])


@kind("PUT /resource_providers/{uuid}/inventories")
def inventories_replaced(state):
    provider = state.chance.choice(state.living())
    kept = {name: an_inventory(state, state.used(provider, name)) for name in state.classes
            if state.used(provider, name) or state.chance.random() < 0.6}

    def done():
        provider.inventories = kept
        moved(provider)
    return Write("PUT", at(provider, "/inventories"), {
        "resource_provider_generation": provider.generation, "inventories": kept}, done, [provider])


@kind("PUT /resource_providers/{uuid}/inventories/{resource_class}")
def inventory_updated(state):
    provider = state.chance.choice(state.living())
    name = one_of(state, provider.inventories)
    if not name:
        return None
    inventory = an_inventory(state, state.used(provider, name))

    def done():
        provider.inventories[name] = inventory
        moved(provider)
    return Write("PUT", at(provider, f"/inventories/{name}"), {
        "resource_provider_generation": provider.generation, **inventory}, done, [provider])


@kind("DELETE /resource_providers/{uuid}/inventories/{resource_class}")
def inventory_removed(state):
    provider = state.chance.choice(state.living())
    name = one_of(state, (c for c in provider.inventories if not state.used(provider, c)))

    def done():
        del provider.inventories[name]
        moved(provider)
    return name and Write("DELETE", at(provider, f"/inventories/{name}"), None, done, [provider])


@kind("DELETE /resource_providers/{uuid}/inventories")
def inventories_cleared(state):
    provider = one_of(state, (p for p in state.living() if p.inventories and not state.is_used(p)))

    def done():
        provider.inventories = {}
        moved(provider)
    return provider and Write("DELETE", at(provider, "/inventories"), None, done, [provider])


# --- aggregates and traits of providers ---

@kind("PUT /resource_providers/{uuid}/aggregates")
def aggregates_replaced(state):
    provider = state.chance.choice(state.living())
    chosen = {it for it in state.aggregates if state.chance.random() < 0.5}
    chosen |= provider.aggregates - set(state.aggregates)

    def done():
        provider.aggregates = chosen
        moved(provider)
    return Write("PUT", at(provider, "/aggregates"), {
        "aggregates": sorted(chosen), "resource_provider_generation": provider.generation}, done, [provider])


@kind("PUT /resource_providers/{uuid}/aggregates")
def pool_marked(state):
    """Sets the pool's aggregates as before 1.19, which moves no generation. Every process has to read the pool again,
    amid claims on it."""
    consumer = one_of(state, state.consumers.values())
    return consumer and Write("PUT", f"/resource_providers/{POOL}/aggregates", [SHARED, state.new_uuid()], lambda: None,
                              [consumer], version="1.18")


@kind("PUT /resource_providers/{uuid}/traits")
def traits_replaced(state):
    provider = state.chance.choice(state.living())
    chosen = {it for it in state.traits if state.chance.random() < 0.5}

    def done():
        provider.generation += chosen != provider.traits
        provider.traits = chosen
    return Write("PUT", at(provider, "/traits"), {
        "traits": sorted(chosen), "resource_provider_generation": provider.generation}, done, [provider])


@kind("DELETE /resource_providers/{uuid}/traits")
def traits_cleared(state):
    provider = one_of(state, (p for p in state.living() if p.traits))

    def done():
        provider.traits = set()
        moved(provider)
    return provider and Write("DELETE", at(provider, "/traits"), None, done, [provider])


# --- names ---

def _new(state, what, names):
    """A new name, or None if there are enough."""
    return state.new_name(f"CUSTOM_{what.upper()}") if len(names) < 2 + MAX_NAMES else None


def _ensured(state, what, names, path):
    name = _new(state, what, names)
    return name and Write("PUT", f"{path}/{name}", None, lambda: names.append(name), [(what, name)])


def _deleted(state, what, names, path, is_used):
    name = one_of(state, (n for n in names if n.startswith("CUSTOM") and not is_used(n)))
    return name and Write("DELETE", f"{path}/{name}", None, lambda: names.remove(name), [(what, name)])


@kind("POST /resource_classes")
def class_created(state):
    name = _new(state, "class", state.classes)
    return name and Write("POST", "/resource_classes", {"name": name}, lambda: state.classes.append(name), [("class", name)])


@kind("PUT /resource_classes/{name}")
def class_ensured(state):
    return _ensured(state, "class", state.classes, "/resource_classes")


@kind("PUT /resource_classes/{name}")
def class_renamed(state):
    """Renames a class as before 1.7. Inventories keep the class under its new name."""
    old, new = one_of(state, (c for c in state.classes if c.startswith("CUSTOM"))), state.new_name("CUSTOM_NEW")

    def done():
        state.classes[state.classes.index(old)] = new
        holdings = [holds for consumer in state.consumers.values() for holds in consumer.holds.values()]
        for things in [p.inventories for p in state.living()] + holdings:
            if old in things:
                things[new] = things.pop(old)
    having = [p for p in state.living() if old in p.inventories]
    return old and Write("PUT", f"/resource_classes/{old}", {"name": new}, done, [("class", old), ("class", new), *having],
                         version="1.6")


@kind("DELETE /resource_classes/{name}")
def class_deleted(state):
    return _deleted(state, "class", state.classes, "/resource_classes", state.is_class_used)


@kind("PUT /traits/{name}")
def trait_ensured(state):
    return _ensured(state, "trait", state.traits, "/traits")


@kind("DELETE /traits/{name}")
def trait_deleted(state):
    return _deleted(state, "trait", state.traits, "/traits", state.is_trait_used)
