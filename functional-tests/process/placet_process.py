"""A placet process: the start, the output, signals, and the exit code."""

import os
import pathlib
import re
import signal
import subprocess

from functional_tests.lib import live
from functional_tests.lib.patience import HANG_SECONDS, eventually
from functional_tests.lib.rest import Rest
from functional_tests.process import cases

OTHER_COMMANDS = {"agent", "db", "token", "policy", "status", "config", "openapi", "man", "completions"}
# What a start adds to the sentence of a mistake.
REMARKS = re.compile(r"(\. `[^`]* config check` shows this and .*|, or set \[placement_database\] sync_on_startup = true)$")
LOGGED = re.compile(r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z (ERROR|WARN |INFO |DEBUG|TRACE) \[[\w:]+\] ")


def environment(folder, extra=None):
    """A minimal environment: no configuration, no variables of clients, an empty home folder; and `extra`."""
    return {"PATH": os.environ["PATH"], "HOME": str(folder), "LANG": "C.UTF-8", **(extra or {})}


def binary():
    return str(live.placet_binary(cases.settings["binary"]))


class ExitedProcess:
    """The exit code and the output of a command."""

    def __init__(self, code, out, err):
        self.code, self.out, self.err = code, out, err

    @property
    def line(self):
        """The only line on stderr that is not a line of the log."""
        lines = [line for line in self.err.splitlines() if not LOGGED.match(line)]
        cases.check(len(lines) == 1, "not one line on stderr but:", repr(self.err))
        cases.check(lines[0].startswith("placet: "), "the line does not begin with the program's name:", lines[0])
        return lines[0]

    def __str__(self):
        return f"exit code {self.code}\nstdout: {self.out}\nstderr: {self.err}"


def run(folder, *arguments, extra=None, **popen):
    """Runs a command that has to end by itself."""
    try:
        done = subprocess.run(
            [binary(), *map(str, arguments)], cwd=folder, env=environment(folder, extra), timeout=HANG_SECONDS,
            stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace", **popen)
    except subprocess.TimeoutExpired as late:
        output = (late.stdout or b"") + (late.stderr or b"")
        raise AssertionError(f"still running after {HANG_SECONDS} s; its output:\n{output.decode()}") from None
    return ExitedProcess(done.returncode, done.stdout, done.stderr)


def refused(folder, *arguments, extra=None, is_mistake=True, **popen):
    """Runs a command that must be refused with exit code 1 and one line on stderr; returns the line.

    If it is a start, `config check --database` must find the same mistake. With `is_mistake=False` the reason is none
    in the configuration or the schema, but a process or a page of the database.
    """
    ended = run(folder, *arguments, extra=extra, **popen)
    cases.equal(ended.code, 1, ended)
    if is_mistake and not OTHER_COMMANDS.intersection(arguments):
        same = [argument for argument in arguments if argument != "serve"]
        checked = run(folder, *same, "config", "check", "--database", extra=extra, **popen)
        cases.equal(checked.code, 2, "`config check` after this refusal of a start:", ended.line, checked)
        sentence = "error: " + REMARKS.sub("", ended.line.removeprefix("placet: "))
        cases.check(sentence in checked.out, repr(sentence), "is not in:", checked)
    return ended.line


class Placet:
    """A serving process. As a context manager it is killed at the end if it still runs.

    Without `options` nothing is configured. With `options`, placement.conf has noauth2, placet.sqlite in the folder,
    and the options.
    """

    def __init__(self, folder, options=None, arguments=(), extra=None, bind="127.0.0.1:0", **popen):
        self.folder = folder
        self.database = folder / "placet.sqlite"
        self.arguments = [*map(str, arguments)]
        if options is not None:
            self.arguments += ["--config-file", str(live.write_config(folder, options, self.database))]
        if bind:
            self.arguments += ["--bind", bind]
        self.environment = environment(folder, extra)
        self.popen = popen

    def __enter__(self):
        with open(self.folder / "out", "wb") as out, open(self.folder / "log", "wb") as log:
            streams = {"stdin": subprocess.DEVNULL, "stdout": out, "stderr": log}
            self.process = subprocess.Popen(
                [binary(), *self.arguments], cwd=self.folder, env=self.environment, **{**streams, **self.popen})
        try:
            self.port = self._port()
        except BaseException:
            self.__exit__()
            raise
        self.rest = Rest(self.port)
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait(HANG_SECONDS)

    def _port(self):
        """The port in the greeting, which is printed once placet listens."""
        def found():
            cases.equal(self.process.poll(), None, "placet does not serve; its exit code", self.log())
            return re.search(r"listens on https?://[^\s/]*:(\d+)\S*\n(?s:.*)\n", self.greeting())

        return int(eventually("placet serves", found)[1])

    def greeting(self):
        return (self.folder / "out").read_text(errors="replace")

    def log(self):
        return (self.folder / "log").read_bytes().decode("utf-8", "replace")

    def signal(self, number):
        self.process.send_signal(number)

    def ended(self):
        """Waits for the end; returns the exit code."""
        try:
            return self.process.wait(HANG_SECONDS)
        except subprocess.TimeoutExpired:
            raise AssertionError(f"still running after {HANG_SECONDS} s; its log:\n{self.log()[-2000:]}") from None

    def stop(self):
        """Sends SIGTERM and expects exit code 0."""
        self.signal(signal.SIGTERM)
        cases.equal(self.ended(), 0, "exit code")

    def kill(self):
        self.process.kill()
        self.process.wait(HANG_SECONDS)

    def processor_seconds(self):
        """The CPU time that the process has used. Other processes do not make it longer."""
        fields = pathlib.Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def alive(self):
        """Checks that the process runs and answers a request."""
        cases.equal(self.process.poll(), None, "exit code", self.log()[-1000:])
        answer = self.rest("GET", "/resource_providers")
        cases.equal(answer.status, 200, answer)
