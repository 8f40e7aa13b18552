"""Rolling restarts under claims: no request fails, and no acknowledged claim is lost.

    python -m functional_tests.rolling.run [--engine ENGINE] [--rounds N] [--seed N] [--binary PATH]

Two placet processes serve one database behind HAProxy with contrib/haproxy/placement.cfg, and each is restarted in turn
by SIGTERM. Afterwards one process is restarted whose listening socket a supervisor keeps, as systemd does (socket
activation). Clients claim, read and release all the while, on kept connections. Each answer must be a success. In the
end the tables must hold exactly the claims without a release that were acknowledged.
"""

import collections
import contextlib
import http.client
import json
import os
import pathlib
import random
import re
import shutil
import socket
import subprocess
import tempfile
import threading
import time
import uuid

from functional_tests.lib import command_line, engines, live, ports
from functional_tests.lib.ledger import Ledger
from functional_tests.lib.patience import HANG_SECONDS
from functional_tests.lib.rest import Rest
from functional_tests.lib.root import ROOT
from functional_tests.lib.supervisor import Supervisor, listening_socket
from functional_tests.lib.test_counts import TestCounts

FULL = os.environ.get("PLACET_TEST_SIZE") == "full"
CLIENTS, HOSTS = 12, 8
DRAIN_SECONDS = 3  # as contrib/haproxy/placement.cfg demands
HEADERS = {"x-auth-token": "admin", "openstack-api-version": "placement latest", "content-type": "application/json"}


def host(number):
    return f"{number:08x}-0000-4000-8000-0000000000aa"


def prepare(rest):
    for number in range(HOSTS):
        rest.must("POST", "/resource_providers", {"name": host(number), "uuid": host(number)})
        rest.must("PUT", f"/resource_providers/{host(number)}/inventories", {
            "resource_provider_generation": 0, "inventories": {"VCPU": {"total": 1_000_000}}})


class Load:
    """Clients on kept connections. A request that fails in any way is recorded, and never sent again."""

    def __init__(self, port, chance):
        self.port, self.ended = port, threading.Event()
        self.held, self.unknown, self.failures, self.counts = set(), set(), [], collections.Counter()
        self.threads = [
            threading.Thread(target=self._client, args=(random.Random(chance.random()),), daemon=True)
            for _ in range(CLIENTS)]

    def __enter__(self):
        for thread in self.threads:
            thread.start()
        return self

    def __exit__(self, *_):
        self.ended.set()
        for thread in self.threads:
            thread.join(90)
            assert not thread.is_alive(), "a client still waits for an answer"

    def _client(self, chance):
        connection, mine = None, []
        while not self.ended.is_set():
            connection = connection or http.client.HTTPConnection("127.0.0.1", self.port, timeout=HANG_SECONDS)
            kind = chance.choice(("claim", "claim", "read", "release"))
            consumer = None
            if kind == "read":
                sent = ("GET", f"/allocation_candidates?resources=VCPU:{chance.randint(1, 4)}&limit=3", None)
            elif kind == "release" and mine:
                consumer = mine.pop()
                sent = ("DELETE", f"/allocations/{consumer}", None)
            else:
                kind, consumer = "claim", str(uuid.UUID(int=chance.getrandbits(128), version=4))
                sent = ("PUT", f"/allocations/{consumer}", {
                    "allocations": {host(chance.randrange(HOSTS)): {"resources": {"VCPU": 1}}}, "project_id": "p",
                    "user_id": "u", "consumer_generation": None, "consumer_type": "INSTANCE"})
            if not self._ask(connection, kind, consumer, mine, *sent):
                connection.close()
                connection = None
            time.sleep(chance.random() * 0.01)

    def _ask(self, connection, kind, consumer, mine, method, path, body):
        """Whether the connection can be used again."""
        began = time.time()
        try:
            connection.request(method, path, body=body and json.dumps(body).encode(), headers=HEADERS)
            answer = connection.getresponse()
            text = answer.read()
        except (OSError, http.client.HTTPException) as error:
            self.failures.append(f"{time.time():.3f} {kind} {consumer}, sent at {began:.3f}: {error!r}")
            self.unknown.add(consumer)
            return False
        self.counts[f"{kind} {answer.status}"] += 1
        if answer.status not in (200, 204):
            self.failures.append(f"{time.time():.3f} {kind} {consumer}: {answer.status} {text[:300]!r}")
            self.unknown.add(consumer)
        elif kind == "claim":
            self.held.add(consumer)
            mine.append(consumer)
        elif kind == "release":
            self.held.discard(consumer)
        return not answer.will_close


def judge(load, database):
    """No request failed, and the tables hold what was acknowledged."""
    print("        " + ", ".join(f"{what}: {count}" for what, count in sorted(load.counts.items())), flush=True)
    assert not load.failures, f"{len(load.failures)} failed requests:\n" + "\n".join(load.failures[:8])
    assert min(load.counts["claim 204"], load.counts["release 204"], load.counts["read 200"]) > 50, "too few requests"
    ledger = Ledger(database)
    stored = {row[0] for row in ledger.query("SELECT DISTINCT consumer_id FROM allocations")}
    lost, kept = load.held - stored, stored - load.held
    assert not lost, f"{len(lost)} acknowledged claims are lost: {sorted(lost)[:3]}"
    assert not kept, f"{len(kept)} claims are stored that were released or never acknowledged: {sorted(kept)[:3]}"
    assert not (faults := ledger.faults() + ledger.gaps()), faults


class Balancer:
    """HAProxy with contrib/haproxy/placement.cfg, whose addresses are replaced."""

    def __init__(self, folder, backends):
        self.folder, self.port = folder, ports.free_port()
        text = (ROOT / "contrib/haproxy/placement.cfg").read_text()
        text, bound = re.subn(r"bind :8780", f"bind 127.0.0.1:{self.port}", text, count=1)
        for number, port in enumerate(backends, 1):
            text, found = re.subn(rf"(server placet{number}) \S+", rf"\1 127.0.0.1:{port}", text)
            assert bound and found == 1, "contrib/haproxy/placement.cfg has other lines than this test replaces"
        self.stats = folder / "haproxy.sock"
        text = text.replace("global\n", f"global\n    stats socket {self.stats} mode 600 level admin\n", 1)
        (folder / "haproxy.cfg").write_text(text)

    def __enter__(self):
        checked = subprocess.run(["haproxy", "-c", "-f", "haproxy.cfg"], cwd=self.folder, capture_output=True, text=True)
        assert checked.returncode == 0, checked.stdout + checked.stderr
        with open(self.folder / "haproxy.log", "wb") as log:
            self.process = subprocess.Popen(
                ["haproxy", "-db", "-f", "haproxy.cfg"], cwd=self.folder, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait(HANG_SECONDS)

    def servers(self):
        """The state of each server as HAProxy sees it."""
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as client:
            client.connect(str(self.stats))
            client.sendall(b"show stat\n")
            text = b"".join(iter(lambda: client.recv(65536), b"")).decode()
        rows = [line.split(",") for line in text.splitlines() if line.startswith("placet,placet")]
        return {row[1]: row[17] for row in rows}

    def wait_for(self, wanted, seconds=HANG_SECONDS):
        """Waits until HAProxy sees the servers so: a function of the states."""
        deadline = time.monotonic() + seconds
        while not wanted(states := self._states()):
            assert time.monotonic() < deadline, f"HAProxy sees {states} after {seconds} s"
            time.sleep(0.1)

    def _states(self):
        with contextlib.suppress(OSError):
            return self.servers()
        return {}


def all_up(states):
    return len(states) == 2 and all(state.startswith("UP") for state in states.values())


def behind_haproxy(engine, rounds, chance, binary):
    options = {"placet": {"drain_time": str(DRAIN_SECONDS)}}
    with contextlib.ExitStack() as stack:
        database = engine.create()
        services = []
        for _ in range(2):
            services.append(stack.enter_context(live.Service("placet", options, binary, database)))
        folder = pathlib.Path(tempfile.mkdtemp(prefix="placet-rolling-"))
        stack.callback(shutil.rmtree, folder, ignore_errors=True)
        balancer = stack.enter_context(Balancer(folder, [service.port for service in services]))
        balancer.wait_for(all_up)
        prepare(Rest(balancer.port))
        with Load(balancer.port, chance) as load:
            time.sleep(0.5)
            for _ in range(rounds):
                for service in services:
                    service.process.terminate()
                    assert service.process.wait(HANG_SECONDS) == 0, f"exit code {service.process.returncode}"
                    service.restart()
                    balancer.wait_for(all_up)
                    time.sleep(0.5)
            assert service_restarts(services) == 2 * rounds
        judge(load, database)


def service_restarts(services):
    """How often the processes have stopped and started, by their logs."""
    return sum((service.folder / "log").read_text(errors="replace").count("] stopped") for service in services)


def by_socket_activation(engine, rounds, chance, binary):
    database = engine.create()
    folder = pathlib.Path(tempfile.mkdtemp(prefix="placet-rolling-"))
    try:
        config = live.write_config(folder, {"placet": {"drain_time": "1"}}, database)
        listener = listening_socket()
        port = listener.getsockname()[1]
        command = [live.placet_binary(binary), "--config-file", config]
        with Supervisor(folder, command, live.clean_environment(), [listener]) as unit:
            unit.start()
            prepare(Rest(port))
            with Load(port, chance) as load:
                for _ in range(rounds):
                    time.sleep(0.5)
                    assert unit.stop() == 0, f"exit code {unit.process.returncode}\n{unit.log()[-1000:]}"
                    unit.start()
                time.sleep(0.5)
            judge(load, database)
            assert unit.stop() == 0
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def main():
    parser = command_line.parser(__doc__, "--binary", "--engine", "--seed")
    parser.set_defaults(engine="postgresql")
    parser.add_argument("--rounds", type=int, default=10 if FULL else 2, help="restarts of each process")
    arguments = parser.parse_args()
    print(f"seed {arguments.seed}", flush=True)
    tests, chance = TestCounts(), random.Random(arguments.seed)
    with engines.Engine(arguments.engine) as engine:
        rounds = f"{arguments.rounds} restarts of each process fail no request and lose no claim"
        name = f"two processes behind HAProxy on {arguments.engine}: {rounds}"
        if shutil.which("haproxy"):
            tests.step(name, behind_haproxy, engine, arguments.rounds, chance, arguments.binary)
        else:
            tests.skip(name, "needs Debian's haproxy")
        rounds = 2 * arguments.rounds
        tests.step(f"one process by socket activation on {arguments.engine}: {rounds} restarts fail no request and lose no"
                   " claim", by_socket_activation, engine, rounds, chance, arguments.binary)
    tests.finish()


if __name__ == "__main__":
    main()
