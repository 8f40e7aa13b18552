"""Installs, drives, upgrades, removes and purges the package in a private root; run.py starts it in a mount
namespace.
"""

import json
import os
import pathlib
import re
import shutil
import sys

from functional_tests.packaging import kolla, upgrades
from functional_tests.packaging.private_root import INSTALL, PrivateRoot, served

HOST = "00000000-0000-4000-8000-0000000000aa"
CONF = "etc/placet/placement.conf"
AGENT_CONF = "etc/placet/agent.conf"
AGENT_UNIT = "usr/lib/systemd/system/placet-agent.service"


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


def check_agent(root):
    """The agent's unit is disabled. Its command line works as the unit's user, once there are a report and a token."""
    assert root.mode(AGENT_CONF) == "root placet 640", root.mode(AGENT_CONF)
    links = list((root.path / "etc/systemd/system").rglob("placet-agent*"))
    assert not links, f"the package enables the agent: {links}"
    conf, files = root.path / AGENT_CONF, [root.path / "etc/placet" / name for name in ("agent.json", "agent.token")]
    shipped = conf.read_text()
    assert "#token_file = /etc/placet/agent.token" in shipped, shipped
    conf.write_text(shipped.replace("#token_file", "token_file"))
    for file, text in zip(files, ('{"properties": {"rack": "r7"}}', "a token")):
        file.write_text(text)
        root.run("chown", "root:placet", f"/etc/placet/{file.name}")
        file.chmod(0o640)
    command = re.search(r"^ExecStart=(.*)$", (root.path / AGENT_UNIT).read_text(), re.MULTILINE)[1]
    printed = root.run(*command.split(), "--dry-run", user="placet")
    assert json.loads(printed)["properties"] == {"rack": "r7"}, printed
    for file in files:
        file.unlink()
    conf.write_text(shipped)


def with_other_configurations(root):
    """Upgrades with a configuration that is not the package's."""
    conf, other = root.path / CONF, root.path / "etc/placement.conf"
    changed = conf.read_text()
    conf.unlink()
    root.run(*INSTALL)
    assert not conf.exists(), "the upgrade has made a configuration that was removed"
    other.write_text(changed)
    other.chmod(0o644)
    conf.symlink_to("/etc/placement.conf")
    root.run(*INSTALL)
    assert root.mode("etc/placement.conf") == "root root 644", root.mode("etc/placement.conf")
    conf.unlink()
    conf.write_text(changed)
    root.run("chown", "root:placet", f"/{CONF}")
    root.run("chmod", "0640", f"/{CONF}")


def main():
    package = pathlib.Path(sys.argv[1])
    root = PrivateRoot()
    root.install(package)
    check_installed(root)
    print("installed: files, modes, user, completions, manual page")
    check_agent(root)
    print("the agent: disabled, and its command line works as the unit's user")
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
    with_other_configurations(root)
    print("upgraded without the configuration, and with a link in its place: both are left as they are")
    upgrades.check(root, HOST)
    print("upgraded while it serves: restarted if the new program serves with the database, else not")
    kolla.check(root)
    print("started as Kolla starts its container: makes tables and ends, or serves behind Kolla's HAProxy")
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
