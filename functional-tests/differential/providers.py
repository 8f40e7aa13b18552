"""Requests about providers and their inventories, traits, aggregates and usages."""

import json

from functional_tests.differential.request import (
    AGGREGATES, ANONYMOUS, NAMES, PROVIDERS, SHARING, Request, provider_generation)


def provider(dice):
    minor = dice.minor()
    if dice.chance(0.08):
        name = dice.choice(ANONYMOUS)
        path = f"/resource_providers/@anonymous:{name}@"
        return dice.choice([Request("POST", "/resource_providers", json.dumps({"name": name}), f"1.{minor}"),
                            Request("DELETE", path, version=f"1.{minor}"),
                            Request("GET", path, version=f"1.{minor}")])
    uuid = dice.provider()
    body = {"name": NAMES[PROVIDERS.index(uuid)] if uuid in PROVIDERS else "unheard"}
    if dice.chance(0.1):
        body["name"] = dice.choice(NAMES + ["", "Häuschen", "x" * 200, "x" * 201, "a,b:c", "a\n", "\n", "\0", "e\u0301",
                                            "\U0001f980" * 200, "\U0001f980" * 201, "\u2028", "\uffff", "<b>&amp;"])
    if minor >= 14 and dice.chance(0.5):
        body["parent_provider_uuid"] = dice.choice([None, dice.provider(), dice.provider(), dice.id_in_path()])
    roll = dice.random.random()
    if roll < 0.4:
        body["uuid"] = uuid if dice.chance(0.95) else dice.id_in_path()
        return Request("POST", "/resource_providers", json.dumps(body), f"1.{minor}")
    path = f"/resource_providers/{dice.id_in_path()}"
    if roll < 0.75:
        return Request("PUT", path, json.dumps(body), f"1.{minor}")
    return Request("GET" if roll < 0.87 else "DELETE", path, version=f"1.{minor}")


def inventory(dice):
    """The inventory of one class. Most have capacity for a claim."""
    body = {"total": dice.choice([1, 4, 8, 10, 20, 100, 100])}
    for name, values, chance in (
            ("reserved", [0, 1, 2, 4, 200], 0.15), ("min_unit", [1, 1, 2, 5, 30], 0.08),
            ("max_unit", [1, 4, 10, 2**31 - 1], 0.12), ("step_size", [1, 2, 5, 10], 0.08),
            ("allocation_ratio", [0.5, 0.9, 1, 1.1, 1.5, 4.0, 16.0, 0.0, -1.0], 0.2)):
        if dice.chance(chance):
            body[name] = dice.choice(values)
    if dice.chance(0.03):
        name = dice.choice(list(body))
        body[name] = float(body[name])
    return body


def inventories(dice):
    uuid = dice.id_in_path()
    version = f"1.{dice.minor()}"
    path = f"/resource_providers/{uuid}/inventories"
    generation = {"resource_provider_generation": provider_generation(uuid, dice.less())}
    roll = dice.random.random()
    if roll < 0.25:
        body = generation | {"inventories": {dice.klass(): inventory(dice) for _ in range(dice.random.randint(0, 6))}}
        return Request("PUT", path, json.dumps(body), version)
    if roll < 0.5:
        body = (generation if dice.chance(0.7) else {}) | {"resource_class": dice.klass()} | inventory(dice)
        return Request("POST", path, json.dumps(body), version)
    if roll < 0.65:
        return Request("PUT", f"{path}/{dice.klass()}", json.dumps(generation | inventory(dice)), version)
    if roll < 0.75:
        return Request("DELETE", f"{path}/{dice.klass()}", version=version)
    if roll < 0.8:
        return Request("DELETE", path, version=version)
    return Request("GET", path if dice.chance(0.5) else f"{path}/{dice.klass()}", version=version)


def traits_of(dice):
    uuid = dice.id_in_path()
    version = f"1.{dice.minor(6)}"
    path = f"/resource_providers/{uuid}/traits"
    roll = dice.random.random()
    if roll < 0.6:
        traits = [dice.trait() for _ in range(dice.random.randint(0, 3))]
        body = {"traits": traits, "resource_provider_generation": provider_generation(uuid, dice.less())}
        return Request("PUT", path, json.dumps(body), version)
    return Request("DELETE" if roll < 0.7 else "GET", path, version=version)


def aggregates(dice):
    uuid = dice.id_in_path()
    minor = dice.minor(1)
    path = f"/resource_providers/{uuid}/aggregates"
    if dice.chance(0.3):
        return Request("GET", path, version=f"1.{minor}")
    body = dice.some(AGGREGATES, 0, 3)
    if dice.chance(0.05):
        body.append(dice.choice([body[:1], AGGREGATES[0].upper(), AGGREGATES[0].replace("-", ""), "x"]))
    if minor >= 19 or dice.chance(0.03):
        body = {"aggregates": body, "resource_provider_generation": provider_generation(uuid, dice.less())}
    return Request("PUT", path, json.dumps(body), f"1.{minor}")


def reads_of_provider(dice):
    noun = dice.choice(["usages", "allocations", "traits", "aggregates", "inventories"])
    return Request("GET", f"/resource_providers/{dice.id_in_path()}/{noun}", version=f"1.{dice.minor()}")


def building(dice):
    """The requests at the beginning of a run. They make a forest with every kind of resource."""
    for n, uuid in enumerate(PROVIDERS[:6]):
        body = {"name": NAMES[n], "uuid": uuid}
        if n and dice.chance(0.5):
            body["parent_provider_uuid"] = dice.choice(PROVIDERS[:n])
        yield Request("POST", "/resource_providers", json.dumps(body), "1.39")
    for name in dice.some(["CUSTOM_GOLD", "CUSTOM_LEAD"]):
        yield Request("PUT", f"/resource_classes/{name}", version="1.39")
    for name in dice.some(["CUSTOM_RED", "CUSTOM_BLUE"]):
        yield Request("PUT", f"/traits/{name}", version="1.39")
    for uuid in PROVIDERS[:6]:
        if dice.chance(0.8):
            wanted = {name: {"total": dice.choice([8, 20, 100])} | (inventory(dice) if dice.chance(0.2) else {})
                      for name in ["VCPU"] + dice.some(["MEMORY_MB", "DISK_GB", "SRIOV_NET_VF"], 0, 2)}
            body = {"resource_provider_generation": provider_generation(uuid), "inventories": wanted}
            yield Request("PUT", f"/resource_providers/{uuid}/inventories", json.dumps(body), "1.39")
        for noun, value in (("traits", dice.some(["HW_CPU_X86_AVX2", "HW_NIC_SRIOV", "STORAGE_DISK_SSD", SHARING])),
                            ("aggregates", dice.some(AGGREGATES[:3], 1, 2))):
            if dice.chance(0.4):
                body = {noun: value, "resource_provider_generation": provider_generation(uuid)}
                yield Request("PUT", f"/resource_providers/{uuid}/{noun}", json.dumps(body), "1.39")
