"""The CPU time of a request with a cached Keystone token, compared with one under `auth_strategy = noauth2`.

    python -m benches.compare.cached_tokens [--binary PATH] [--starts N] [--rounds N] [--requests N]

Two services differ only in how they authenticate (cpu_ratio.py). Only the first request needs Keystone
(functional-tests/lib/keystone.py).
"""

import argparse
import sys

from benches.compare import cpu_ratio
from benches.compare.systems import Placet
from functional_tests.keystone import set_ups
from functional_tests.keystone.actors import Cloud
from functional_tests.lib.keystone import Keystone

MOST = 1.05


def main():
    arguments = cpu_ratio.arguments(argparse.ArgumentParser(description=__doc__.splitlines()[0]))
    with Keystone() as keystone:
        cloud = Cloud(keystone)
        cloud.publish("identity", keystone.url)
        cloud.user("client", "lab", "admin")
        token, _ = cloud.token(cloud.auth("client", "lab"))
        starts = (lambda: (Placet(None, arguments.binary, set_ups.options(cloud)), token),
                  lambda: (Placet(None, arguments.binary), "admin"))
        found = list(cpu_ratio.measured(starts, arguments))
    sys.exit(not cpu_ratio.report(("a cached Keystone token", "noauth2"), found, MOST))


if __name__ == "__main__":
    main()
