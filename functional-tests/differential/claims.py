"""Requests about allocations, the reshaper and usages."""

import json
import urllib.parse

from functional_tests.differential.providers import inventory
from functional_tests.differential.request import (
    BAD_IDS, PROJECTS, PROVIDERS, TYPES, USERS, Request, consumer_generation, provider_generation)


def resources(dice):
    return {dice.klass(): dice.amount() for _ in range(dice.choice([1, 1, 1, 1, 1, 2, 3]))}


def shares(dice, least=1):
    wanted = dice.some(PROVIDERS[:6 if dice.chance(0.3) else 3], least, dice.choice([1, 1, 2]))
    if dice.chance(0.03):
        wanted.append(dice.choice([BAD_IDS[0], BAD_IDS[2], BAD_IDS[3]]))
    share = {}
    for uuid in wanted:
        share[uuid] = {"resources": resources(dice)}
        if dice.chance(0.05):
            share[uuid]["generation"] = provider_generation(uuid, dice.less())
    return share


def claim(dice, consumer, minor, may_be_empty=True):
    """The claim of one consumer, in the form of the microversion."""
    least = 0 if may_be_empty and minor >= (28 if may_be_empty == "put" else 13) and dice.chance(0.2) else 1
    allocations = {} if not least else shares(dice)
    if minor < 12:
        allocations = [{"resource_provider": {"uuid": uuid}, "resources": share["resources"]}
                       for uuid, share in allocations.items()]
    body = {"allocations": allocations}
    if minor >= 8:
        body |= {"project_id": dice.choice(PROJECTS), "user_id": dice.choice(USERS)}
    if minor >= 28:
        body["consumer_generation"] = consumer_generation(consumer, dice.less())
        if dice.chance(0.03):
            body["consumer_generation"] = None
    if minor >= 34 and dice.chance(0.3):
        good = [{"": [PROVIDERS[0]]}, {"1": PROVIDERS[:2], "_A": [PROVIDERS[2]]}]
        bad = [{}, {"": []}, {"": ["x"]}, {"é": [PROVIDERS[0]]}]
        body["mappings"] = dice.choice(good if dice.chance(0.9) else bad)
    if minor >= 38:
        body["consumer_type"] = dice.choice(TYPES) if dice.chance(0.97) else dice.choice(["low", "unknown", "", "A-B"])
    return body


def put(dice):
    minor = dice.minor()
    consumer = dice.consumer()
    body = claim(dice, consumer, minor, "put")
    spelled = consumer
    if dice.chance(0.04):
        spelled = dice.choice([consumer.upper(), consumer.replace("-", "")] + BAD_IDS)
    return Request("PUT", f"/allocations/{spelled}", json.dumps(body), f"1.{minor}")


def post(dice):
    minor = dice.minor(13)
    wanted = dice.some(["c0000000-0000-4000-8000-00000000000%d" % n for n in range(1, 6)], 1, 3)
    body = {consumer: claim(dice, consumer, max(minor, 13)) for consumer in wanted}
    if dice.chance(0.02):
        body[dice.choice(["x", wanted[0].upper(), wanted[0].replace("-", "")])] = claim(dice, wanted[0], minor)
    return Request("POST", "/allocations", json.dumps(body), f"1.{minor}")


def delete_or_show(dice):
    consumer = dice.consumer() if dice.chance(0.92) else dice.choice(BAD_IDS)
    return Request(dice.choice(["DELETE", "GET", "GET"]), f"/allocations/{consumer}", version=f"1.{dice.minor()}")


def reshape(dice):
    minor = dice.minor(30)
    inventories = {}
    for uuid in dice.some(PROVIDERS[:6], 1, 3):
        wanted = {dice.klass(): inventory(dice) | {"total": dice.choice([4, 20, 100])}
                  for _ in range(dice.choice([0, 2, 4, 6, 8, 8]))}
        inventories[uuid] = {
            "resource_provider_generation": provider_generation(uuid, dice.less()), "inventories": wanted}
    if dice.chance(0.03):
        inventories[dice.choice(BAD_IDS[:4])] = {"resource_provider_generation": 0, "inventories": {}}
    allocations = {}
    for consumer in dice.some(["c0000000-0000-4000-8000-00000000000%d" % n for n in range(1, 6)], 0, 5):
        allocations[consumer] = claim(dice, consumer, max(minor, 30))
    if dice.chance(0.5):
        # Allocations move to a provider that is reshaped. Most other reshapes are refused for an inventory in use.
        for body in allocations.values():
            body["allocations"] = {uuid: {"resources": {name: 1 for name in list(it["inventories"])[:1]} or {"VCPU": 1}}
                                   for uuid, it in list(inventories.items())[:1]}
    body = {"inventories": inventories, "allocations": allocations}
    return Request("POST", "/reshaper", json.dumps(body), f"1.{minor}")


def usages(dice):
    minor = dice.minor(9)
    query = []
    if dice.chance(0.95):
        query.append(("project_id", dice.choice(PROJECTS + ["unheard", ""])))
    if dice.chance(0.4):
        query.append(("user_id", dice.choice(USERS + ["nobody", ""])))
    if minor >= 38 and dice.chance(0.6):
        query.append(("consumer_type", dice.choice(TYPES + ["all", "unknown", "UNHEARD", "low", "unknown-"])))
    if dice.chance(0.05):
        query.append(dice.choice(query + [("x", "y")]))
    return Request("GET", "/usages?" + urllib.parse.urlencode(query), version=f"1.{minor}")
