"""`/v1/providers?fields=`, `/v1/consumers` and `/v1/usages`: the lists of many things. They write nothing."""

from functional_tests.cross_process import reads

PARTS = "inventories,usages,traits,aggregates,allocations,state"


@reads.kind("GET /v1/providers", "provider")
def parts_listed(state, ask, provider):
    answer = ask(f"/v1/providers?in_tree={provider.root.uuid}&fields={PARTS}")
    shown = {it.pop("uuid"): it | {"traits": set(it["traits"]), "aggregates": set(it["aggregates"])}
             for it in answer["providers"]}
    parts = {p.uuid: {
        "name": p.name, "resource_provider_generation": p.generation, "root_provider_uuid": p.root.uuid,
        "root_provider_name": p.root.name, "parent_provider_uuid": p.parent.uuid if p.parent else None,
        "parent_provider_name": p.parent.name if p.parent else None, "inventories": p.inventories,
        "usages": {name: state.used(p, name) for name in p.inventories}, "traits": p.traits, "aggregates": p.aggregates,
        "allocations": {c.uuid: {"resources": c.holds[p.uuid]}
                        for c in state.consumers.values() if p.uuid in c.holds},
        "state": "up"} for p in state.tree(provider.root)}
    ask.expect(parts, shown, "the tree with its parts")


@reads.kind("GET /v1/usages", "provider")
def root_summed(state, ask, provider):
    """A tree that was emptied by deletions is in no sum."""
    sums = {it["key"]: it for it in ask("/v1/usages?by=root")["usages"]}.get(provider.root.uuid)
    used = {}
    for p in state.tree(provider.root):
        for name in p.inventories:
            used[name] = used.get(name, 0) + state.used(p, name)
    tree = state.tree(provider.root)
    expected = (len(tree), provider.root.name, used) if tree else None
    shown = sums and (sums["providers"], sums["name"],
                      {name: each["used"] for name, each in sums["resource_classes"].items()})
    ask.expect(expected, shown, "the sums of the tree")


@reads.kind("GET /v1/usages", "consumer")
def project_summed(state, ask, consumer):
    sums = ask(f"/v1/usages?by=project&project_id={state.project}")["usages"]
    used = reads.project_usages(state, None)
    counts = [{"consumers": sum(each["consumer_count"] for each in used.values()), "amounts": all_types(used)}]
    shown = [{"consumers": it["consumers"],
              "amounts": {name: each["used"] for name, each in it["resource_classes"].items()}} for it in sums]
    ask.expect(counts if used else [], shown, "the sums of the project")


def all_types(usages):
    """The sums of all types."""
    sums = {}
    for of_type in usages.values():
        for name, amount in of_type.items():
            sums[name] = sums.get(name, 0) + amount
    return {name: amount for name, amount in sums.items() if name != "consumer_count"}


@reads.kind("GET /v1/consumers", "consumer")
def consumers_listed(state, ask, consumer):
    answer = ask(f"/v1/consumers?project_id={state.project}&fields=allocations")
    shown = {it["uuid"]: (it["consumer_type"], it["user_id"], it["consumer_generation"],
                          {uuid: share["resources"] for uuid, share in it["allocations"].items()})
             for it in answer["consumers"]}
    held = {c.uuid: (c.type or "unknown", state.project, c.generation, c.holds)
            for c in state.consumers.values() if c.holds}
    ask.expect(held, shown, "the consumers of the project")
