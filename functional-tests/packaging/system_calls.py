"""Which system calls placet and its agent make, by strace, and which their units allow."""

import contextlib
import os
import pathlib
import re
import shutil
import signal
import subprocess
import tempfile
import threading
import time

from functional_tests.agent.agent_process import AgentProcess
from functional_tests.lib import live, ports
from functional_tests.lib.patience import HANG_SECONDS
from functional_tests.lib.rest import Rest
from functional_tests.lib.test_counts import Skipped

HOST = "00000000-0000-4000-8000-0000000000aa"


def group(name):
    """The system calls of a group, groups in it included."""
    found = set()
    text = subprocess.run(
        ["systemd-analyze", "syscall-filter", "--no-pager", name], capture_output=True, text=True, check=True).stdout
    for line in text.splitlines()[1:]:
        word = line.strip()
        if word.startswith("@"):
            found |= group(word)
        elif re.fullmatch(r"\w+", word):
            found.add(word)
    return found


def filtered(unit):
    """The system calls that the unit's lines SystemCallFilter= leave."""
    allowed = set()
    for line in re.findall(r"^SystemCallFilter=(.*)$", unit.read_text(), re.MULTILINE):
        names = line.removeprefix("~").split()
        calls = set().union(*(group(name) if name.startswith("@") else {name} for name in names))
        allowed = allowed - calls if line.startswith("~") else allowed | calls
    # systemd adds these to every list of what is allowed.
    return allowed | group("@default") | {"execve", "exit", "exit_group", "getrlimit", "rt_sigreturn", "sigreturn"}


def drive(port):
    """Requests that make placet use its database, its searches and its threads."""
    rest = Rest(port)
    rest.must("POST", "/resource_providers", {"name": "host", "uuid": HOST})
    rest.must("PUT", f"/resource_providers/{HOST}/inventories", {
        "resource_provider_generation": 0, "inventories": {"VCPU": {"total": 1000}}})

    def claims(number):
        for each in range(20):
            rest.must("PUT", f"/allocations/{number:08x}-0000-4000-8000-{each:012x}", {
                "allocations": {HOST: {"resources": {"VCPU": 1}}}, "project_id": "p", "user_id": "u",
                "consumer_generation": None, "consumer_type": "X"})
            rest.must("GET", "/allocation_candidates?resources=VCPU:1")
    threads = [threading.Thread(target=claims, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)


def traced(tracer):
    """The process that strace has started."""
    return int(pathlib.Path(f"/proc/{tracer.pid}/task/{tracer.pid}/children").read_text().split()[0])


def hang_up_and_end(process):
    for number in (signal.SIGHUP, signal.SIGTERM):
        with contextlib.suppress(ProcessLookupError):
            os.kill(process, number)
        time.sleep(0.3)


def names(calls):
    """The names in the output of strace."""
    text = calls.read_text(errors="replace")
    return set(re.findall(r"^\d+ +(?:<\.\.\. )?([a-z]\w*)[( ]", text, re.MULTILINE)) - {"resumed"}


def used_by_agent(binary):
    """The names of the system calls of an agent that reports to a host name, reads its files again, and ends."""
    with live.Service("placet", {}, binary) as service:
        report = {"providers": [{"uuid": HOST, "name": "host"}]}
        agent = AgentProcess(binary, HOST, f"http://localhost:{service.port}", report)
        agent.command = ["strace", "-f", "-qq", "-o", str(agent.folder / "calls"), *agent.command]
        with agent:
            agent.says("has stored the report")
            hang_up_and_end(traced(agent.process))
            assert agent.process.wait(HANG_SECONDS) == 0, agent.log()[-2000:]
            return names(agent.folder / "calls")


def used(binary):
    """The names of the system calls of one run: start, requests, SIGHUP, SIGTERM."""
    folder = pathlib.Path(tempfile.mkdtemp(prefix="placet-packaging-"))
    try:
        config, port = live.write_config(folder), ports.free_port()
        with open(folder / "log", "wb") as log:
            tracer = subprocess.Popen(
                ["strace", "-f", "-qq", "-o", folder / "calls", binary, "--config-file", config, "--bind", f"127.0.0.1:{port}"],
                cwd=folder, env=live.clean_environment(), stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        try:
            deadline = time.monotonic() + HANG_SECONDS
            while "serving on" not in (folder / "log").read_text(errors="replace"):
                assert tracer.poll() is None and time.monotonic() < deadline, (folder / "log").read_text()[-2000:]
                time.sleep(0.1)
            process = traced(tracer)
            drive(port)
            hang_up_and_end(process)
            assert tracer.wait(60) == 0, (folder / "log").read_text()[-2000:]
        finally:
            tracer.kill()
            tracer.wait(20)
        return names(folder / "calls")
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def allowed(binary, unit):
    needs_programs()
    calls = used(binary)
    assert {"accept4", "fdatasync"} <= calls or {"accept4", "fsync"} <= calls, f"strace saw only {sorted(calls)}"
    compare(calls, unit)


def allowed_of_agent(binary, unit):
    needs_programs()
    calls = used_by_agent(binary)
    assert {"connect", "epoll_wait"} <= calls, f"strace saw only {sorted(calls)}"
    compare(calls, unit)


def needs_programs():
    for program in ("strace", "systemd-analyze"):
        if not shutil.which(program):
            raise Skipped(f"needs {program}")


def compare(calls, unit):
    refused = calls - filtered(unit)
    print(f"        {len(calls)} system calls")
    assert not refused, f"the unit's filter refuses {sorted(refused)}"
