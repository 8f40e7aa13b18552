"""Checks live answers against api-ref/openapi.json: an answer that is not described is a complaint.

Every gabbi file, placet's own and OpenStack Placement's, is run with this check. So the description covers what clients
rely on.
"""

import json
import re
import urllib.parse

import jsonschema
import referencing
from referencing.jsonschema import DRAFT202012

from functional_tests.lib.root import ROOT

DOCUMENT = ROOT / "api-ref" / "openapi.json"
HEADERS = {"location": "Location", "last-modified": "Last-Modified", "cache-control": "Cache-Control"}
LAST_MODIFIED_VERSION = (1, 15)
# OpenStack Placement gives no Last-Modified to a provider that was never changed before this PUT; placet does.
OLDER_OMITS = {("Last-Modified", "put_resource_providers_uuid")}


def numbers(version):
    return tuple(int(part) for part in version.split("."))


def holds(element, version):
    """Whether the element exists at this version, according to its `x-openstack`."""
    span = element.get("x-openstack", {})
    return numbers(span.get("min-ver", "1.0")) <= version <= numbers(span.get("max-ver", "1.999"))


class Description:
    def __init__(self, path=DOCUMENT):
        self.document = json.loads(path.read_text())
        resource = referencing.Resource(self.document, DRAFT202012)
        self.registry = referencing.Registry().with_resource("urn:api", resource)
        self.paths = []
        for path, methods in self.document["paths"].items():
            pattern = re.sub(r"\{\w+\}", "[^/]+", path.replace(".", r"\."))
            if "x-may-have-slashes" in json.dumps(methods):
                pattern = pattern.removesuffix("[^/]+") + ".+"
            self.paths.append((re.compile(pattern), methods))

    def operation(self, method, url):
        path = urllib.parse.unquote(urllib.parse.urlsplit(url).path) or "/"
        for pattern, methods in self.paths:
            if pattern.fullmatch(path):
                return methods.get(method.lower())
        return None

    def resolve(self, element):
        if "$ref" not in element:
            return element
        found = self.document
        for part in element["$ref"].removeprefix("#/").split("/"):
            found = found[part]
        return found

    def schema(self, response, version):
        """The schema of a body at a version, or None if there is no body."""
        content = response.get("content", {}).get("application/json")
        if content is None:
            return None
        schema = content["schema"]
        steps = schema["anyOf"] if "x-openstack" in schema else [schema]
        return next((step for step in steps if holds(step, version)), None)

    def invalid(self, schema, body):
        absolute = {"$ref": "urn:api" + schema["$ref"]}
        validator = jsonschema.Draft202012Validator(absolute, registry=self.registry)
        error = jsonschema.exceptions.best_match(validator.iter_errors(body))
        return error and f"{error.json_path}: {error.message[:300]}"

    def complaint(self, method, url, status, headers, content):
        """The difference between an answer and its description, or None. Header names are lower case."""
        # A browser's CORS preflight request is not an operation.
        if method == "OPTIONS" and status == 200:
            return None
        operation = self.operation(method, url)
        if operation is None:
            return None if status in (401, 404, 405, 406, 400) else f"{status} from a URL that is not described"
        spoken = headers.get("openstack-api-version", "placement 1.0").split()[-1]
        version = numbers(spoken)
        if status < 400 and not holds(operation, version):
            return f"{status} at {spoken}, but the operation is not described at this version"
        reference = operation["responses"].get(str(status))
        if reference is None or not holds(reference, version):
            return f"{status} at {spoken} is not described"
        response = self.resolve(reference)
        if status < 400:
            return self.success(operation, response, version, headers, content)
        return self.refusal(operation, response, status, version, headers, content)

    def success(self, operation, response, version, headers, content):
        is_native = operation["operationId"].startswith("get_v1")
        for lower, name in HEADERS.items():
            if is_native and lower == "cache-control":
                continue  # of pages of lists, whose clients are not told to cache
            reference = response["headers"].get(name, {}).get("$ref", "")
            due = bool(reference) and (name == "Location" or version >= LAST_MODIFIED_VERSION)
            optional = reference.endswith("-If-Any") or (name, operation["operationId"]) in OLDER_OMITS
            if due != (lower in headers) and not (due and optional):
                return f"{name} is {'described but missing' if due else 'not described but present'}"
        if content and "application/json" not in headers.get("content-type", ""):
            is_described = headers.get("content-type") in response.get("content", {})
            return None if is_described else f"the content type {headers.get('content-type')} is not described"
        schema = self.schema(response, version)
        if schema is None or not content:
            return None if schema is None and not content else "either a body or its description is missing"
        return self.invalid(schema, json.loads(content))

    def refusal(self, operation, response, status, version, headers, content):
        if not headers.get("content-type", "").startswith("application/json"):
            return None
        body = json.loads(content)
        if status != 401:
            code = body["errors"][0].get("code")
            codes = {error["code"] for error in operation["x-errors"] if error["status"] == status}
            if code is not None and code not in codes:
                return f"the code {code} of a {status} is not described"
        return self.invalid(self.schema(response, version), body)
