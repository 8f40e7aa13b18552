"""What Schemathesis needs to know of placet: names that exist, and checks of its own.

Random names would be refused as unknown before anything else is looked at: half of the time a name is
one of the world's.
"""

import re
import zlib

import schemathesis
import world

QUERY = {
    "resources": [f"{name}:{amount}" for name in world.CLASSES for amount in ("1", "2,VCPU:1", "256", "4000000")],
    "required": [*world.TRAITS, "!CUSTOM_FAST", "CUSTOM_FAST,!COMPUTE_NODE", "in:CUSTOM_FAST,COMPUTE_NODE"],
    "member_of": [world.RACK, f"in:{world.RACK},{world.HOST}", f"!{world.RACK}", f"!in:{world.RACK}"],
    "in_tree": world.PROVIDERS,
    "limit": ["1", "2", "1000"],
    "group_policy": ["none", "isolate"],
    "root_required": world.TRAITS,
    "same_subtree": ["1,2", "_A,_B"],
    "name": ["host1", "startswith:CUSTOM_", "in:CUSTOM_FAST,COMPUTE_NODE"],
    "uuid": world.PROVIDERS,
    "associated": ["true", "false"],
    "project_id": [world.PROJECT],
    "user_id": [world.USER],
    "consumer_type": ["INSTANCE", "all", "unknown"],
}
PATH = {
    "uuid": world.PROVIDERS,
    "consumer_uuid": world.CONSUMERS,
    "resource_class": world.CLASSES,
    "name": [*world.CLASSES, *world.TRAITS],
}
# The names that a PUT takes.
CUSTOM = {"resource_classes": ["CUSTOM_GOLD", "CUSTOM_TIN"], "traits": ["CUSTOM_FAST", "CUSTOM_SLOW"]}
UUID = re.compile("[0-9a-fA-F-]{36}")


def known(text, names):
    """The text, or one of the names; chosen by what the text is, so that seeded runs stay seeded."""
    number = zlib.crc32(str(text).encode())
    return names[number // 2 % len(names)] if number % 2 else text


def chosen(parameters, names):
    return {name: known(value, names[name]) if name in names else value for name, value in parameters.items()}


def with_known_names(body, inside=None):
    """A body in which some providers, consumers, classes and traits are the world's."""
    if isinstance(body, list):
        return [known(item, world.TRAITS) if inside == "traits" else with_known_names(item) for item in body]
    if not isinstance(body, dict):
        return body
    names = {"resources": world.CLASSES, "inventories": world.CLASSES, "allocations": world.PROVIDERS}.get(inside)
    if names == world.CLASSES and any(UUID.fullmatch(str(key)) for key in body):
        names = world.PROVIDERS
    keys = {key: known(key, names) if names else key for key in body}
    if len(set(keys.values())) < len(keys):
        keys = {key: key for key in body}
    return {keys[key]: with_known_names(value, key) for key, value in body.items()}


def positive(case):
    return case.meta is None or case.meta.generation.mode.is_positive


@schemathesis.hook
def before_call(context, case, kwargs):
    if not positive(case):
        return
    if case.path_parameters:
        names = PATH | ({"name": CUSTOM[case.path.split("/")[1]]} if case.method == "PUT" and "{name}" in case.path else {})
        case.path_parameters = chosen(case.path_parameters, names)
    if case.query:
        case.query = chosen(case.query, QUERY)
    if isinstance(case.body, (dict, list)):
        case.body = with_known_names(case.body)


def detail(response):
    try:
        return response.json()["errors"][0]["detail"]
    except (ValueError, KeyError, IndexError, TypeError):
        return ""


@schemathesis.check
def read_as_described(ctx, response, case):
    """What the description allows is not refused for its form."""
    # In sequences a listed name is tried on every URL that takes names, standard ones where only custom ones are.
    followed = not str(case.path_parameters.get("name", "CUSTOM_")).startswith("CUSTOM_")
    if positive(case) and response.status_code == 400 and not followed:
        said = detail(response)
        assert "JSON does not validate" not in said and "Malformed JSON" not in said, said
