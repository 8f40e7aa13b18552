"""One database server process in a folder of its own: start, stop, kill, pause."""

import contextlib
import os
import signal
import subprocess
import time

from functional_tests.lib.patience import HANG_SECONDS
from functional_tests.lib.servers import machine

# A server that has not ended in order after this time is killed.
STOP_SECONDS = 30


class Node:
    """A server. A subclass defines how its data is made, its command line, and when it answers."""

    users = ()
    stop_signal = signal.SIGTERM

    def __init__(self, name, durable=False):
        self.name, self.durable = name, durable
        self.owner = machine.user(*self.users)
        self.folder = machine.new_folder(self.owner, durable)
        self.process = None
        self.port = None

    def command(self):
        """The server's command line."""
        raise NotImplementedError

    def answers(self):
        """Whether a client is served. If not, it returns False or raises the driver's error."""
        raise NotImplementedError

    def tool(self, *command, **more):
        """Runs one of the server's programs as its user; returns the output, and raises if it fails."""
        done = subprocess.run(
            [str(word) for word in command], cwd=self.folder, capture_output=True, text=True,
            errors="replace", check=False, **self.owner, **more)
        if done.returncode != 0:
            raise RuntimeError(f"{command[0]} failed:\n{done.stdout}{done.stderr}")
        return done.stdout + done.stderr

    def start(self, wait=True, arguments=()):
        with open(self.folder / "log", "ab") as log:
            self.process = subprocess.Popen(
                [str(word) for word in (*self.command(), *arguments)], cwd=self.folder, stdin=subprocess.DEVNULL,
                stdout=log, stderr=log, start_new_session=True, **self.owner)
        if wait:
            self.wait()
        return self

    def wait(self, seconds=HANG_SECONDS):
        """Waits until it serves."""
        deadline = time.monotonic() + seconds
        problem = None
        while time.monotonic() < deadline and self.alive:
            try:
                if self.answers():
                    return self
            except Exception as error:  # the driver's own, another one for each engine
                problem = error
            time.sleep(0.05)
        status = self.process and self.process.poll()
        state = f"after {seconds} s" if status is None else f"and ended with {status}"
        raise RuntimeError(f"{self.name} does not serve {state}: {problem}\nits log ends with:\n{self.log()}")

    def __getstate__(self):
        """A pickled node, in another process, gives access to the databases, and not to the server process."""
        return {**self.__dict__, "process": None}

    @property
    def alive(self):
        return self.process is not None and self.process.poll() is None

    def _signal(self, number):
        """Sends a signal to the server and all its children. It is stopped first, so that it makes no more children."""
        _send(self.process.pid, signal.SIGSTOP)
        for pid in machine.family(self.process.pid):
            _send(pid, number)

    def kill(self):
        """SIGKILL to the server and its children. Unlike a power failure it loses nothing in the page cache."""
        if self.alive:
            self._signal(signal.SIGKILL)
            self.process.wait(HANG_SECONDS)

    def pause(self):
        """Stops the server and its children by SIGSTOP. Connections stay open."""
        self._signal(signal.SIGSTOP)

    def resume(self):
        self._signal(signal.SIGCONT)

    def stop(self):
        """Ends the server in order, or kills it if it does not end."""
        if self.alive:
            self.resume()
            _send(self.process.pid, self.stop_signal)
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.process.wait(STOP_SECONDS)
        self.kill()

    def restart(self, wait=True):
        """Starts it again on its data and its port."""
        self.stop()
        return self.start(wait)

    def remove(self):
        try:
            self.kill()
        finally:
            machine.remove(self.folder)

    def log(self):
        with contextlib.suppress(OSError):
            return (self.folder / "log").read_text(errors="replace")[-4000:]
        return ""


def _send(pid, number):
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, number)
