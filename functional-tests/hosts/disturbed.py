"""Cases of hosts.run with processes that a fault disturbs: a wrong clock, and a lead of every process."""

import importlib.util
import pathlib

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
