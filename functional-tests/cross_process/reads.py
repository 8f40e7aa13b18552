"""The kinds of reads and their expected answers. An answer has to be exact, except about the pool, which other workers
write at the same time."""

import time

from functional_tests.cross_process.claims import CLASS, pooled
from functional_tests.cross_process.expected_state import POOL, Consumer, Provider

KINDS = {}  # by name: the route, the kind of thing that it reads, and the function that reads and judges


class WrongAnswer(AssertionError):
    """An answer differs from the acknowledged state."""


class Reader:
    """Reads from one process, and measures the times."""

    def __init__(self, rest):
        self.rest, self.times = rest, []

    def __call__(self, path, status=200):
        self.path, self.began = path, time.monotonic()
        answer = self.rest("GET", path)
        self.ended = time.monotonic()
        self.times.append(self.ended - self.began)
        if answer.status != status:
            raise WrongAnswer(f"GET {path} was answered with {answer}, expected {status}")
        return answer.json if status == 200 else None

    def expect(self, expected, shown, what="it"):
        if expected != shown:
            raise WrongAnswer(f"GET {self.path}: {what} is {shown}, expected {expected}")

    def within(self, state, name, shown, what):
        """Checks a value of the pool, which other workers write too."""
        low, high = state.pool.bounds(name, self.began, self.ended)
        if not low <= shown <= high:
            raise WrongAnswer(f"GET {self.path}: {what} is {shown}, expected {low} to {high}")


def kind(route, of):
    def taken(function):
        KINDS[function.__name__] = route, of, function
        return function
    return taken


def kind_of(thing):
    """The kind of a thing that was written. A name is a pair of its kind and its text."""
    return {Provider: "provider", Consumer: "consumer"}.get(type(thing)) or thing[0]


def record(provider):
    """A provider as in a list."""
    return {"uuid": provider.uuid, "name": provider.name, "generation": provider.generation,
            "root_provider_uuid": provider.root.uuid,
            "parent_provider_uuid": provider.parent.uuid if provider.parent else None}


def listed(ask, query, expected):
    shown = ask(f"/resource_providers?{query}")["resource_providers"]
    shown = {it["uuid"]: {name: it[name] for name in it if name != "links"} for it in shown}
    ask.expect({p.uuid: record(p) for p in expected}, shown, "the list")


def there(ask, provider, more=""):
    """Reads a provider; None if it was deleted."""
    return ask(f"/resource_providers/{provider.uuid}{more}", 200 if provider.alive else 404)


def one_name(state, names, otherwise=None):
    """One of these names. They are sorted: a set has another order in each run, and a seed has to repeat a run."""
    names = sorted(names)
    return state.chance.choice(names) if names else otherwise


# --- providers ---

@kind("GET /resource_providers/{uuid}", "provider")
def provider_shown(state, ask, provider):
    shown = there(ask, provider)
    if shown:
        ask.expect(record(provider), {name: shown[name] for name in shown if name != "links"})


@kind("GET /resource_providers", "provider")
def provider_by_name(state, ask, provider):
    listed(ask, f"name={provider.name}", [provider] if provider.alive else [])


@kind("GET /resource_providers", "provider")
def tree_listed(state, ask, provider):
    listed(ask, f"in_tree={provider.root.uuid}", state.tree(provider.root))


@kind("GET /resource_providers", "provider")
def providers_with_room(state, ask, provider):
    name, amount = one_name(state, provider.inventories, "VCPU"), state.chance.randint(1, 4)
    listed(ask, f"in_tree={provider.root.uuid}&resources={name}:{amount}",
           [p for p in state.tree(provider.root) if state.room(p, name) >= amount])


@kind("GET /resource_providers", "provider")
def providers_with_a_trait(state, ask, provider):
    name = one_name(state, provider.traits or state.traits)
    listed(ask, f"in_tree={provider.root.uuid}&required={name}",
           [p for p in state.tree(provider.root) if name in p.traits])


@kind("GET /resource_providers", "provider")
def providers_of_an_aggregate(state, ask, provider):
    name = one_name(state, state.aggregates)
    listed(ask, f"in_tree={provider.root.uuid}&member_of={name}",
           [p for p in state.tree(provider.root) if name in p.aggregates])


@kind("GET /resource_providers/{uuid}/inventories", "provider")
def inventories_shown(state, ask, provider):
    shown = there(ask, provider, "/inventories")
    if shown:
        ask.expect({"inventories": provider.inventories, "resource_provider_generation": provider.generation}, shown)


@kind("GET /resource_providers/{uuid}/inventories/{resource_class}", "provider")
def inventory_shown(state, ask, provider):
    name = one_name(state, state.classes)
    if name in provider.inventories and provider.alive:
        ask.expect({**provider.inventories[name], "resource_provider_generation": provider.generation},
                   there(ask, provider, f"/inventories/{name}"))
    else:
        ask(f"/resource_providers/{provider.uuid}/inventories/{name}", 404)


@kind("GET /resource_providers/{uuid}/usages", "provider")
def usages_shown(state, ask, provider):
    shown = there(ask, provider, "/usages")
    if shown:
        used = {name: state.used(provider, name) for name in provider.inventories}
        ask.expect({"usages": used, "resource_provider_generation": provider.generation}, shown)


def set_shown(ask, provider, name):
    """Its aggregates, or its traits: sets, which come in any order."""
    shown = there(ask, provider, f"/{name}")
    if shown:
        ask.expect((sorted(getattr(provider, name)), provider.generation),
                   (sorted(shown[name]), shown["resource_provider_generation"]))


@kind("GET /resource_providers/{uuid}/aggregates", "provider")
def aggregates_shown(state, ask, provider):
    set_shown(ask, provider, "aggregates")


@kind("GET /resource_providers/{uuid}/traits", "provider")
def provider_traits_shown(state, ask, provider):
    set_shown(ask, provider, "traits")


@kind("GET /resource_providers/{uuid}/allocations", "provider")
def holders_shown(state, ask, provider):
    shown = there(ask, provider, "/allocations")
    if shown:
        held = {c.uuid: {"resources": c.holds[provider.uuid], "consumer_generation": c.generation}
                for c in state.consumers.values() if provider.uuid in c.holds}
        ask.expect((held, provider.generation), (shown["allocations"], shown["resource_provider_generation"]))


# --- candidates, which come from the snapshot ---

def summaries(state, ask, shown, root, native=False):
    """Every provider of a tree with a candidate has a summary, with all its classes. On `/v1` it has its name."""
    ask.expect({
        p.uuid: ({"name": p.name} if native else {}) | {
                 "resources": {c: {"capacity": state.capacity(p, c), "used": state.used(p, c)} for c in p.inventories},
                 "traits": sorted(p.traits), "root_provider_uuid": root.uuid,
                 "parent_provider_uuid": p.parent.uuid if p.parent else None}
        for p in state.tree(root)
    }, {p: {**it, "traits": sorted(it["traits"])} for p, it in shown.items() if p != POOL}, "the summary")


@kind("GET /allocation_candidates", "provider")
def candidates(state, ask, provider):
    root, name, amount = provider.root, one_name(state, provider.inventories, "VCPU"), state.chance.randint(1, 4)
    answer = ask(f"/allocation_candidates?resources={name}:{amount}&in_tree={root.uuid}")
    fit = {p.uuid for p in state.tree(root) if state.room(p, name) >= amount}
    ask.expect(fit, {p for request in answer["allocation_requests"] for p in request["allocations"]}, "the set")
    if fit:
        summaries(state, ask, answer["provider_summaries"], root)


@kind("GET /v1/candidates", "provider")
def ranked_candidates(state, ask, provider):
    root, name, amount = provider.root, one_name(state, provider.inventories, "VCPU"), state.chance.randint(1, 4)
    answer = ask(f"/v1/candidates?resources={name}:{amount}&in_tree={root.uuid}&rank=emptiest")
    fit = {p.uuid: {name: {"used": state.used(p, name) + amount, "capacity": state.capacity(p, name)}}
           for p in state.tree(root) if state.room(p, name) >= amount}
    found = answer["allocation_requests"]
    ask.expect(fit, {p: loads for request in found for p, loads in request["loads"].items()}, "the loads")
    scores = [request["score"] for request in found]
    ask.expect((sorted(scores), True), (scores, answer["exact"]), "the order of the scores")
    if fit:
        summaries(state, ask, answer["provider_summaries"], root, native=True)


@kind("GET /allocation_candidates", "provider")
def candidates_with_a_trait(state, ask, provider):
    name, it = one_name(state, provider.inventories, "VCPU"), one_name(state, provider.traits or state.traits)
    answer = ask(f"/allocation_candidates?resources1={name}:1&required1={it}&in_tree1={provider.root.uuid}")
    fit = {p.uuid for p in state.tree(provider.root) if state.room(p, name) >= 1 and it in p.traits}
    ask.expect(fit, {p for request in answer["allocation_requests"] for p in request["allocations"]}, "the set")


@kind("GET /allocation_candidates", "provider")
def candidates_with_the_pool(state, ask, provider):
    root = provider.root
    answer = ask(f"/allocation_candidates?resources={CLASS}:1&resources1=VCPU:1&in_tree1={root.uuid}&group_policy=none")
    fit = {p.uuid for p in state.tree(root) if state.room(p, "VCPU") >= 1}
    ask.expect(fit, {p for request in answer["allocation_requests"] for p in request["allocations"] if p != POOL},
               "the set of providers beside the pool")
    if fit:
        summaries(state, ask, answer["provider_summaries"], root)
        used = answer["provider_summaries"][POOL]["resources"][CLASS]["used"]
        ask.within(state, "used", used, "the usage of the pool")


@kind("GET /v1/explain", "provider")
def explained(state, ask, provider):
    root, name, amount = provider.root, one_name(state, provider.inventories, "VCPU"), state.chance.randint(1, 4)
    answer = ask(f"/v1/explain?resources={name}:{amount}&provider={root.uuid}&nearest=0")
    fits = any(state.room(p, name) >= amount for p in state.tree(root))
    ask.expect((1, int(fits)), (answer["hosts"], answer["left"]), "the number of hosts, and of hosts left")


@kind("GET /v1/capacity", "provider")
def counted(state, ask, provider):
    root, name, amount = provider.root, one_name(state, provider.inventories, "VCPU"), state.chance.randint(1, 4)
    answer = ask(f"/v1/capacity?resources={name}:{amount}&in_tree={root.uuid}")
    fits = sum(max(0, state.room(p, name)) // amount for p in state.tree(root))
    ask.expect((fits, fits), (answer["fits"], answer["at_most"]), "the number of consumers, and its bound")


@kind("GET /v1/refusals", "provider")
def not_refused(state, ask, provider):
    """Each process has its own refusals. Nothing was refused to a request without this id."""
    ask.expect([], ask(f"/v1/refusals?request_id=req-{provider.uuid}")["refusals"])


# --- consumers ---

@kind("GET /allocations/{consumer_uuid}", "consumer")
def consumer_shown(state, ask, consumer):
    shown = ask(f"/allocations/{consumer.uuid}")
    if not consumer.holds:
        return ask.expect({"allocations": {}}, shown)
    pool = shown["allocations"].get(POOL)
    generations = {p: state.providers[p].generation for p in consumer.holds if p != POOL}
    if pool:
        ask.within(state, "moves", pool["generation"] - 1, "the number of the pool's updates")
        generations[POOL] = pool["generation"]
    held = {p: {"resources": amounts, "generation": generations.get(p)} for p, amounts in consumer.holds.items()}
    return ask.expect({"allocations": held, "project_id": state.project, "user_id": state.project,
                       "consumer_generation": consumer.generation, "consumer_type": consumer.type}, shown)


def project_usages(state, chosen):
    """By consumer type: the sums, and the number of consumers."""
    sums = {}
    for consumer in state.consumers.values():
        if chosen in (None, consumer.type):
            own = sums.setdefault(consumer.type, {"consumer_count": 0})
            own["consumer_count"] += 1
            for amounts in consumer.holds.values():
                for name, amount in amounts.items():
                    own[name] = own.get(name, 0) + amount
    return sums


@kind("GET /usages", "consumer")
def project_shown(state, ask, consumer):
    ask.expect({"usages": project_usages(state, None)}, ask(f"/usages?project_id={state.project}"))


@kind("GET /usages", "consumer")
def type_shown(state, ask, consumer):
    if consumer.type:
        ask.expect({"usages": project_usages(state, consumer.type)},
                   ask(f"/usages?project_id={state.project}&consumer_type={consumer.type}"))


@kind("GET /resource_providers/{uuid}/usages", "consumer")
def pool_shown(state, ask, consumer):
    shown = ask(f"/resource_providers/{POOL}/usages")
    ask.within(state, "used", shown["usages"][CLASS], "the usage of the pool")
    ask.within(state, "moves", shown["resource_provider_generation"] - 1, "the number of the pool's updates")


@kind("GET /resource_providers", "consumer")
def pool_listed(state, ask, consumer):
    (shown,) = ask(f"/resource_providers?uuid={POOL}")["resource_providers"]
    ask.within(state, "moves", shown["generation"] - 1, "the number of the pool's updates")


@kind("GET /resource_providers/{uuid}/allocations", "consumer")
def pool_holders_shown(state, ask, consumer):
    shown = ask(f"/resource_providers/{POOL}/allocations")["allocations"].get(consumer.uuid)
    ask.expect(pooled(consumer.holds), shown["resources"][CLASS] if shown else 0, "the consumer's amount of the pool")


# --- names ---

@kind("GET /resource_classes/{name}", "class")
def class_shown(state, ask, thing):
    ask(f"/resource_classes/{thing[1]}", 200 if thing[1] in state.classes else 404)


@kind("GET /resource_classes", "class")
def classes_listed(state, ask, thing):
    shown = {it["name"] for it in ask("/resource_classes")["resource_classes"]}
    own = {name for name in shown if f"_{state.number}_" in name}
    ask.expect({name for name in state.classes if name.startswith("CUSTOM")}, own, "its own classes")


@kind("GET /v1/providers/{uuid}", "provider")
def description_shown(state, ask, provider):
    shown = ask(f"/v1/providers/{provider.uuid}", 200 if provider.alive else 404)
    if provider.alive:
        ask.expect((provider.described, provider.description), (shown["generation"], shown["properties"]), "the description")


@kind("GET /v1/domains", "provider")
def domains_listed(state, ask, provider):
    """Nothing here is in a domain: descriptions of this suite have none."""
    ask.expect([], ask("/v1/domains?dimension=fault")["domains"], "the domains")


@kind("GET /v1/providers", "provider")
def descriptions_listed(state, ask, provider):
    shown = {it["uuid"]: (it["generation"], it["properties"]) for it in ask("/v1/providers")["providers"]}
    own = {p.uuid: (p.described, p.description) for p in state.living()}
    ask.expect(own, {uuid: shown.get(uuid) for uuid in own}, "the descriptions")


@kind("GET /allocation_candidates", "class")
def class_in_candidates(state, ask, thing):
    """A search for a deleted class is refused. A search for a class without inventories finds nothing."""
    known = thing[1] in state.classes
    shown = ask(f"/allocation_candidates?resources={thing[1]}:1", 200 if known else 400)
    if known and not state.is_class_used(thing[1]):
        ask.expect([], shown["allocation_requests"])


@kind("GET /traits/{name}", "trait")
def trait_shown(state, ask, thing):
    ask(f"/traits/{thing[1]}", 204 if thing[1] in state.traits else 404)


@kind("GET /traits", "trait")
def traits_listed(state, ask, thing):
    shown = ask(f"/traits?name=startswith:CUSTOM_TRAIT_{state.number}_")["traits"]
    ask.expect(sorted(name for name in state.traits if name.startswith("CUSTOM")), sorted(shown), "its own traits")


@kind("GET /allocation_candidates", "trait")
def trait_in_candidates(state, ask, thing):
    ask(f"/allocation_candidates?resources=VCPU:1&required={thing[1]}", 200 if thing[1] in state.traits else 400)
