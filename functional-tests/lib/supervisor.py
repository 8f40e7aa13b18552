"""A service manager with systemd's protocols: hands over a listening socket, and reads notifications."""

import fcntl
import os
import pathlib
import socket
import subprocess
import sys
import threading
import time

from functional_tests.lib.patience import HANG_SECONDS, eventually

# Becomes the service, with the socket as file descriptor 3 and its own process id in LISTEN_PID.
HAND_OVER = """
import os, sys
for number, fd in enumerate(sys.argv[1].split(",")):
    os.dup2(int(fd), 3 + number)
os.environ.update(LISTEN_PID=str(os.getpid()), LISTEN_FDS=str(number + 1))
os.execv(sys.argv[2], sys.argv[2:])
"""


def listening_socket():
    return socket.create_server(("127.0.0.1", 0), backlog=1024)


class Supervisor:
    """Starts and stops one command. The sockets stay open from one process to the next."""

    def __init__(self, folder, command, environment, sockets=None, watchdog_seconds=None):
        self.folder, self.command, self.sockets = pathlib.Path(folder), [str(part) for part in command], sockets or []
        self.notify = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.notify.bind(str(self.folder / "notify"))
        self.environment = {**environment, "NOTIFY_SOCKET": str(self.folder / "notify")}
        if watchdog_seconds:
            self.environment["WATCHDOG_USEC"] = str(int(watchdog_seconds * 1_000_000))
        self.messages, self.process = [], None
        threading.Thread(target=self._read, daemon=True).start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process and self.process.poll() is None:
            self.process.kill()
            self.process.wait(HANG_SECONDS)
        self.notify.close()
        for each in self.sockets:
            each.close()

    def _read(self):
        while True:
            try:
                data = self.notify.recv(4096)
            except OSError:
                return
            self.messages += [(time.monotonic(), line) for line in data.decode().splitlines()]

    def launch(self):
        """Starts the command."""
        command = self.command
        if self.sockets:
            numbers = [os.dup(each.fileno()) for each in self.sockets]
            # Above the targets 3, 4, …
            high = [_above(number, 3 + len(numbers)) for number in numbers]
            command = [sys.executable, "-c", HAND_OVER, ",".join(map(str, high)), *command]
        else:
            high = []
        with open(self.folder / "log", "ab") as log:
            self.process = subprocess.Popen(
                command, cwd=self.folder, env=self.environment, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                pass_fds=high)
        for number in high:
            os.close(number)

    def start(self):
        """Starts the command and waits until it is ready."""
        seen = len(self.messages)
        self.launch()
        self.wait_for("READY=1", seen)

    def wait_for(self, line, seen=0):
        """Waits for a notification after the first `seen` ones."""
        def came():
            if any(text == line for _, text in self.messages[seen:]):
                return True
            assert self.process.poll() is None, (
                f"ended with {self.process.returncode} before {line}:\n{self.log()[-2000:]}")
            return False

        eventually(lambda: f"{line}: {self.messages}\n{self.log()[-2000:]}", came)

    def stop(self):
        """Sends SIGTERM; returns the exit code."""
        self.process.terminate()
        return self.process.wait(HANG_SECONDS)

    def log(self):
        return (self.folder / "log").read_text(errors="replace")


def _above(number, least):
    """The same file under a number of at least `least`, inheritable."""
    high = fcntl.fcntl(number, fcntl.F_DUPFD, max(least, 10))
    os.close(number)
    return high
