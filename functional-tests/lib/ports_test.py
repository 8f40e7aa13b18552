"""Concurrent tests never choose the same port for their servers.

    python -m functional_tests.lib.ports_test
"""

import os
import socket
import subprocess
import sys

from functional_tests.lib import ports
from functional_tests.lib.patience import HANG_SECONDS
from functional_tests.lib.test_counts import TestCounts

FEW = 40
CHOOSE = """
import sys
from functional_tests.lib import ports
first, count = int(sys.argv[1]), int(sys.argv[2])
ports.PORTS = range(first, first + count)
for _ in range(int(sys.argv[3])):
    print(ports.free_port(), flush=True)
sys.stdin.read()
"""


def choose(first, choices):
    """A process that chooses from `FEW` ports and holds its choice until its standard input ends."""
    return subprocess.Popen([sys.executable, "-c", CHOOSE, str(first), str(FEW), str(choices)], text=True,
                            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def concurrent(first):
    """Two processes share out the ports but the one in use. A third finds none, until these have ended."""
    with socket.create_server(("127.0.0.1", first)):
        both = [choose(first, FEW // 2), choose(first, FEW // 2 - 1)]
        chosen = [int(process.stdout.readline()) for process, n in zip(both, (FEW // 2, FEW // 2 - 1)) for _ in range(n)]
        assert sorted(chosen) == list(range(first + 1, first + FEW)), chosen
        _, error = choose(first, 1).communicate(timeout=HANG_SECONDS)
        assert f"all ports from {first} to {first + FEW - 1} are in use" in error, error
        for process in both:
            process.communicate(timeout=HANG_SECONDS)
        found, error = choose(first, 1).communicate(timeout=HANG_SECONDS)
        assert int(found) in chosen, error


def main():
    tests = TestCounts()
    # Below the ports of the other tests, and not those of another run of this one.
    starts = range(10_000 + os.getpid() % 100 * FEW, ports.PORTS.start - FEW, FEW)
    first = next(start for start in starts if all(map(ports.is_unused, range(start, start + FEW))))
    tests.step("concurrent processes choose different ports", concurrent, first)
    tests.finish()


if __name__ == "__main__":
    main()
