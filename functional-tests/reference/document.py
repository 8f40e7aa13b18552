"""Walks over the description of the API."""

import re


def operations(document):
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            yield method.upper(), path, operation


def path_pattern(path):
    return re.compile(re.sub(r"\{\w+\}", "[^/?]+", path.replace(".", r"\.")) + r"(\?.*)?")


def resolve(document, element):
    """The element, or what it refers to with the members that stand beside the reference."""
    while "$ref" in element:
        found = document
        for part in element["$ref"].removeprefix("#/").split("/"):
            found = found[part]
        element = found | {name: value for name, value in element.items() if name != "$ref"}
    return element
