"""Clients with passwords and Keystone's catalogue at the service of the installed package.

    python -m functional_tests.packaging.sessions [--binary PATH]

The package is made of the binary and installed in a private root. There the unit's command line serves OpenStack
Placement's own file, as /etc/default/placet says, and a real Keystone validates the tokens. The clients are those of
keystone/sessions.py: keystoneauth, openstacksdk, the `openstack` command, nova's report client and neutron-lib.
"""

import argparse
import pathlib
import subprocess
import sys
import tempfile

from functional_tests.keystone import actors, sessions, set_ups
from functional_tests.lib import command_line, live
from functional_tests.lib.keystone import Keystone
from functional_tests.lib.servers import databases
from functional_tests.lib.test_counts import Skipped, TestCounts
from functional_tests.packaging import artifacts, run
from functional_tests.packaging.private_root import DEFAULTS, PrivateRoot, served

CONFIG = "etc/placement/placement.conf"
DATABASE = "/var/lib/placet/placet.sqlite"


def configure(root, cloud):
    """OpenStack Placement's file with Keystone, which the package's unit is made to read as docs/install.md says."""
    path = root.path / CONFIG
    path.parent.mkdir(parents=True, exist_ok=True)
    options = set_ups.options(cloud) | {"placement_database": {"sync_on_startup": "false"}}
    live.write_config(path.parent, options, databases.sqlite(DATABASE))
    (root.path / DEFAULTS).write_text(f'PLACET_OPTIONS="--config-file /{CONFIG}"\n')
    root.run("chgrp", "placet", f"/{CONFIG}")
    root.run("chmod", "0640", f"/{CONFIG}")
    root.run("placet", "--config-file", f"/{CONFIG}", "db", "sync", user="placet")


def inside(tests, binary):
    with Keystone() as keystone, tempfile.TemporaryDirectory(prefix="placet-test-") as folder:
        cloud = actors.Cloud(keystone)
        cloud.publish("identity", keystone.url)
        root = PrivateRoot()
        root.install(artifacts.package(binary, folder))
        configure(root, cloud)
        with served(root) as rest:
            sessions.with_all(tests, cloud, pathlib.Path(folder), rest.port)
        if tests.failed:
            for name, text in {"placet": (root.base / "log").read_text(), "Keystone": keystone.log()}.items():
                print(f"the end of the log of {name}:\n{text[-3000:]}")
        validations = keystone.validations()
        tests.equal("Keystone validated tokens for the installed service", True, validations > 0)


def main():
    parser = command_line.parser(__doc__, "--binary")
    parser.add_argument("--inside", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    binary = live.placet_binary(arguments.binary)
    tests = TestCounts()
    if arguments.inside:
        tests.step("the package with Keystone: no call raises", inside, tests, binary)
    else:
        try:
            command = run.in_a_namespace("sessions", "--inside", "--binary", binary)
        except Skipped as reason:
            tests.skip("clients at the installed package", reason)
        else:
            sys.exit(subprocess.call(command))
    tests.finish()


if __name__ == "__main__":
    main()
