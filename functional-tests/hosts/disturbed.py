"""Cases of hosts.run with processes that a fault disturbs: a wrong clock, a lead of every process, a kill."""

import importlib.util
import pathlib
import random
import threading
import time

from functional_tests.hosts.cloud import all_show, cloud, host, stay
from functional_tests.leader.run import ROLES, WISH, WORKLOAD, leaders, the_leader
from functional_tests.lib.patience import becomes
from functional_tests.lib.rest import Rest

DAY = 86_400


def clock(seconds):
    """The environment of a process whose clock is some seconds ahead. Its steady clock is right, as in real life."""
    package = pathlib.Path(importlib.util.find_spec("libfaketime").origin).parent
    library = package / "vendor" / "libfaketime" / "src" / "libfaketime.so.1"
    return {"LD_PRELOAD": str(library), "FAKETIME": f"{seconds:+}", "DONT_FAKE_MONOTONIC": "1"}


def the_clock_of_a_leader_is_a_day_off(binary, engine, seed):
    for seconds in (DAY, -DAY):
        with cloud(engine, binary, (clock(seconds), {}, {})) as (running, agents):
            assert the_leader(running) is running[0], "the first process leads"
            stay(running, set())
            agents.silence(host(1))
            all_show(running, {host(1)})
            agents.speak(host(1))
            all_show(running, set())


def processes_that_all_lead_do_no_harm(binary, engine, seed):
    """With the mutant `all-lead` only the expected states of the commands keep the leaders from harm."""
    lead = {"PLACET_MUTANT": "all-lead"}
    with cloud(engine, binary, (lead, lead, lead)) as (running, agents):
        becomes("the number of leaders", len(running), lambda: len(leaders(running)))
        rest = Rest(running[0].port)
        rest.must("PUT", "/resource_classes/CUSTOM_PENDING")
        roles = [{**ROLES[0], "query": "resources=CUSTOM_PENDING:1"}]
        rest.must("PUT", WORKLOAD, {**WISH, "roles": roles})
        for number, taken in enumerate((2, 3, 4)):
            silent = host(number % 2)
            agents.silence(silent)
            all_show(running, {silent})
            generation = rest.must("GET", f"/resource_providers/{host(taken)}").json["generation"]
            rest.must("POST", f"/resource_providers/{host(taken)}/inventories", {
                "resource_class": "CUSTOM_PENDING", "resource_provider_generation": generation, "total": 4})
            becomes("the number of placed replicas", number + 1, lambda: rest.must("GET", WORKLOAD).json["placed"])
            agents.speak(silent)
            all_show(running, set())
            stay(running, set())
        for taken in (2, 3, 4):
            usages = rest.must("GET", f"/resource_providers/{host(taken)}/usages").json["usages"]
            assert usages["CUSTOM_PENDING"] == 1, usages


class Reporter(threading.Thread):
    """Reports a disk of a growing size for a new host, through a process by chance."""

    def __init__(self, number, ports, chance):
        super().__init__(daemon=True)
        self.host, self.disk = host(100 + number), host(200 + number)
        self.ports, self.chance, self.ended = ports, chance, threading.Event()
        self.sent = self.acknowledged = 0
        self.problem = None

    def run(self):
        while not self.ended.is_set():
            self.sent += 1
            rest = Rest(self.chance.choice(self.ports))
            body = {"holder": f"agent of {self.host}", "boot": "boot", "number": self.sent, "lease": DAY, "providers": [
                {"uuid": self.host, "name": f"root of {self.host}"},
                {"uuid": self.disk, "name": f"disk of {self.host}", "inventories": {"DISK_GB": {"total": self.sent}}}]}
            try:
                answer = rest("PUT", f"/v1/hosts/{self.host}/report", body)
            except OSError:
                time.sleep(0.1)
                continue
            if answer.status == 200:
                self.acknowledged = self.sent
            elif answer.status != 503:
                self.problem = answer
                return

    def check(self, process):
        """A report that was acknowledged is stored, or a later report, as a whole."""
        rest = Rest(process.port)
        stored = rest.must("GET", f"/resource_providers/{self.disk}/inventories/DISK_GB").json["total"]
        assert self.acknowledged <= stored <= self.sent, (self.acknowledged, stored, self.sent)
        assert rest.must("GET", f"/v1/hosts/{self.host}").json["health"] == "up"
        return stored


def killed_processes_keep_every_acknowledged_report(binary, engine, seed):
    chance = random.Random(seed)
    with cloud(engine, binary) as (running, agents):
        ports = [process.port for process in running]
        reporters = [Reporter(number, ports, random.Random(chance.random())) for number in range(4)]
        for reporter in reporters:
            reporter.start()
        for _ in range(5):
            time.sleep(chance.uniform(0.2, 1))
            killed = chance.choice(running)
            killed.kill()
            killed.restart()
        for reporter in reporters:
            reporter.ended.set()
            reporter.join()
            assert reporter.problem is None, reporter.problem
            assert reporter.acknowledged > 5, reporter.acknowledged
            shown = {reporter.check(process) for process in running}
            assert len(shown) == 1, f"{reporter.host}: the processes show {shown}"
