"""Runs one gabbi file against a live service, and returns the outcome of each test.

Every answer is also checked against the OpenAPI description.
"""

import functools
import json
import os
import pathlib
import socket
import unittest
from dataclasses import dataclass, field

import httpx
import yaml
from gabbi import handlers, httpclient, suitemaker

from functional_tests.lib import openapi_check


@dataclass
class Outcome:
    name: str
    passed: int = 0
    skipped: list = field(default_factory=list)  # (test, reason)
    failed: list = field(default_factory=list)  # (test, description of the failure)

    @property
    def total(self):
        return self.passed + len(self.skipped) + len(self.failed)


class _Result(unittest.TestResult):
    def __init__(self, outcome):
        super().__init__()
        self.outcome = outcome

    def _name(self, test):
        return getattr(test, "test_data", {}).get("name", str(test))

    def addSuccess(self, test):
        self.outcome.passed += 1

    def addExpectedFailure(self, test, error):
        self.outcome.passed += 1

    def addFailure(self, test, error):
        self.outcome.failed.append((self._name(test), describe_failure(test, error)))

    addError = addFailure

    def addSkip(self, test, reason):
        self.outcome.skipped.append((self._name(test), reason))

    def addUnexpectedSuccess(self, test):
        self.outcome.failed.append((self._name(test), "expected to fail, and passed"))


def describe_failure(test, error):
    """A description of a failure: the request, the expected answer and the actual one."""
    data = getattr(test, "test_data", {})
    lines = [str(error[1]).strip() or repr(error[1]), "--- asked"]
    url = getattr(test, "url", data.get("url"))
    query = f" {data['query_parameters']}" if data.get("query_parameters") else ""
    lines.append(f"{data.get('method')} {url}{query}")
    lines += [f"{k}: {v}" for k, v in data.get("request_headers", {}).items()]
    if data.get("data") not in ("", None):
        lines.append(json.dumps(data["data"], default=str))
    lines.append("--- expected")
    lines.append(f"status: {data.get('status')}")
    for key in sorted(data):
        if key.startswith("response_") and data[key]:
            lines.append(f"{key[9:]}: {json.dumps(data[key], default=str)}")
    lines.append("--- got")
    response = getattr(test, "response", None)
    if response is None:
        lines.append("nothing")
    else:
        lines += [f"{k}: {v}" for k, v in response.items()]
        lines.append(str(getattr(test, "output", ""))[:4000])
    return "\n".join(lines)


@functools.cache
def description():
    return openapi_check.Description()


class _Http(httpclient.Http):
    """gabbi's client for loopback. It loads no certificates, and sends headers that httpx refuses on a raw socket."""

    def __init__(self):
        self.extensions = {}
        self.client = httpx.Client(verify=False, trust_env=False)
        self.description = description()
        self.complaints = []

    def request(self, absolute_uri, method, body, headers, redirect, timeout):
        response, content = self.send(absolute_uri, method, body, headers, redirect, timeout)
        got = {name.lower(): value for name, value in response.items()}
        complaint = self.description.complaint(method, absolute_uri, int(got["status"]), got, content)
        if complaint:
            text = content.decode("utf-8", "replace")[:2000]
            self.complaints.append((f"described: {method} {absolute_uri}", f"{complaint}\n{text}"))
        return response, content

    def send(self, absolute_uri, method, body, headers, redirect, timeout):
        length = {k.lower(): v for k, v in headers.items()}.get("content-length", "0")
        if not str(length).isdigit():
            return raw_request(absolute_uri, method, body, headers, timeout)
        return super().request(absolute_uri, method, body, headers, redirect, timeout)


def raw_request(url, method, body, headers, timeout):
    """Sends headers exactly as given, because no HTTP library sends `Content-Length: hi mom`."""
    parts = httpx.URL(url)
    lines = [f"{method} {parts.raw_path.decode()} HTTP/1.1", f"host: {parts.netloc.decode()}"]
    lines += [f"{k}: {v}" for k, v in headers.items()] + ["connection: close", "", ""]
    with socket.create_connection((parts.host, parts.port), timeout=timeout) as wire:
        wire.sendall("\r\n".join(lines).encode() + body)
        answer = b""
        while chunk := wire.recv(65536):
            answer += chunk
    head, _, content = answer.partition(b"\r\n\r\n")
    status, *fields = head.decode("latin-1").split("\r\n")
    got = httpx.Headers([tuple(f.split(": ", 1)) for f in fields if ": " in f])
    got["status"] = status.split()[1]
    got["reason"] = status.split(" ", 2)[-1]
    return got, content


def run(path, port, environ=None):
    """Runs the file at `path`, with `environ` for its $ENVIRON. The caller sets up the fixtures."""
    path = pathlib.Path(path)
    outcome = Outcome(path.stem)
    suite_dict = load(path)
    shared = _Http()
    saved, original = dict(os.environ), httpclient.get_http
    os.environ.update(environ or {})
    httpclient.get_http = lambda **_: shared
    try:
        suite = suitemaker.test_suite_from_dict(
            unittest.defaultTestLoader, path.stem, suite_dict, str(path.parent),
            "127.0.0.1", port, None, None,
            handlers=[handler() for handler in handlers.RESPONSE_HANDLERS])
        suite.run(_Result(outcome))
        outcome.failed += shared.complaints
    finally:
        httpclient.get_http = original
        shared.client.close()
        os.environ.clear()
        os.environ.update(saved)
    return outcome


def fixtures_of(path):
    return load(path).get("fixtures") or []


def load(path):
    """What the file says. gabbi's own loader is written in Python, and takes longer than the requests."""
    with open(path, encoding="utf-8") as handle:
        return yaml.load(handle, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))
