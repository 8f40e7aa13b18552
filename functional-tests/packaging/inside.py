"""Installs, drives, upgrades, removes and purges the package in a private root; run.py starts it in a mount namespace."""

import contextlib
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time

from functional_tests.lib import ports
from functional_tests.lib.rest import Rest

HOST = "00000000-0000-4000-8000-0000000000aa"
CONF = "etc/placet/placement.conf"
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

    def run(self, *command, user=None):
        """The output of a command in this root, which must succeed."""
        userspec = [f"--userspec={user}:{user}"] if user else []
        environment = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "DEBIAN_FRONTEND": "noninteractive", "LANG": "C.UTF-8"}
        done = subprocess.run(
            ["chroot", *userspec, self.path, *command], capture_output=True, text=True, env=environment,
            stdin=subprocess.DEVNULL)
        assert done.returncode == 0, f"{command}: {done.returncode}\n{done.stdout}\n{done.stderr}"
        return done.stdout

    def mode(self, path):
        """Owner, group and mode of a path."""
        return self.run("stat", "--format=%U %G %a", f"/{path}").strip()


@contextlib.contextmanager
def served(root):
    """placet as the unit starts it: its command line, its user, its folder."""
    unit = (root.path / "usr/lib/systemd/system/placet.service").read_text()
    options = re.search(r'^Environment=PLACET_OPTIONS="(.*)"$', unit, re.MULTILINE)[1]
    command = re.search(r"^ExecStart=(.*)$", unit, re.MULTILINE)[1].replace("$PLACET_OPTIONS", options).split()
    port = ports.free_port()
    with open(root.base / "log", "ab") as log:
        process = subprocess.Popen(
            ["chroot", "--userspec=placet:placet", root.path, "/usr/bin/env", "--chdir=/var/lib/placet", *command],
            env={"OS_PLACET__BIND": f"127.0.0.1:{port}", "PATH": "/usr/sbin:/usr/bin:/bin", "OS_PLACET__DRAIN_TIME": "0"},
            stdin=subprocess.DEVNULL, stdout=log, stderr=log)
    rest = Rest(port)
    try:
        deadline = time.monotonic() + 60
        while True:
            with contextlib.suppress(OSError):
                if rest("GET", "/resource_providers").status == 200:
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


def check_installed(root):
    assert root.mode(CONF) == "root placet 640", root.mode(CONF)
    assert root.mode("var/lib/placet") == "placet placet 750", root.mode("var/lib/placet")
    assert root.mode("var/log/placet") == "placet placet 750", root.mode("var/log/placet")
    assert root.run("placet", "--version").startswith("placet "), "no version"
    shown = root.run("placet", "--config-file", f"/{CONF}", "config", "show", user="placet")
    assert "sqlite:////var/lib/placet/placet.sqlite" in shown, shown
    root.run("bash", "-n", "/usr/share/bash-completion/completions/placet")
    completed = root.run("bash", "-c", (
        "source /usr/share/bash-completion/completions/placet; COMP_WORDS=(placet ''); COMP_CWORD=1; _placet placet '' placet;"
        " echo ${COMPREPLY[@]}"))
    assert "serve" in completed.split() and "db" in completed.split(), completed
    page = root.run("sh", "-c", "zcat /usr/share/man/man1/placet.1.gz")
    assert ".TH placet 1" in page and "config" in page, page[:300]
    if shutil.which("man"):
        assert "placement service" in root.run("sh", "-c", "MANWIDTH=80 man -P cat placet"), "man finds no page"
    if shutil.which("logrotate"):
        root.run("logrotate", "--debug", "/etc/logrotate.d/placet")


def main():
    package = pathlib.Path(sys.argv[1])
    root = PrivateRoot()
    shutil.copy(package, root.path / "tmp/placet.deb")
    root.run(*INSTALL)
    check_installed(root)
    print("installed: files, modes, user, completions, manual page")
    with served(root) as rest:
        rest.must("POST", "/resource_providers", {"name": "host", "uuid": HOST})
    print("served, as the unit's user with the unit's command line")
    changed = (root.path / CONF).read_text() + "workers = 1\n"
    (root.path / CONF).write_text(changed)
    root.run(*INSTALL)
    assert (root.path / CONF).read_text() == changed, "the upgrade has replaced the configuration"
    assert root.mode(CONF) == "root placet 640", root.mode(CONF)
    with served(root) as rest:
        assert rest.must("GET", f"/resource_providers/{HOST}").json["name"] == "host"
    print("upgraded: configuration and data are kept")
    root.run("dpkg", "--remove", "placet")
    assert not (root.path / "usr/bin/placet").exists() and (root.path / CONF).exists()
    root.run("dpkg", "--purge", "placet")
    left = [path for path in ("etc/placet", "etc/logrotate.d/placet", "var/log/placet", "usr/share/doc/placet")
            if (root.path / path).exists()]
    assert not left, f"after the purge there is {left}"
    assert (root.path / "var/lib/placet/placet.sqlite").exists(), "the purge has removed the data"
    print("removed and purged: the data is left")


if __name__ == "__main__":
    assert os.geteuid() == 0
    main()
