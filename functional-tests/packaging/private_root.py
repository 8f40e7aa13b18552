"""A private root, in which dpkg installs the package, and placet runs as under its unit.

The root needs a mount namespace of its own (run.py makes one), so nothing outlives the test.
"""

import contextlib
import pathlib
import re
import shutil
import subprocess
import tempfile
import time

from functional_tests.lib import ports
from functional_tests.lib.patience import HANG_SECONDS
from functional_tests.lib.rest import Rest

UNIT = "usr/lib/systemd/system/placet.service"
DEFAULTS = "etc/default/placet"
# Images for containers leave out manual pages and documents.
INSTALL = ("dpkg", "--path-include=/usr/share/man/*", "--path-include=/usr/share/doc/*", "--install", "/tmp/placet.deb")


class PrivateRoot:
    """An overlay of this machine's root. What is written goes to memory, and vanishes with the namespace."""

    def __init__(self):
        self.base = pathlib.Path(tempfile.mkdtemp(prefix="placet-root-"))
        subprocess.run(["mount", "-t", "tmpfs", "placet", self.base], check=True)
        for name in ("upper", "work", "root"):
            (self.base / name).mkdir()
        self.path = self.base / "root"
        layers = f"lowerdir=/,upperdir={self.base}/upper,workdir={self.base}/work"
        subprocess.run(["mount", "-t", "overlay", "placet", "-o", layers, self.path], check=True)
        for name in ("proc", "dev"):
            (self.path / name).mkdir(exist_ok=True)
            subprocess.run(["mount", "--rbind", f"/{name}", self.path / name], check=True)
        (self.path / "tmp").mkdir(exist_ok=True)
        # With this file each installation of a package reads all manual pages of the machine, for 3.6 s of processors.
        (self.path / "var/lib/man-db/auto-update").unlink(missing_ok=True)

    def run(self, *command, user=None):
        """The output of a command in this root, which must succeed."""
        userspec = [f"--userspec={user}:{user}"] if user else []
        environment = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "DEBIAN_FRONTEND": "noninteractive", "LANG": "C.UTF-8"}
        done = subprocess.run(
            ["chroot", *userspec, self.path, *command], capture_output=True, text=True, env=environment,
            stdin=subprocess.DEVNULL)
        assert done.returncode == 0, f"{command}: {done.returncode}\n{done.stdout}\n{done.stderr}"
        return done.stdout

    def install(self, package):
        """Copies the package into this root, and installs it."""
        shutil.copy(package, self.path / "tmp/placet.deb")
        self.run(*INSTALL)

    def mode(self, path):
        """Owner, group and mode of a path."""
        return self.run("stat", "--format=%U %G %a", f"/{path}").strip()


def unit_variables(root, unit=UNIT):
    """The variables that the unit sets, and those of /etc/default/placet."""
    lines = [line.removeprefix("Environment=") for line in (root.path / unit).read_text().splitlines()
             if line.startswith("Environment=")]
    if (root.path / DEFAULTS).exists():
        lines += (root.path / DEFAULTS).read_text().splitlines()
    return {name: value.strip('"') for name, value in (line.split("=", 1) for line in lines if "=" in line)}


def unit_command(root, unit=UNIT):
    """The words of the command line with which the unit starts placet, in the folder in which it does so."""
    command = re.search(r"^ExecStart=(.*)$", (root.path / unit).read_text(), re.MULTILINE)[1]
    options = unit_variables(root, unit)["PLACET_OPTIONS"]
    return ["/usr/bin/env", "--chdir=/var/lib/placet", *command.replace("$PLACET_OPTIONS", options).split()]


@contextlib.contextmanager
def served(root):
    """placet as the unit starts it: its command line, its variables, its user, its folder.

    Yields a client, whose attribute `process` is the number of the process.
    """
    variables = unit_variables(root)
    port = ports.free_port()
    with open(root.base / "log", "ab") as log:
        process = subprocess.Popen(
            ["chroot", "--userspec=placet:placet", root.path, *unit_command(root)],
            env={**variables, "OS_PLACET__BIND": f"127.0.0.1:{port}", "PATH": "/usr/sbin:/usr/bin:/bin",
                 "OS_PLACET__DRAIN_TIME": "0"},
            stdin=subprocess.DEVNULL, stdout=log, stderr=log)
    rest = Rest(port)
    rest.process = process.pid
    try:
        deadline = time.monotonic() + HANG_SECONDS
        while True:
            with contextlib.suppress(OSError):
                if rest("GET", "/health/ready").status == 200:
                    break
            text = (root.base / "log").read_text()
            assert process.poll() is None and time.monotonic() < deadline, f"placet does not serve:\n{text[-2000:]}"
            time.sleep(0.1)
        yield rest
        process.terminate()
        assert process.wait(30) == 0, f"exit code {process.returncode}"
    finally:
        process.kill()
        process.wait(10)
