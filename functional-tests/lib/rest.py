"""A small JSON client for a live placement service, without retries."""

import http.client
import json

from functional_tests.lib.patience import HANG_SECONDS


class Answer:
    """An answer: status, headers (by lower case name) and body."""

    def __init__(self, status, headers, raw):
        self.status = status
        self.headers = {name.lower(): value for name, value in headers}
        self.raw = raw

    @property
    def json(self):
        return json.loads(self.raw) if self.raw else None

    @property
    def code(self):
        """The error code of a refusal (from 1.23), or None."""
        try:
            return self.json["errors"][0].get("code")
        except (ValueError, KeyError, IndexError, TypeError):
            return None

    def __str__(self):
        return f"{self.status} {self.raw.decode('utf-8', 'replace')[:2000]}"


class Rest:
    def __init__(self, port, token="admin", version="latest", timeout=HANG_SECONDS):
        self.port = port
        self.token = token
        self.version = version
        self.timeout = timeout

    def __call__(self, method, path, body=None, version=None, headers=None):
        """Sends one request. `body` is sent as JSON, or as it is if it is bytes."""
        sent = {
            "x-auth-token": self.token,
            "accept": "application/json",
            "openstack-api-version": f"placement {version or self.version}",
        }
        data = None
        if body is not None:
            data = body if isinstance(body, bytes) else json.dumps(body).encode()
            sent["content-type"] = "application/json"
        sent.update(headers or {})
        sent = {name: value for name, value in sent.items() if value is not None}
        return self._exchange(method, path, data, sent)

    def _connect(self):
        return http.client.HTTPConnection("127.0.0.1", self.port, timeout=self.timeout)

    def _exchange(self, method, path, data, headers):
        connection = self._connect()
        try:
            return self._ask(connection, method, path, data, headers)
        finally:
            connection.close()

    @staticmethod
    def _ask(connection, method, path, data, headers):
        connection.request(method, path, body=data, headers=headers)
        response = connection.getresponse()
        return Answer(response.status, response.getheaders(), response.read())

    def must(self, method, path, body=None, version=None, status=(200, 201, 204)):
        """Sends a request that must succeed; raises if the status is not one of `status`."""
        answer = self(method, path, body, version)
        if answer.status not in status:
            raise RuntimeError(f"{method} {path} {body!r} was answered with {answer}")
        return answer


class KeptRest(Rest):
    """The same over one persistent connection: for a single thread, and a service that does not restart."""

    connection = None

    def _exchange(self, method, path, data, headers):
        self.connection = self.connection or self._connect()
        return self._ask(self.connection, method, path, data, headers)
