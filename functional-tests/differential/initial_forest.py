"""The initial forest of a run about candidates: a few trees with most classes, and sharing providers."""

import json

from functional_tests.differential.request import (
    AGGREGATES, CLASSES, NAMES, PROVIDERS, SHARING, Request, provider_generation)

TRAITS = ["HW_CPU_X86_AVX2", "HW_NIC_SRIOV", "CUSTOM_RED"]


def building(dice):
    uuids = PROVIDERS[:dice.random.randint(4, 7)]
    # Few sharing providers have a parent: with one of these, OpenStack Placement answers most requests with 500.
    below = 0.1 if dice.chance(0.15) else 0
    sharing = {uuid for uuid in uuids[1:] if dice.chance(0.25)}
    parents = [uuid for uuid in uuids if uuid not in sharing]
    yield Request("PUT", "/traits/CUSTOM_RED", version="1.39")
    for n, uuid in enumerate(uuids):
        body = {"name": NAMES[n], "uuid": uuid}
        possible = [parent for parent in parents if parent < uuid]
        if possible and dice.chance(below if uuid in sharing else 0.55):
            body["parent_provider_uuid"] = dice.choice(possible)
        yield Request("POST", "/resource_providers", json.dumps(body), "1.39")
    for uuid in uuids:
        has = [name for name in CLASSES[:4] if dice.chance(0.4 if uuid in sharing else 0.65)]
        yield put(uuid, "inventories", {name: inventory(dice) for name in has})
        yield put(uuid, "traits", [name for name in TRAITS if dice.chance(0.45)] + [SHARING] * (uuid in sharing))
        yield put(uuid, "aggregates", dice.some(AGGREGATES[:3], 1 if uuid in sharing or dice.chance(0.6) else 0, 2))


def inventory(dice):
    """An inventory that is small enough for groups to reach its limits."""
    body = {"total": dice.choice([2, 3, 4, 8, 20])}
    for name, values, chance in (("reserved", [1, 2], 0.1), ("max_unit", [1, 2, 3, 4], 0.2), ("min_unit", [2, 3], 0.07),
                                 ("step_size", [2, 3], 0.07), ("allocation_ratio", [0.5, 0.9, 1.5, 16.0], 0.12)):
        if dice.chance(chance):
            body[name] = dice.choice(values)
    return body


def put(uuid, noun, value):
    body = {noun: value, "resource_provider_generation": provider_generation(uuid)}
    return Request("PUT", f"/resource_providers/{uuid}/{noun}", json.dumps(body), "1.39")
