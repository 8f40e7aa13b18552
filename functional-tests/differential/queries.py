"""Requests with a query: the list of providers, allocation candidates, classes and traits."""

import json
import urllib.parse

from functional_tests.differential.request import (
    AGGREGATES, BAD_IDS, CLASSES, CUSTOM_CLASSES, CUSTOM_TRAITS, NAMES, PROVIDERS, TRAITS, UNKNOWN_UUID, Request)


def encoded(path, pairs):
    return path + ("?" + urllib.parse.urlencode(pairs) if pairs else "")


def spoiled(dice, pairs):
    """Seldom puts an error into a query."""
    if pairs and dice.chance(0.05):
        key, value = dice.choice(pairs)
        pairs = pairs + [dice.choice([(key, value), (key, ""), ("x", "y"), (key + "x", value), (key, value + ",")])]
    if pairs and dice.chance(0.03):
        n = dice.random.randrange(len(pairs))
        bad = ["", ",", ":", "!", "in:", "!in:", "VCPU", "VCPU:", "VCPU:0", "VCPU:-1", "VCPU:1.5", "VCPU:1,VCPU:2",
               "UNHEARD:1", "x" * 300, "é", "0", "None", "VCPU:99999999999999999999", "in:,", "!!CUSTOM_RED"]
        pairs[n] = (pairs[n][0], dice.choice(bad))
    return pairs


def resources(dice, classes=CLASSES[:4]):
    wanted = {dice.choice(classes) if dice.chance(0.97) else dice.klass(): dice.amount()
              for _ in range(dice.choice([1, 1, 2]))}
    return ",".join(f"{name}:{amount}" for name, amount in wanted.items())


def traits(dice, minor):
    if minor >= 39 and dice.chance(0.3):
        return "in:" + ",".join(dice.some(TRAITS, 1, 3))
    names = [dice.trait() for _ in range(dice.choice([1, 1, 2]))]
    return ",".join(("!" if minor >= 22 and dice.chance(0.4) else "") + name for name in names)


def member_of(dice, minor):
    bang = "!" if minor >= 32 and dice.chance(0.3) else ""
    if dice.chance(0.6):
        return bang + dice.choice(AGGREGATES + [UNKNOWN_UUID])
    return bang + "in:" + ",".join(dice.some(AGGREGATES, 1, 3))


def in_tree(dice):
    return dice.provider() if dice.chance(0.95) else dice.choice(BAD_IDS)


def providers(dice):
    minor = dice.minor()
    pairs = []
    for since, chance, pair in (
            (0, 0.1, lambda: ("name", dice.choice(NAMES + ["nobody", ""]))),
            (0, 0.1, lambda: ("uuid", in_tree(dice))),
            (3, 0.3, lambda: ("member_of", member_of(dice, minor))),
            (24, 0.1, lambda: ("member_of", member_of(dice, minor))),
            (4, 0.35, lambda: ("resources", resources(dice))),
            (14, 0.2, lambda: ("in_tree", in_tree(dice))),
            (18, 0.3, lambda: ("required", traits(dice, minor))),
            (39, 0.15, lambda: ("required", traits(dice, minor)))):
        if (minor >= since or dice.chance(0.01)) and dice.chance(chance):
            pairs.append(pair())
    return Request("GET", encoded("/resource_providers", spoiled(dice, pairs)), version=f"1.{minor}")


def group(dice, minor, suffix):
    """The parameters of one group of a request for candidates."""
    pairs = []
    if minor < 36 or not suffix or dice.chance(0.85):
        pairs.append((f"resources{suffix}", resources(dice)))
    for since, chance, pair in (
            (17, 0.25, lambda: (f"required{suffix}", traits(dice, minor))),
            (39, 0.1, lambda: (f"required{suffix}", traits(dice, minor))),
            (21, 0.2, lambda: (f"member_of{suffix}", member_of(dice, minor))),
            (24, 0.07, lambda: (f"member_of{suffix}", member_of(dice, minor))),
            (31, 0.12, lambda: (f"in_tree{suffix}", in_tree(dice)))):
        if (minor >= since or dice.chance(0.01)) and dice.chance(chance):
            pairs.append(pair())
    return pairs


def candidates(dice):
    minor = dice.minor(10)
    suffixes = [""]
    if minor >= 25 and dice.chance(0.45):
        known = ["1", "2", "3"] if minor < 33 or dice.chance(0.5) else ["_A", "_B-2", "1"]
        suffixes = dice.some(known, 1, 3) + ([""] if dice.chance(0.4) else [])
    pairs = [pair for suffix in suffixes for pair in group(dice, minor, suffix)]
    if len(suffixes) > 1 and dice.chance(0.9):
        pairs.append(("group_policy", dice.choice(["none", "isolate", "isolate" if dice.chance(0.95) else "x"])))
    if minor >= 16 and dice.chance(0.15):
        pairs.append(("limit", str(dice.choice([1, 2, 5, 1000]) if dice.chance(0.9) else dice.choice([0, -1, "x"]))))
    if minor >= 35 and dice.chance(0.15):
        pairs.append(("root_required", traits(dice, minor if dice.chance(0.1) else 22)))
    if minor >= 36 and dice.chance(0.3):
        for _ in range(dice.choice([1, 1, 1, 2])):
            pairs.append(("same_subtree", ",".join(dice.some([s for s in suffixes if s] or ["_A"], 1))))
    dice.random.shuffle(pairs)
    return Request("GET", encoded("/allocation_candidates", spoiled(dice, pairs)), version=f"1.{minor}")


def many_groups(dice):
    """A request for candidates that asks for what initial_forest.py has. Most find some."""
    minor = dice.minor(dice.choice([10, 25, 29, 34, 36]))
    granular = dice.some(["1", "2", "3"], 1) if minor >= 25 and dice.chance(0.7) else []
    suffixes = granular + ([""] if not granular or dice.chance(0.65) else [])
    subtree = dice.some(granular, min(2, len(granular))) if minor >= 36 and granular and dice.chance(0.5) else []
    pairs = [("same_subtree", ",".join(subtree))] if subtree else []
    if len(subtree) > 1 and dice.chance(0.4):
        # The second same_subtree shares a group with the first.
        pairs.append(("same_subtree", ",".join(dice.some(granular, min(2, len(granular))))))
    for suffix in suffixes:
        if suffix in subtree and len(suffixes) > 1 and dice.chance(0.2):
            pairs.append((f"required{suffix}", "HW_NIC_SRIOV"))
            continue
        pairs.append((f"resources{suffix}", ",".join(f"{name}:{dice.choice([1, 1, 1, 2, 3])}" for name in
                                                     dice.some(CLASSES[:4], 1, dice.choice([1, 1, 2, 3])))))
        for since, chance, pair in ((17, 0.12, ("required", "HW_NIC_SRIOV")), (22, 0.1, ("required", "!HW_CPU_X86_AVX2")),
                                    (39, 0.1, ("required", "in:HW_NIC_SRIOV,HW_CPU_X86_AVX2")),
                                    (21, 0.08, ("member_of", "in:" + ",".join(AGGREGATES[:2]))),
                                    (32, 0.05, ("member_of", "!" + AGGREGATES[2])),
                                    (31, 0.06, ("in_tree", dice.choice(PROVIDERS[:4])))):
            if minor >= since and dice.chance(chance):
                pairs.append((pair[0] + suffix, pair[1]))
    if len(suffixes) > 1 and dice.chance(0.95 if len(granular) > 1 else 0.6):
        pairs.append(("group_policy", dice.choice(["none", "isolate"])))
    if minor >= 16 and dice.chance(0.25):
        pairs.append(("limit", str(dice.choice([1, 2, 3, 5, 20]))))
    if minor >= 35 and dice.chance(0.1):
        pairs.append(("root_required", dice.choice(["HW_NIC_SRIOV", "!CUSTOM_RED", "HW_CPU_X86_AVX2,!CUSTOM_RED"])))
    dice.random.shuffle(pairs)
    return Request("GET", encoded("/allocation_candidates", pairs), version=f"1.{minor}")


def classes(dice):
    minor = dice.minor(2)
    name = dice.choice(CUSTOM_CLASSES) if dice.chance(0.85) else dice.klass()
    path = f"/resource_classes/{urllib.parse.quote(name)}"
    roll = dice.random.random()
    if roll < 0.2:
        return Request("GET", "/resource_classes", version=f"1.{minor}")
    if roll < 0.35:
        return Request("POST", "/resource_classes", json.dumps({"name": name}), f"1.{minor}")
    if roll < 0.6:
        body = json.dumps({"name": dice.choice(CUSTOM_CLASSES)}) if minor < 7 else None
        return Request("PUT", path, body, f"1.{minor}")
    return Request("GET" if roll < 0.8 else "DELETE", path, version=f"1.{minor}")


def known_traits(dice):
    version = f"1.{dice.minor(6)}"
    if dice.chance(0.3):
        pairs = []
        if dice.chance(0.7):
            pairs.append(("name", dice.choice(["in:CUSTOM_RED,HW_NIC_SRIOV", "startswith:CUSTOM", "startswith:HW_NIC",
                                               "in:", "startswith:", "CUSTOM_RED", "ends:X", "in:CUSTOM_RED,", "in"])))
        if dice.chance(0.4):
            pairs.append(("associated", dice.choice(["true", "false", "True", "FALSE", "1", ""])))
        return Request("GET", encoded("/traits", spoiled(dice, pairs)), version=version)
    name = dice.choice(CUSTOM_TRAITS) if dice.chance(0.85) else dice.trait()
    return Request(dice.choice(["PUT", "PUT", "GET", "DELETE"]), f"/traits/{urllib.parse.quote(name)}", version=version)


def spelled(dice):
    """One provider in every spelling that a path can have."""
    return Request("GET", f"/resource_providers/{dice.choice(BAD_IDS + PROVIDERS)}", version="1.39")
