"""Hooks of Schemathesis: names that exist in the sample cloud, and placet's own checks.

placet refuses random names as unknown before any further check. So half of the names are the cloud's.
"""

import re
import zlib

import schemathesis

from functional_tests.reference import sample_cloud

QUERY = {
    "resources": [f"{name}:{amount}" for name in sample_cloud.CLASSES for amount in ("1", "2,VCPU:1", "256", "4000000")],
    "required": [*sample_cloud.TRAITS, "!CUSTOM_FAST", "CUSTOM_FAST,!COMPUTE_NODE", "in:CUSTOM_FAST,COMPUTE_NODE"],
    "member_of": [sample_cloud.RACK, f"in:{sample_cloud.RACK},{sample_cloud.HOST}", f"!{sample_cloud.RACK}", f"!in:{sample_cloud.RACK}"],
    "in_tree": sample_cloud.PROVIDERS,
    "limit": ["1", "2", "1000"],
    "group_policy": ["none", "isolate"],
    "root_required": sample_cloud.TRAITS,
    "same_subtree": ["1,2", "_A,_B"],
    "name": ["host1", "startswith:CUSTOM_", "in:CUSTOM_FAST,COMPUTE_NODE"],
    "uuid": sample_cloud.PROVIDERS,
    "associated": ["true", "false"],
    "project_id": [sample_cloud.PROJECT],
    "user_id": [sample_cloud.USER],
    "consumer_type": ["INSTANCE", "all", "unknown"],
}
PATH = {
    "uuid": sample_cloud.PROVIDERS,
    "consumer_uuid": sample_cloud.CONSUMERS,
    "resource_class": sample_cloud.CLASSES,
    "name": [*sample_cloud.CLASSES, *sample_cloud.TRAITS],
}
# The names that a PUT takes.
CUSTOM = {"resource_classes": ["CUSTOM_GOLD", "CUSTOM_TIN"], "traits": ["CUSTOM_FAST", "CUSTOM_SLOW"]}
UUID = re.compile("[0-9a-fA-F-]{36}")


def known(text, names):
    """The text or one of the names. The text decides which, so that a seed repeats a run."""
    number = zlib.crc32(str(text).encode())
    return names[number // 2 % len(names)] if number % 2 else text


def chosen(parameters, names):
    return {name: known(value, names[name]) if name in names else value for name, value in parameters.items()}


def with_known_names(body, inside=None):
    """A body in which some providers, consumers, classes and traits are those of the sample cloud."""
    if isinstance(body, list):
        return [known(item, sample_cloud.TRAITS) if inside == "traits" else with_known_names(item) for item in body]
    if not isinstance(body, dict):
        return body
    names = {"resources": sample_cloud.CLASSES, "inventories": sample_cloud.CLASSES, "allocations": sample_cloud.PROVIDERS}.get(inside)
    if names == sample_cloud.CLASSES and any(UUID.fullmatch(str(key)) for key in body):
        names = sample_cloud.PROVIDERS
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
    """Checks that placet does not refuse the form of what the description allows."""
    # In sequences a listed name is tried on every URL that takes names, standard ones where only custom ones are.
    followed = not str(case.path_parameters.get("name", "CUSTOM_")).startswith("CUSTOM_")
    if positive(case) and response.status_code == 400 and not followed:
        said = detail(response)
        assert "JSON does not validate" not in said and "Malformed JSON" not in said, said
        # Of the native API alone: OpenStack's sentences about groups have these words too.
        if case.path.startswith("/v1"):
            assert not re.search(" is (required|unknown|not a|none of)", said), said
