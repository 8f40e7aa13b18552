"""The guide from OpenStack Placement to placet and back (docs/switching.md): its commands work as written.

    python -m functional_tests.switching.run [--engine ENGINE] [--keystone] [--binary PATH]

The test changes the commands as little as possible: the configuration is a temporary file, the ports are free ports,
and systemd is a small program that starts and stops the two services, placet with the command line of its unit. With
`--keystone` the file has `auth_strategy = keystone`, and a real Keystone validates the client's token. During the whole
test a client claims and releases through a load balancer, in turn at each of its services, and must get no error.
"""

import contextlib
import http.client
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import threading
import uuid

from functional_tests.keystone import actors, set_ups
from functional_tests.lib import command_line, engines, live, ports
from functional_tests.lib.keystone import Keystone
from functional_tests.lib.patience import HANG_SECONDS
from functional_tests.lib.rest import Rest
from functional_tests.lib.root import ROOT
from functional_tests.lib.tables.contents import contents
from functional_tests.lib.tables.shapes import differences, of_openstack, shape
from functional_tests.lib.test_counts import TestCounts

GUIDE = ROOT / "docs/switching.md"
UNIT = (ROOT / "contrib/systemd/placet.service").read_text()
# As kolla-ansible writes it, except for paths and the auth strategy.
CONFIG = """
[DEFAULT]
debug = false
log_file = {folder}/log
state_path = {folder}
[api]
auth_strategy = {auth}
[oslo_middleware]
enable_proxy_headers_parsing = true
[oslo_concurrency]
lock_path = {folder}/tmp
[placement_database]
connection = {url}
connection_recycle_time = 10
max_overflow = 1000
max_pool_size = 1
max_retries = -1
[cache]
backend = oslo_cache.memcache_pool
enabled = true
memcache_servers = 127.0.0.1:1
[keystone_authtoken]
{authtoken}
[placet]
strict_step_size = true
[placement]
allocation_conflict_retry_count = 1
"""
INCOMPLETE = {"service_type": "placement", "auth_type": "password", "password": "secret"}
# What the guide asks of systemd, and usermod.
SYSTEMD = """#!/bin/bash
cd {folder}
start() {{ local unit=$1; shift; "$@" >$unit.out 2>&1 & echo $! >$unit.pid; }}
case "$(basename $0) $*" in
    "systemctl enable --now placement-api")
        start placement-api {python} -m functional_tests.lib.upstream {folder}/placement.conf {port} ;;
    "systemctl enable --now placet") set -a; {variables}; source default; start placet {command} ;;
    "systemctl disable --now "*) kill $(cat $3.pid); while kill -0 $(cat $3.pid) 2>/dev/null; do sleep 0.05; done; rm $3.pid ;;
    "usermod --append --groups placement placet") ;;
    *) echo "unexpected: $(basename $0) $*"; exit 1 ;;
esac
"""


def guide(name):
    """The commands under a heading of the guide, as lines."""
    text = GUIDE.read_text()
    part = text[text.index(f"\n## {name}\n"):]
    block = re.search(r"\n\n((?:    .*\n)+)", part)[1]
    return [line.strip() for line in block.splitlines()]


class Client(threading.Thread):
    """Claims and releases in turn at the services of a load balancer. The next service must show a granted claim."""

    def __init__(self, ports, token):
        super().__init__(daemon=True)
        self.token = token
        self.ports, self.ended, self.wrong, self.granted, self.requests = ports, threading.Event(), [], {}, 0
        self.host = str(uuid.uuid4())
        self.lock = threading.Lock()  # held while the balancer changes, so that no request is in flight

    def rest(self, *request):
        with self.lock:
            self.requests += 1
            return Rest(self.ports[self.requests % len(self.ports)], self.token, version="1.39")(*request)

    def must(self, *request):
        answer = self.rest(*request)
        if answer.status >= 300:
            self.wrong.append(f"{request}: {answer}")
        return answer

    def prepare(self):
        self.must("POST", "/resource_providers", {"name": "host", "uuid": self.host})
        self.must("PUT", f"/resource_providers/{self.host}/inventories", {
            "resource_provider_generation": 0, "inventories": {"VCPU": {"total": 1000}}})

    def run(self):
        try:
            self.claim_until_ended()
        except (OSError, http.client.HTTPException) as error:
            # The switch waits for no further request of a client that is wrong.
            self.wrong.append(f"request {self.requests}: {error!r}")

    def claim_until_ended(self):
        while not self.ended.wait(0.02) and not self.wrong:
            consumer = str(uuid.uuid4())
            self.must("PUT", f"/allocations/{consumer}", {
                "allocations": {self.host: {"resources": {"VCPU": 1}}}, "project_id": "p", "user_id": "u",
                "consumer_generation": None, "consumer_type": "INSTANCE"})
            found = self.must("GET", f"/allocations/{consumer}")
            if self.host not in (found.json or {}).get("allocations", {}):
                self.wrong.append(f"{consumer} was granted, and then {found}")
            if self.requests % 5 == 0:
                self.must("DELETE", f"/allocations/{consumer}")
            else:
                self.granted[consumer] = 1


class Switch:
    def __init__(self, tests, engine, binary, cloud):
        self.tests, self.engine, self.cloud = tests, engine, cloud
        self.folder = pathlib.Path(tempfile.mkdtemp(dir=engine.folder))
        self.database = engine.create()
        self.upstream, self.placet = ports.free_port(), ports.free_port()
        self.bin = self.folder / "bin"
        self.bin.mkdir()
        (self.bin / "placet").symlink_to(live.placet_binary(binary))
        variables = re.search(r"^Environment=(.*)$", UNIT, re.MULTILINE)[1]
        command = re.search(r"^ExecStart=/usr/bin/(.*)$", UNIT, re.MULTILINE)[1]
        for name in ("systemctl", "usermod"):
            (self.bin / name).write_text(SYSTEMD.format(
                folder=self.folder, python=sys.executable, port=self.upstream, variables=variables, command=command))
            (self.bin / name).chmod(0o755)
        self.config = self.folder / "placement.conf"
        if cloud:
            cloud.publish("identity", cloud.keystone.url)
            cloud.user("operator", "lab", "admin")
            self.token, _ = cloud.token(cloud.auth("operator", "lab"))
            self.configure("keystone", set_ups.options(cloud)["keystone_authtoken"])
        else:
            self.token = "admin"
            self.configure("noauth2", INCOMPLETE)

    def configure(self, auth, authtoken):
        lines = "\n".join(f"{name} = {value}" for name, value in authtoken.items())
        self.config.write_text(CONFIG.format(folder=self.folder, auth=auth, url=self.database.url, authtoken=lines))

    def command(self, line, code=0):
        """Runs a line in a shell, as if it were pasted; returns its output."""
        environment = live.clean_environment()
        environment["PATH"] = f"{self.bin}:{pathlib.Path(sys.executable).parent}:{environment['PATH']}"
        line = line.replace("127.0.0.1:8779", f"127.0.0.1:{self.placet}")
        line = line.replace("127.0.0.1:8778", f"127.0.0.1:{self.upstream}")
        line = line.replace("/etc/placement/placement.conf", str(self.config))
        line = line.replace("/etc/default/placet", "default").replace("/var/log/placet", str(self.folder))
        done = subprocess.run(["bash", "-c", line], capture_output=True, text=True, timeout=HANG_SECONDS, cwd=self.folder,
                              env=environment, check=False)
        logs = "".join(path.read_text()[-1500:] for path in self.folder.glob("*.out"))
        assert done.returncode == code, f"{line}: {done.returncode}\n{done.stdout}{done.stderr}{logs}"
        return done.stdout + done.stderr

    def balance(self, client, *ports):
        with client.lock:
            client.ports[:] = ports

    def run(self):
        tests = self.tests
        self.command(f"placement-manage --config-file {self.config} db sync")
        made = shape(self.database)
        self.command("systemctl enable --now placement-api")
        self.command(f"curl --silent --fail --retry 60 --retry-delay 1 --retry-connrefused 127.0.0.1:{self.upstream}/")
        client = Client([self.upstream], self.token)
        try:
            client.prepare()
            client.start()
            self.run_guide(guide("Over"), client, self.placet)
            self.run_guide(guide("Back"), client, self.upstream)
        finally:
            client.ended.set()
            client.join(60)
            for pid in self.folder.glob("*.pid"):
                os.kill(int(pid.read_text()), signal.SIGTERM)
        tests.equal("the client gets no wrong answer", [], client.wrong)
        held = {row["consumer_id"]: row["used"] for row in contents(self.database)["allocations"]}
        tests.equal(f"the {len(client.granted)} granted claims are stored, and no other", client.granted, held)
        tests.step("the guide removes placet's tables", self.remove_tables, made)
        tests.equal("placet's unit logs into the directory that it may write", True,
                    "serving on" in (self.folder / "placet.log").read_text())
        if self.cloud:
            tests.equal("Keystone validated the client's token", True, self.cloud.keystone.validations() > 0)
            return
        self.configure("keystone", INCOMPLETE)
        output = tests.step("with an incomplete section of Keystone placet refuses to start", self.command,
                            "placet --config-file placement.conf", 1)
        tests.equal("the refusal names Keystone", True, "keystone" in (output or ""))

    def run_guide(self, lines, client, stays):
        """Runs the lines of the guide. The balancer gets both services once the new one answers, and only the one that
        stays before the old one is stopped."""
        for line in lines:
            if line.startswith("systemctl disable"):
                self.balance(client, stays)
            self.tests.step(line, self.command, line)
            if line.startswith("curl"):
                self.balance(client, self.upstream, self.placet)
                self.wait_for_requests(client)
        self.wait_for_requests(client)

    def wait_for_requests(self, client, count=20):
        """Waits until the client has sent `count` more requests."""
        wanted = client.requests + count
        while client.requests < wanted and not client.wrong:
            client.ended.wait(0.02)

    def remove_tables(self, made):
        for line in guide("What is left"):
            self.command(line)
        found = shape(self.database)
        assert not differences(made, found) and of_openstack(found) == found, found.keys()


def main():
    parser = command_line.parser(__doc__, "--binary", "--engine")
    parser.add_argument("--keystone", action="store_true", help="with auth_strategy = keystone and a real Keystone")
    arguments = parser.parse_args()
    tests = TestCounts()
    with engines.Engine(arguments.engine) as engine, contextlib.ExitStack() as stack:
        cloud = actors.Cloud(stack.enter_context(Keystone())) if arguments.keystone else None
        Switch(tests, engine, arguments.binary, cloud).run()
    tests.finish()


if __name__ == "__main__":
    main()
