"""A database server that vanishes without closing its connections, as in a power failure: placet recovers by itself.

    python -m functional_tests.server_loss.run [--engine postgresql|mariadb] [--binary PATH]

The server is paused, its sockets are destroyed while the network is down, and the server is started again. So placet
receives no FIN or RST on its connections. The test needs root, for its own network namespace.
"""

import os
import shutil
import subprocess
import sys
import time

from functional_tests.lib import command_line, engines, live
from functional_tests.lib.patience import HANG_SECONDS
from functional_tests.lib.rest import Rest
from functional_tests.lib.servers import machine
from functional_tests.lib.test_counts import TestCounts

HOST = "00000000-0000-4000-8000-000000000001"
INSIDE = "PLACET_TEST_NAMESPACE"


def run(*command):
    subprocess.run([str(word) for word in command], check=True, capture_output=True)


def claim(rest, number):
    return rest("PUT", f"/allocations/00000000-0000-4000-8000-{number:012d}", {
        "allocations": {HOST: {"resources": {"VCPU": 1}}}, "project_id": "p", "user_id": "u",
        "consumer_generation": None, "consumer_type": "VM"}).status


def serves(rest, number):
    return claim(rest, number) == 204 and all(
        rest("GET", path).status == 200 for path in ("/traits", "/allocation_candidates?resources=VCPU:1"))


def vanish(rest, node):
    """Kills the server without closing its connections, while statements wait for its answers."""
    node.pause()
    assert (claim(rest, 2), rest("GET", "/allocation_candidates?resources=VCPU:1").status) == (503, 503)
    run(machine.program("ip", "iproute2"), "link", "set", "lo", "down")
    node.kill()
    time.sleep(0.3)
    run(machine.program("ss", "iproute2"), "-K", "sport", "=", f":{node.port}")
    run(machine.program("ip", "iproute2"), "link", "set", "lo", "up")


def recovers(rest, node):
    assert serves(rest, 1)
    vanish(rest, node)
    node.restart()
    began, number = time.monotonic(), 3
    while not serves(rest, number):
        assert time.monotonic() - began < HANG_SECONDS, f"not recovered {HANG_SECONDS} s after the restart"
        number += 1
        time.sleep(0.5)
    print(f"        recovered {time.monotonic() - began:.0f} s after the restart")


def main():
    parser = command_line.parser(__doc__, "--binary")
    parser.add_argument("--engine", choices=("postgresql", "mariadb"), default="mariadb")
    given = parser.parse_args()
    tests = TestCounts()
    if os.geteuid() != 0 or not shutil.which("unshare"):
        tests.skip(f"placet recovers when {given.engine} vanishes and restarts",
                   "needs root and unshare (Debian's util-linux)")
        return tests.finish()
    if INSIDE not in os.environ:
        with engines.Engine(given.engine):  # installs the engine, which needs a network
            machine.program("ss", "iproute2")
        inside = ["unshare", "--net", sys.executable, *sys.argv]
        sys.exit(subprocess.call(inside, env={**os.environ, INSIDE: "yes"}))
    run(machine.program("ip", "iproute2"), "link", "set", "lo", "up")
    with engines.Engine(given.engine) as engine:
        options = {"placet": {"commit_timeout": "2"}}
        with live.Service("placet", options, given.binary, engine.create()) as service:
            rest = Rest(service.port)
            rest.must("POST", "/resource_providers", {"name": "host", "uuid": HOST})
            rest.must("PUT", f"/resource_providers/{HOST}/inventories", {
                "resource_provider_generation": 0, "inventories": {"VCPU": {"total": 1000}}})
            tests.step(f"placet recovers when {given.engine} vanishes and restarts", recovers, rest, engine.nodes[0])
    tests.finish()


if __name__ == "__main__":
    main()
