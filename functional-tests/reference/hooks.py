"""What Schemathesis needs to know of placet: names that exist, and checks of its own.

Random names would be refused as unknown before anything else is looked at: half of the time a name is
one of the world's.
"""

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


def chosen(case, place, names):
    """Some of the parameters with names of the world's, chosen by what they were: seeded runs stay seeded."""
    known = dict(place or {})
    for name, value in known.items():
        if name in names and sum(str(value).encode()) % 2:
            known[name] = names[name][len(str(value)) % len(names[name])]
    return known


def positive(case):
    return case.meta is None or case.meta.generation.mode.is_positive


@schemathesis.hook
def before_call(context, case, kwargs):
    if not positive(case):
        return
    if case.path_parameters:
        case.path_parameters = chosen(case, case.path_parameters, PATH)
    if case.query:
        case.query = chosen(case, case.query, QUERY)


def detail(response):
    try:
        return response.json()["errors"][0]["detail"]
    except (ValueError, KeyError, IndexError, TypeError):
        return ""


@schemathesis.check
def no_defect(ctx, response, case):
    """5xx that are not placet's own words for what it cannot do are defects, whatever is described."""
    assert response.status_code < 500 or response.status_code == 501, response.text


@schemathesis.check
def read_as_described(ctx, response, case):
    """What the description allows is not refused for its form."""
    if positive(case) and response.status_code == 400:
        said = detail(response)
        assert "JSON does not validate" not in said and "Malformed JSON" not in said, said
