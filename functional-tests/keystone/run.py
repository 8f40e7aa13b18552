"""`auth_strategy = keystone` with a real Keystone, compared with OpenStack Placement and keystonemiddleware.

    python -m functional_tests.keystone.run [--server placet|upstream] [--binary PATH] [PART …]

With `--server upstream` OpenStack Placement is compared with itself. PLACET_TEST_SIZE=full sends more requests, also at
older microversions, and adds the part `sessions`: otherwise packaging/sessions.py alone runs those clients, with the
installed package. Keystone is in a virtual environment of its own (lib/keystone.py).
"""

import contextlib
import dataclasses
import functools
import os
import pathlib
import tempfile

from functional_tests.keystone import (
    actors, agents, config_check, matrix, numbers, outages, readiness, services, sessions, tls, tokens,
)
from functional_tests.lib import command_line
from functional_tests.lib.keystone import Keystone
from functional_tests.lib.test_counts import TestCounts

PARTS = {"matrix": matrix.run, "tokens": tokens.run, "outages": outages.run, "readiness": readiness.run,
         "sessions": sessions.run, "numbers": numbers.run, "tls": tls.run, "config_check": config_check.run,
         "agents": agents.run}
WITH_THE_PACKAGE = {"sessions"}


@dataclasses.dataclass
class Context:
    """What each part needs."""

    cloud: actors.Cloud
    folder: pathlib.Path
    server: str
    binary: str | None
    full: bool
    logs: services.Logs
    stack: contextlib.ExitStack
    actors: list = ()

    @functools.cached_property
    def short(self):
        """A sibling of Keystone, whose tokens expire soon."""
        return self.stack.enter_context(Keystone(services.SHORT_SECONDS, sibling=self.cloud.keystone))


def main():
    parser = command_line.parser(__doc__, "--binary", "--server")
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"of {', '.join(PARTS)}")
    arguments = parser.parse_args()
    full = os.environ.get("PLACET_TEST_SIZE") == "full"
    tests, logs = TestCounts(), services.Logs()
    with (Keystone() as keystone, contextlib.ExitStack() as stack,
          tempfile.TemporaryDirectory(prefix="placet-test-") as folder):
        cloud = actors.Cloud(keystone)
        cloud.publish("identity", keystone.url)
        cloud.publish("placement", "http://127.0.0.1:1/")
        context = Context(cloud, pathlib.Path(folder), arguments.server, arguments.binary, full, logs, stack)
        for part in arguments.parts or (PARTS if full else [part for part in PARTS if part not in WITH_THE_PACKAGE]):
            tests.step(f"{part}: no call raises", PARTS[part], tests, context)
        if arguments.server == "placet" and logs.texts:
            no_secrets(tests, cloud, logs)
    tests.finish()


def no_secrets(tests, cloud, logs):
    """No token and no password is in a log at any level."""
    lines = sum(text.count("\n") for text in logs.texts)
    tests.equal("the service logged at the level trace", True, any(" TRACE " in text for text in logs.texts))
    tests.equal(f"none of {len(cloud.secrets)} tokens and passwords is in {lines} lines of the log", [],
                logs.secrets(cloud.secrets)[:10])


if __name__ == "__main__":
    main()
