"""Starts and stops live services: placet, and OpenStack Placement as the reference.

Each service has a temporary folder (configuration, SQLite file, log), a loopback port and a database of its own. The
database is an SQLite file, or one on the given engine.
"""

import os
import pathlib
import shutil
import subprocess
import tempfile
import threading
import time

from functional_tests.lib import forked, ports
from functional_tests.lib.patience import HANG_SECONDS
from functional_tests.lib.root import TARGET
from functional_tests.lib.servers import databases

START_SECONDS = HANG_SECONDS
# A service that a test leaves behind, perhaps in a state in which it cannot end, is killed after this time.
LEFT_SECONDS = 10
LISTENS = b" listens on http"  # in the line that both services print when they serve
# If it is set, each start of a service adds a line with its kind to this file. Read here, because some suites remove
# such variables from their environment.
STARTS_FILE = os.environ.get("PLACET_TEST_STARTS")


def placet_binary(given=None):
    """The binary to test: `given`, or the one that `cargo build` made."""
    if given:
        return pathlib.Path(given).resolve()
    return (TARGET / "debug" / "placet").resolve()


def clean_environment():
    """The environment of the tests, without variables that configure a service or a client."""
    prefixes = ("OS_", "PLACET_", "RUST_LOG")
    return {k: v for k, v in os.environ.items() if not k.startswith(prefixes)}


def write_config(folder, options=None, database=None):
    """Writes placement.conf with noauth2, the database (default: an SQLite file in the folder) and `options`."""
    if not isinstance(database, databases.Database):
        database = databases.sqlite(database or folder / "placement.sqlite")
    sections = {
        "DEFAULT": {},
        "api": {"auth_strategy": "noauth2"},
        "placement_database": {
            "connection": database.url,
            "sync_on_startup": "true",
        },
    }
    for section, values in (options or {}).items():
        sections.setdefault(section, {}).update(values)
    lines = []
    for section, values in sections.items():
        lines.append(f"[{section}]")
        lines += [f"{name} = {value}" for name, value in values.items()]
    path = folder / "placement.conf"
    path.write_text("\n".join(lines) + "\n")
    return path


def count_start(kind):
    """Adds a line to the file of PLACET_TEST_STARTS."""
    if STARTS_FILE:
        with open(STARTS_FILE, "a") as starts:
            starts.write(f"{kind}\n")


class Output(threading.Thread):
    """Copies what a process prints to its log, and finds the line that says that it listens."""

    def __init__(self, stream, log):
        super().__init__(daemon=True)
        self.stream, self.log = stream, log
        self.listens = False
        self.decided = threading.Event()  # the line was found, or the output has ended
        self.start()

    def run(self):
        with self.stream, open(self.log, "ab", buffering=0) as log:
            for line in self.stream:
                log.write(line)
                if LISTENS in line:
                    self.listens = True
                    self.decided.set()
        self.decided.set()


class Service:
    """One live service. Use it as a context manager."""

    is_forked = True  # OpenStack Placement, from a process that has imported it

    def __init__(self, kind, options=None, binary=None, database=None, files=None, environment=None, engine=None):
        self.kind = kind
        self.engine = engine if engine and engine.kind != "sqlite" and not database else None
        self.options = options or {}
        self.binary = binary
        self.database = database
        self.files = files or {}
        self.environment = environment or {}
        self.process = None

    def __enter__(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="placet-test-"))
        try:
            for name, text in self.files.items():
                (self.folder / name).write_text(text)
            options = {
                section: {k: v.replace("{folder}", str(self.folder)) for k, v in values.items()}
                for section, values in self.options.items()
            }
            if self.engine:
                self.database = self.engine.create()
            elif not isinstance(self.database, databases.Database):
                self.database = databases.sqlite(self.database or self.folder / "placement.sqlite")
            self.config = write_config(self.folder, options, self.database)
            self._start()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        self.stop(LEFT_SECONDS)
        if self.engine and self.database:
            self.engine.drop(self.database)
        shutil.rmtree(self.folder, ignore_errors=True)

    def command(self):
        return [str(placet_binary(self.binary)), "--config-file", str(self.config),
                "--bind", f"127.0.0.1:{self.port}"]

    def _start(self):
        # Another process may take the free port before the service does: then try another port.
        for attempt in range(3):
            self.port = ports.free_port()
            self._launch()
            if self._listens():
                return
            self.stop(LEFT_SECONDS)
            if "in use" not in self.log():
                break
        raise RuntimeError(f"{self.kind} does not serve; its log ends with:\n{self.log_end()}")

    def _launch(self):
        """Starts the process. Its errors go to the log, and so does what it prints, through a pipe."""
        count_start(self.kind)
        log = self.folder / "log"
        read, write = os.pipe()
        with open(log, "ab") as stderr, open(write, "wb") as stdout:
            self.process = self._process(stdout, stderr, clean_environment() | self.environment)
        self.output = Output(open(read, "rb"), log)

    def _process(self, stdout, stderr, environment):
        if self.kind == "upstream" and self.is_forked:
            arguments = ["upstream", self.config, self.port]
            return forked.start(forked.OPENSTACK_PLACEMENT, "functional_tests.lib.upstream:main", arguments,
                                stdout, stderr, self.folder, environment)
        return subprocess.Popen(self.command(), stdout=stdout, stderr=stderr, stdin=subprocess.DEVNULL,
                                cwd=self.folder, env=environment)

    def _listens(self):
        """Waits for the line that says that it listens; False if the process ends or the time is up."""
        deadline = time.monotonic() + START_SECONDS
        # A process that is forked at the same moment may hold the pipe open, so that its end does not show.
        while not self.output.decided.wait(1):
            if self.process.poll() is not None or time.monotonic() > deadline:
                break
        return self.output.listens

    def kill(self):
        """Ends the process with SIGKILL."""
        self.process.kill()
        self.process.wait(HANG_SECONDS)

    def signal(self, number):
        self.process.send_signal(number)

    def restart(self, wait=True):
        """Starts a killed service again on the same port."""
        self._launch()
        if wait and not self._listens():
            raise RuntimeError(f"{self.kind} does not serve again; its log ends with:\n{self.log_end()}")

    def stop(self, seconds=HANG_SECONDS):
        """Ends the process, by SIGKILL after `seconds`; returns its exit code, or the negative number of the signal
        that killed it."""
        if self.process is None:
            return None
        process, self.process = self.process, None
        if process.poll() is None:
            process.terminate()
            try:
                process.wait(seconds)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait(HANG_SECONDS)
        return process.returncode

    def log(self):
        return (self.folder / "log").read_text(errors="replace")

    def log_end(self):
        """The part of the log that fits a message."""
        return self.log()[-4000:]
