"""OpenStack Placement beside the service under test, and the log of the service at its finest level."""

import contextlib
import json
import re
import time

from functional_tests.lib import live
from functional_tests.lib.patience import HANG_SECONDS
from functional_tests.lib.rest import Rest

PATH = "/resource_providers?name=no-such-host"
RECOVERY_SECONDS = 10
SHORT_SECONDS = 8  # for which a token of `Context.short` is good
FERNET = r"gAAAAA[\w-]{20,}"  # any token of Keystone's, so also those that the service gets for itself
REQUEST_ID = re.compile(rb"req-[0-9a-f-]{36}")


class Logs:
    """All that the service under test logged."""

    def __init__(self):
        self.texts = []

    def secrets(self, secrets):
        """The lines that have a secret, or either end of one."""
        parts = {part for secret in secrets for part in (secret, secret[:40], secret[-20:])}
        found = re.compile("|".join([FERNET, *(re.escape(part) for part in sorted(parts))]))
        return [line[:300] for text in self.texts for line in text.splitlines() if found.search(line)]


class Traced(live.Service):
    """A service whose whole log, at the level `trace`, is kept in `logs`."""

    def __init__(self, logs, kind, options, binary=None, **more):
        super().__init__(kind, options, binary, environment={"RUST_LOG": "trace"}, **more)
        self.logs = logs

    def __exit__(self, *_):
        self.stop()
        with contextlib.suppress(OSError):
            self.logs.texts.append((self.folder / "log").read_text(errors="replace"))
        super().__exit__()


class Pair:
    """Both services with the same options. Use it as a context manager."""

    def __init__(self, context, options):
        self.theirs = live.Service("upstream", options)
        self.ours = Traced(context.logs, context.server, options, context.binary)

    def __enter__(self):
        with contextlib.ExitStack() as stack:
            stack.enter_context(self.theirs)
            stack.enter_context(self.ours)
            self.stack = stack.pop_all()
        return self

    def __exit__(self, *_):
        self.stack.close()

    def __iter__(self):
        return iter((self.theirs, self.ours))

    def statuses(self, headers):
        """The statuses of both."""
        return tuple(status(each, headers) for each in self)

    def answers(self, headers, path=PATH, method="GET"):
        """What a client sees of both answers, without the ids of requests."""
        return tuple(seen(Rest(each.port, None)(method, path, headers=headers)) for each in self)


def status(service, headers):
    """The status of a request with these headers.

    OpenStack Placement answers 500 or 503 if Keystone closed a kept connection, so it is asked once more. A second 500
    counts as 503: it answers so if Keystone does not answer in time.
    """
    for _ in range(2 if service.kind == "upstream" else 1):
        found = Rest(service.port, None)("GET", PATH, headers=headers).status
        if found < 500:
            return found
    return 503 if service.kind == "upstream" else found


def recovered(tests, name, service, headers):
    """placet asks Keystone again in pauses. When Keystone answers, requests are served within RECOVERY_SECONDS."""
    began = time.monotonic()
    tests.equal(f"{name}: a token is good again", True, eventually(lambda: status(service, headers) == 200))
    took = time.monotonic() - began
    tests.equal(f"{name}: within {RECOVERY_SECONDS} s", True, took < RECOVERY_SECONDS)


def eventually(holds):
    """Whether it holds at last."""
    deadline = time.monotonic() + HANG_SECONDS
    while not (held := holds()) and time.monotonic() < deadline:
        time.sleep(0.05)
    return held


def seen(answer):
    body = REQUEST_ID.sub(b"req-", answer.raw).decode("utf-8", "replace")
    with contextlib.suppress(ValueError):
        body = json.loads(body)
    return answer.status, answer.headers.get("www-authenticate"), answer.headers.get("content-type"), body


def bearer(token, service=None, **more):
    """The headers of a request with a token, and with a service's token."""
    return {"x-auth-token": token} | ({"x-service-token": service} if service is not None else {}) | more
