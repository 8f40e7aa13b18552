"""Starts of Python programs whose modules are imported once: each program is a fork of the importing process.

OpenStack Placement and its tests import for a second, and the `openstack` client for almost as long: most of the cost
of a start. The importing process is this module:

    python -m functional_tests.lib.forked SOCKET MODULE…
"""

import atexit
import contextlib
import functools
import gc
import importlib
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile

from functional_tests.lib.patience import HANG_SECONDS

SIZE = 1 << 17  # of a message
END_SECONDS = 10
OPENSTACK_PLACEMENT = ("placement.wsgi", "placement.cmd.manage", "placement.cmd.status")


def start(modules, function, arguments, stdout, stderr, cwd, environment):
    """Starts `function`, which is "module:name", with sys.argv; returns its Process."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    request = {"function": function, "arguments": [str(word) for word in arguments], "cwd": str(cwd),
               "environment": environment}
    with theirs:
        socket.send_fds(_server(modules), [json.dumps(request).encode()],
                        [file.fileno() for file in (stdout, stderr, theirs)])
    return Process(ours)


def run(modules, function, arguments, cwd, environment, timeout=HANG_SECONDS):
    """Runs it to its end; returns what subprocess.run returns, with texts."""
    with tempfile.TemporaryFile() as stdout, tempfile.TemporaryFile() as stderr:
        process = start(modules, function, arguments, stdout, stderr, cwd, environment)
        try:
            code = process.wait(timeout)
        except subprocess.TimeoutExpired:
            process.kill()
            raise
        texts = []
        for file in (stdout, stderr):
            file.seek(0)
            texts.append(file.read().decode())
    return subprocess.CompletedProcess(arguments, code, *texts)


@functools.cache
def _server(modules):
    """The channel to a process that has imported these modules. It ends when the channel is closed."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with theirs:
        process = subprocess.Popen(
            [sys.executable, "-m", "functional_tests.lib.forked", str(theirs.fileno()), *modules],
            stdin=subprocess.DEVNULL, pass_fds=[theirs.fileno()])
    atexit.register(_end, ours, process)
    return ours


def _end(channel, process):
    """Waits for the end, so that its processor time counts as this process's."""
    channel.close()
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(END_SECONDS)


class Process:
    """A started program, as subprocess.Popen has it."""

    def __init__(self, status):
        self.status, self.returncode = status, None
        reply = status.recv(SIZE)
        if not reply:
            raise RuntimeError("the process that imports the program's modules has ended: see its error above")
        self.pid = int(reply)

    def poll(self):
        try:
            return self.wait(0)
        except subprocess.TimeoutExpired:
            return None

    def wait(self, timeout=None):
        if self.returncode is None:
            self.status.settimeout(timeout)
            try:
                self.returncode = int(self.status.recv(SIZE))
            except (TimeoutError, BlockingIOError):
                raise subprocess.TimeoutExpired(f"process {self.pid}", timeout) from None
            self.status.close()
        return self.returncode

    def send_signal(self, number):
        if self.poll() is None:
            os.kill(self.pid, number)

    def terminate(self):
        self.send_signal(signal.SIGTERM)

    def kill(self):
        self.send_signal(signal.SIGKILL)


def serve(channel):
    """Forks for each request, until the channel is closed. Returns the function to call, in a program's process."""
    children = 0
    while True:
        message, fds, *_ = socket.recv_fds(channel, SIZE, 3)
        # The ended ones are waited for, at the end all.
        while children and os.waitpid(-1, os.WNOHANG if message else 0)[0]:
            children -= 1
        if not message:
            return None
        if os.fork() == 0:
            channel.close()
            return keep(json.loads(message), *fds)
        children += 1
        for fd in fds:
            os.close(fd)


def keep(request, stdout, stderr, status):
    """Forks the program's process, and reports its pid and its exit code. Returns in the program's process."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the program ends by itself
    pid = os.fork()
    if pid == 0:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        os.close(status)
        return become(request, stdout, stderr)
    os.close(stdout)
    os.close(stderr)
    with socket.socket(fileno=status) as status:
        status.send(str(pid).encode())
        code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        status.send(str(code).encode())
    os._exit(0)


def become(request, stdout, stderr):
    """Makes this process the program's; returns its function."""
    for fd, standard in ((stdout, 1), (stderr, 2)):
        os.dup2(fd, standard)
        os.close(fd)
    os.chdir(request["cwd"])
    os.environ.clear()
    os.environ.update(request["environment"])
    sys.argv = request["arguments"]
    module, _, name = request["function"].partition(":")
    return getattr(importlib.import_module(module), name)


def main():
    channel = socket.socket(fileno=int(sys.argv[1]))
    for module in sys.argv[2:]:
        importlib.import_module(module)
    # Otherwise the end of a program looks at all objects of the modules, and copies their pages: 0.3 s of processors.
    gc.freeze()
    function = serve(channel)
    sys.exit(function and function())


if __name__ == "__main__":
    main()
