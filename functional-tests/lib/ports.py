"""Ports of loopback for the servers of tests.

A server binds its port some time after the test has chosen the port. Until the bind, no second test may choose the same
port: requests would reach the wrong server. So a test process locks a file for each chosen port until its end. The
kernel takes ports for clients from a different range.
"""

import fcntl
import itertools
import os
import pathlib
import random
import socket
import tempfile

PORTS = range(20_000, 32_768)
CHANCE = random.SystemRandom()
locks = []


def free_port():
    """A port that no program uses, and that no other test chooses."""
    folder = pathlib.Path(tempfile.gettempdir(), f"placet-test-ports-{os.getuid()}")
    folder.mkdir(exist_ok=True)
    first = CHANCE.randrange(len(PORTS))
    for port in itertools.chain(PORTS[first:], PORTS[:first]):
        lock = open(folder / str(port), "w")
        if _locked(lock) and is_unused(port):
            locks.append(lock)
            return port
        lock.close()
    raise RuntimeError(f"all ports from {PORTS.start} to {PORTS.stop - 1} are in use")


def free_ports(count):
    return [free_port() for _ in range(count)]


def _locked(file):
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def is_unused(port):
    with socket.socket() as listener:
        try:
            listener.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True
