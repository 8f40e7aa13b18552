"""Flattens a JSON Schema into rows of a path, a type in words, and a description."""

from dataclasses import dataclass

# The names in paths for members that are named by a pattern.
KEYS = {"^[0-9a-fA-F-]{36}$": "{uuid}", "^[A-Z0-9_]+$": "{CLASS}", "[a-zA-Z0-9_-]{1,64}": "{suffix}"}
# The names in paths for members with any name, by the name of their object.
MEMBERS = {"allocations": "{uuid}", "provider_summaries": "{uuid}", "inventories": "{CLASS}", "resources": "{CLASS}",
           "mappings": "{suffix}"}
# Longer patterns are left to the document: the text beside says what they mean.
LONGEST_PATTERN = 40


def any_member(document, path, schema):
    """The name in a path for the members of an object that may have any name."""
    name = path.split(".")[-1]
    if name == "usages":
        return "{TYPE}" if resolve(document, schema).get("type") == "object" else "{CLASS}"
    return MEMBERS.get(name, "{CLASS}" if name == "{TYPE}" else "{name}")


@dataclass
class Row:
    path: str
    kind: str
    required: bool
    about: str


def resolve(document, schema):
    while "$ref" in schema:
        found = document
        for part in schema["$ref"].removeprefix("#/").split("/"):
            found = found[part]
        schema = found | {k: v for k, v in schema.items() if k != "$ref"}
    return schema


def kind(document, schema):
    """The type and its bounds in words."""
    schema = resolve(document, schema)
    if "anyOf" in schema:
        return " or ".join(dict.fromkeys(kind(document, option) for option in schema["anyOf"]))
    types = schema.get("type", "any")
    word = types if isinstance(types, str) else " or ".join(types)
    if "enum" in schema:
        return " or ".join(f"“{value}”" for value in schema["enum"])
    if types == "array":
        return "list of " + kind(document, schema.get("items", {}))
    bounds = []
    if schema.get("format"):
        bounds.append(schema["format"])
    low, high = schema.get("minimum"), schema.get("maximum")
    if low is not None or high is not None:
        bounds.append(" ".join([*([f"from {low}"] if low is not None else []),
                                *([f"to {high}"] if high is not None else [])]))
    low, high = schema.get("minLength"), schema.get("maxLength")
    if high is not None:
        bounds.append(f"{low or 0} to {high} characters")
    if 0 < len(schema.get("pattern", "")) <= LONGEST_PATTERN:
        bounds.append(schema["pattern"])
    if schema.get("minProperties") or schema.get("minItems"):
        bounds.append("not empty")
    return ", ".join([word, *bounds])


def rows(document, schema, path=""):
    """One row for each member, depth first. Members of alternatives come once."""
    schema = resolve(document, schema)
    found = []
    for option in schema.get("anyOf", []):
        known = {row.path for row in found}
        found += [row for row in rows(document, option, path) if row.path not in known]
    for name, member in schema.get("properties", {}).items():
        found += member_rows(document, f"{path}.{name}" if path else name, member,
                             name in schema.get("required", []))
    for pattern, member in schema.get("patternProperties", {}).items():
        found += member_rows(document, f"{path}.{KEYS.get(pattern, '{name}')}".lstrip("."), member, False)
    if isinstance(schema.get("additionalProperties"), dict):
        member = schema["additionalProperties"]
        found += member_rows(document, f"{path}.{any_member(document, path, member)}", member, False)
    if "items" in schema:
        found += rows(document, schema["items"], f"{path}[]")
    return found


def member_rows(document, path, member, required):
    resolved = resolve(document, member)
    below = rows(document, resolved, path)
    return [Row(path, kind(document, resolved), required, resolved.get("description", "")), *below]
