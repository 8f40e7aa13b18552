"""contrib/kolla as far as it runs without a container engine, in the private root of inside.py.

kolla_start is a small program that reads extend_start.sh and starts the command, as Kolla's does. The configuration has
what Kolla-Ansible writes, with an SQLite file and without Keystone, and HAProxy has the lines of globals.yml.
"""

import contextlib
import pathlib
import re
import shutil
import subprocess
import time

import jinja2
import yaml

from functional_tests.lib import ports
from functional_tests.lib.patience import HANG_SECONDS
from functional_tests.lib.rest import Rest
from functional_tests.lib.root import ROOT

FOLDER = ROOT / "contrib/kolla"
# Kolla-Ansible's `haproxy_health_check`: a process counts as gone after 5 checks, one every 2 seconds.
NOTICED_SECONDS = 5 * 2
START = """#!/bin/bash
set -o errexit -o pipefail -o nounset
CMD="uwsgi /etc/placement/placement-api-uwsgi.ini"
ARGS=""
. /usr/local/bin/kolla_placement_extend_start
exec ${CMD} ${ARGS}
"""
CONFIG = """
[DEFAULT]
log_file = /var/log/kolla/placement/placement-api.log
[api]
auth_strategy = noauth2
[placement_database]
connection = sqlite:////var/lib/placement/placement.sqlite
"""
HAPROXY = """
defaults
    mode http
    timeout connect 2s
    timeout server 30s
    timeout client 30s
frontend placement
    bind 127.0.0.1:{front}
    default_backend placet
backend placet
    {checks}
    server placet 127.0.0.1:{port} check inter 100 rise 1 fall 2
"""


def rendered(port, with_tls):
    """placement.conf of the folder as Kolla-Ansible writes it."""
    engine = jinja2.Environment(undefined=jinja2.StrictUndefined, trim_blocks=True)
    engine.filters |= {"put_address_in_context": lambda address, _: address, "bool": bool}
    return engine.from_string((FOLDER / "placement.conf").read_text()).render(
        api_interface_address="127.0.0.1", placement_api_listen_port=port, placement_enable_tls_backend=with_tls)


def prepare(root, port):
    root.run("useradd", "--system", "--create-home", "--home-dir", "/var/lib/placement", "placement")
    for name in ("etc/placement", "var/log/kolla/placement", "usr/local/bin"):
        (root.path / name).mkdir(parents=True, exist_ok=True)
    root.run("chown", "placement", "/var/log/kolla/placement")
    (root.path / "etc/placement/placement.conf").write_text(CONFIG + rendered(port, False))
    shutil.copy(FOLDER / "extend_start.sh", root.path / "usr/local/bin/kolla_placement_extend_start")
    program = root.path / "usr/local/bin/kolla_start"
    program.write_text(START)
    program.chmod(0o755)


def ended(root, variable):
    """The exit code of a container that is started with this variable, which has no value."""
    said = root.run("sh", "-c", f"env {variable}= timeout 60 /usr/local/bin/kolla_start; echo ended with $?")
    return int(re.search(r"ended with (\d+)$", said)[1])


def tables(root):
    return root.run("placet", "--config-file", "/etc/placement/placement.conf", "db", "version", user="placement")


@contextlib.contextmanager
def container(root, port):
    """A container that serves."""
    process = subprocess.Popen(
        ["chroot", root.path, "/usr/local/bin/kolla_start"], env={"PATH": "/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"},
        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    try:
        wait(lambda: process.poll() is not None or status(port, "/health/ready") == 200)
        assert process.poll() is None, process.stderr.read()
        yield process
    finally:
        process.kill()
        process.communicate(timeout=HANG_SECONDS)


def status(port, path):
    with contextlib.suppress(OSError):
        return Rest(port)("GET", path).status
    return None


def wait(happened, seconds=HANG_SECONDS):
    deadline = time.monotonic() + seconds
    while not happened():
        assert time.monotonic() < deadline, "it does not happen"
        time.sleep(0.05)


def balanced(root, process, port):
    """HAProxy sends nothing to a process that is about to stop and still serves."""
    services = yaml.safe_load((FOLDER / "globals.yml").read_text())["placement_services"]["placement-api"]["haproxy"]
    checks, others = (service["backend_http_extra"] for service in services.values())
    assert checks == others, services
    front = ports.free_port()
    (root.base / "haproxy.cfg").write_text(HAPROXY.format(front=front, port=port, checks="\n    ".join(checks)))
    balancer = subprocess.Popen(["haproxy", "-db", "-f", "haproxy.cfg"], cwd=root.base, stdin=subprocess.DEVNULL,
                                stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        wait(lambda: status(front, "/") == 200)
        process.terminate()
        wait(lambda: status(front, "/") == 503)
        assert status(port, "/") == 200, "placet has stopped serving before HAProxy noticed it"
    finally:
        balancer.kill()
        balancer.wait(HANG_SECONDS)


def check(root):
    port = ports.free_port()
    prepare(root, port)
    assert "tls_key" not in rendered(port, False) and "tls_key = /etc/placement/certs/" in rendered(port, True)
    assert int(re.search(r"^drain_time = (\d+)$", rendered(port, False), re.MULTILINE)[1]) > NOTICED_SECONDS
    with contextlib.suppress(AssertionError), container(root, port):
        raise RuntimeError("it serves without tables")
    for variable in ("KOLLA_BOOTSTRAP", "KOLLA_UPGRADE", "KOLLA_OSM"):
        assert ended(root, variable) == 0, variable
        assert "a082b8bb98d0" in tables(root), tables(root)
    config = root.path / "etc/placement/placement.conf"
    kept = config.read_text()
    config.write_text(kept.replace("/var/lib/placement/", "/proc/"))
    for variable in ("KOLLA_BOOTSTRAP", "KOLLA_UPGRADE", "KOLLA_OSM"):
        assert ended(root, variable) not in (0, 124), f"{variable}: a failure is not reported"
    config.write_text(kept)
    with container(root, port) as process:
        owner = pathlib.Path(f"/proc/{process.pid}/status").read_text()
        user = root.run("id", "--user", "placement").strip()
        assert re.search(rf"^Uid:\s+{user}\s", owner, re.MULTILINE), owner
        log = (root.path / "var/log/kolla/placement/placement-api.log").read_text()
        assert re.search(r"^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{3} \d+ INFO placet", log, re.MULTILINE), log[-500:]
        if shutil.which("haproxy"):
            balanced(root, process, port)
