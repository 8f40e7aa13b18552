"""Parses a valid request for allocation candidates as the API's documents describe the request."""

import re
import urllib.parse
from dataclasses import dataclass, field

# A line feed at the end is not a part of the name: in a Python pattern, `$` matches before it. The values of some
# parameters are then looked up by the name without it, so that this value is not found.
PART = re.compile(r"(resources|required|member_of|in_tree)([a-zA-Z0-9_-]{0,64})(\n?)")
LOOKED_UP = ("required", "member_of")
# The microversions from which an answer has mappings, nested providers, all classes of a provider, its traits, and
# allocations by provider; and from which `required` may be repeated.
MAPPINGS_MINOR, NESTED_MINOR, ALL_CLASSES_MINOR, TRAITS_MINOR, BY_PROVIDER_MINOR = 34, 29, 27, 17, 12
REPEATED_REQUIRED_MINOR = 39


@dataclass
class Traits:
    """A constraint on traits: at least one of each set of `required`, and none of `forbidden`."""
    required: list = field(default_factory=list)
    forbidden: set = field(default_factory=set)

    def add(self, value):
        names = [name.strip() for name in value.removeprefix("in:").split(",")]
        if value.startswith("in:"):
            self.required.append(set(names))
            return
        self.required += [{name} for name in names if not name.startswith("!")]
        self.forbidden |= {name.lstrip("!") for name in names if name.startswith("!")}

    def hold(self, traits):
        return all(any_of & traits for any_of in self.required) and not self.forbidden & traits


@dataclass
class Group:
    suffix: str
    resources: dict = field(default_factory=dict)
    traits: Traits = field(default_factory=Traits)
    inside: list = field(default_factory=list)
    outside: set = field(default_factory=set)
    in_tree: str | None = None

    def add_members(self, value):
        uuids = set(value.lstrip("!").removeprefix("in:").split(","))
        if value.startswith("!"):
            self.outside |= uuids
        else:
            self.inside.append(uuids)


class CandidatesQuery:
    def __init__(self, path, minor):
        pairs = parameters(path)
        first, last = dict(reversed(pairs)), dict(pairs)
        self.minor = minor
        self.limit = int(first["limit"]) if "limit" in first else None
        self.policy = first.get("group_policy")
        self.root = Traits()
        if "root_required" in first:
            self.root.add(first["root_required"])
        self.subtrees = [{suffix.strip() for suffix in value.split(",")}
                         for key, value in pairs if key == "same_subtree"]
        groups = {}
        for key, value in pairs:
            match = PART.fullmatch(key)
            if not match:
                continue
            noun, suffix, line_feed = match.groups()
            group = groups.setdefault(suffix, Group(suffix))
            if line_feed and noun in LOOKED_UP:
                continue
            if noun == "resources":
                amounts = (part.split(":") for part in value.split(","))
                group.resources = {name: int(amount) for name, amount in amounts}
            elif noun == "in_tree":
                group.in_tree = value.strip()
            elif noun == "member_of":
                group.add_members(value)
            elif minor >= REPEATED_REQUIRED_MINOR or value is last[key]:
                group.traits.add(value)
        self.groups = list(groups.values())

    def classes(self):
        """The amounts that groups ask of each class."""
        amounts = {}
        for group in self.groups:
            for name, amount in group.resources.items():
                amounts.setdefault(name, set()).add(amount)
        return amounts


def parameters(path):
    """Names and values of a query. Both services split it at semicolons too."""
    return urllib.parse.parse_qsl(urllib.parse.urlsplit(path).query.replace(";", "&"), keep_blank_values=True)


def is_candidates(request):
    return request.method == "GET" and urllib.parse.urlsplit(request.path).path == "/allocation_candidates"


def without_limit(path):
    url = urllib.parse.urlsplit(path)
    pairs = [(key, value) for key, value in parameters(path) if key != "limit"]
    return f"{url.path}?{urllib.parse.urlencode(pairs)}"
