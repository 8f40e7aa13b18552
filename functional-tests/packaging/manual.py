"""The examples of `man placet`, taken from the page as `man` shows it, and pasted into a shell."""

import contextlib
import os
import pathlib
import re
import subprocess
import tempfile
import time

from functional_tests.documents.page import is_complete
from functional_tests.documents.shell import Shell
from functional_tests.lib import live, ports
from functional_tests.lib.patience import HANG_SECONDS
from functional_tests.lib.rest import Rest
from functional_tests.lib.test_counts import Skipped
from functional_tests.packaging.artifacts import needs, run

# The page's own indentation, and that of a command.
INDENT = " " * (7 + 4)
# The usual port may be taken.
PLACET = """#!/bin/sh
case "$*" in
    *--bind*) exec {binary} "$@" ;;
    *) exec {binary} "$@" --bind 127.0.0.1:{port} ;;
esac
"""


def shown(binary, folder):
    """The page as a terminal of 80 columns shows it."""
    run(binary, "man", folder / "pages")
    return run("man", "--local-file", folder / "pages/placet.1", env={
        **live.clean_environment(), "MANWIDTH": "80", "LANG": "C.UTF-8"})


def commands(text, begin, end):
    """The commands between two lines of the page. One goes on while a quotation or a backslash is open."""
    found = []
    for line in re.search(rf"^ +{begin}.*?^ *{end}", text, re.MULTILINE | re.DOTALL)[0].splitlines():
        if line.startswith(INDENT):
            if found and not is_complete(found[-1]):
                found[-1] += "\n" + line.removeprefix(INDENT)
            else:
                found.append(line.removeprefix(INDENT))
    return found


@contextlib.contextmanager
def pasted(command, folder, environment, *served):
    """Runs a command until it has ended with 0, or serves on one of the ports."""
    with open(folder / "log", "wb") as log:
        process = subprocess.Popen(["bash", "-c", command], cwd=folder, env=environment, stdin=subprocess.DEVNULL, stdout=log,
                                   stderr=log, start_new_session=True)
    try:
        deadline = time.monotonic() + HANG_SECONDS
        while process.poll() is None and not any(is_ready(port) for port in served):
            assert time.monotonic() < deadline, f"{command}: neither serves nor ends"
            time.sleep(0.1)
        assert not process.poll(), f"{command}: {process.returncode}: {(folder / 'log').read_text()}"
        yield process
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, 9)
        process.wait(HANG_SECONDS)


def is_ready(port):
    with contextlib.suppress(OSError):
        return Rest(port)("GET", "/health/ready").status == 200
    return False


def examples_work(binary):
    needs("man", "curl", "bash")
    if os.path.exists("/etc/placement"):
        raise Skipped("this machine has an /etc/placement")
    with tempfile.TemporaryDirectory(prefix="placet-test-") as name:
        folder = pathlib.Path(name)
        text = shown(binary, folder)
        usual, other = ports.free_port(), ports.free_port()
        (folder / "placet").write_text(PLACET.format(binary=binary, port=usual))
        (folder / "placet").chmod(0o755)
        live.write_config(folder)

        def placed(command):
            return command.replace("127.0.0.1:8778", f"127.0.0.1:{usual}").replace("127.0.0.1:9000", f"127.0.0.1:{other}") \
                .replace("/etc/placement/", f"{folder}/")
        environment = live.clean_environment() | {"PATH": f"{folder}:{os.environ['PATH']}"}
        serve, *steps = commands(text, "First steps", "OPTIONS")
        examples = commands(text, "Examples", "Exit codes")
        assert sum(step.startswith("curl") for step in steps) >= 3 and len(examples) >= 4, (steps, examples)
        with pasted(placed(serve), folder, environment, usual), Shell(folder, environment) as shell:
            for step in steps:
                printed, status = shell.run(placed(step))
                assert status == 0 and '"errors"' not in printed, f"{step}: {status}: {printed}"
            assert re.search(r'"allocation_requests":\[\{', printed), printed
        for example in examples:
            with pasted(placed(example), folder, environment, usual, other):
                pass
        print(f"        {1 + len(steps) + len(examples)} commands")
