"""Runs osc-placement's own functional tests, as they come from PyPI, against a live service.

    python -m functional_tests.clients.osc_placement_tests [--server placet|upstream] [--binary PATH] [-v] [NAME...]

The tests start OpenStack Placement inside their own process, with a fixture of openstack-placement. This program
replaces that fixture by one that gives the service to be tested. Each test gets an empty database: the service's rows
are set back before it. The tests themselves are not changed. A NAME chooses the tests whose ids contain it.
"""

import importlib
import os
import pathlib
import sys
import types
import unittest

import fixtures

from functional_tests.lib import command_line, kept_services, live
from functional_tests.lib.test_counts import TestCounts

PACKAGE = "osc_placement.tests.functional"
# The tests take `PlacementFixture` from this module of openstack-placement.
FIXTURE_MODULE = "placement.tests.functional.fixtures.placement"
# As that fixture sets it.
OPTIONS = {"oslo_policy": {"enforce_new_defaults": "false"}}


def replace_fixture(service):
    """Replaces the fixture; `service` gives the service. Has to be called before the tests are imported."""
    class PlacementFixture(fixtures.Fixture):
        def _setUp(self):
            self.endpoint, self.token = f"http://127.0.0.1:{service().port}", "admin"

    module = types.ModuleType(FIXTURE_MODULE)
    module.PlacementFixture = PlacementFixture
    sys.modules[FIXTURE_MODULE] = module


def set_environment():
    """Removes the caller's variables, so that none reaches the client. One test starts `openstack` as a command."""
    environment = live.clean_environment()
    programs = str(pathlib.Path(sys.executable).parent)
    environment["PATH"] = os.pathsep.join([programs, environment.get("PATH", os.defpath)])
    # The client's log lines are shown only if a test fails.
    environment["OS_LOG_CAPTURE"] = "1"
    os.environ.clear()
    os.environ.update(environment)


class Result(unittest.TestResult):
    """Counts every test. Every end but success and skip is a failure."""

    def __init__(self, tests, verbose):
        super().__init__()
        self.tests, self.verbose = tests, verbose

    def addSuccess(self, test):
        self.tests.ok(test.id(), show=self.verbose)

    def addError(self, test, error):
        self.tests.fail(test.id(), self._exc_info_to_string(error, test))

    addFailure = addError

    def addSkip(self, test, reason):
        self.tests.skip(test.id(), reason)

    def addUnexpectedSuccess(self, test):
        self.tests.fail(test.id(), "expected to fail, but passed")


def cases(suite):
    for item in suite:
        if isinstance(item, unittest.TestSuite):
            yield from cases(item)
        else:
            yield item


def main():
    parser = command_line.parser(__doc__, "--binary", "--server")
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("-v", "--verbose", action="store_true", help="names tests that passed too")
    arguments = parser.parse_args()
    set_environment()
    tests = TestCounts()
    result = Result(tests, arguments.verbose)
    with kept_services.KeptServices() as kept:
        def service():
            return kept.get("service", lambda: live.Service(arguments.server, OPTIONS, arguments.binary))

        service()  # Here, because a folder made in a test is removed after the test.
        replace_fixture(service)
        folder = pathlib.Path(importlib.import_module(PACKAGE).__path__[0])
        for case in cases(unittest.defaultTestLoader.discover(folder, top_level_dir=folder.parents[2])):
            if not arguments.names or any(name in case.id() for name in arguments.names):
                case.run(result)
    tests.finish()


if __name__ == "__main__":
    main()
