"""A cloud of few hosts, whose agents report through all processes on one database."""

import contextlib
import time

from functional_tests.hosts.agents import LEASE_SECONDS, Agents
from functional_tests.lib import live
from functional_tests.lib.patience import becomes, eventually
from functional_tests.lib.rest import Rest

HOSTS = 5
# How long nothing may happen: as long as a lease, the watch of a new leader, and some looks.
STAYS_SECONDS = 2 * LEASE_SECONDS + 3


def host(number):
    return f"{number:08}-0000-4000-8000-00000000a057"


@contextlib.contextmanager
def cloud(engine, binary, environments=({}, {}, {})):
    """The processes, each with further variables of the environment, and agents that report through all of them."""
    database = engine.create()
    count = 1 if engine.kind == "sqlite" else 3
    with contextlib.ExitStack() as stack:
        stack.callback(engine.drop, database)
        running = [stack.enter_context(live.Service(
            "placet", {}, binary, engine.at(database, number % max(1, len(engine.nodes))), environment=environment))
            for number, environment in enumerate(environments[:count])]
        rest = Rest(running[0].port)
        for number in range(HOSTS):
            rest.must("POST", "/resource_providers", {"name": f"host{number}", "uuid": host(number)})
            rest.must("PUT", f"/resource_providers/{host(number)}/inventories", {
                "resource_provider_generation": 0, "inventories": {"VCPU": {"total": 10_000}}})
        agents = stack.enter_context(Agents([process.port for process in running], [host(number) for number in range(HOSTS)]))
        eventually("every host has reported", lambda: len(rest.must("GET", "/v1/hosts").json["hosts"]) == HOSTS)
        yield running, agents


def unknown(process):
    """The hosts that a process shows as unknown."""
    hosts = Rest(process.port).must("GET", "/v1/hosts?health=unknown").json["hosts"]
    return {shown["uuid"] for shown in hosts}


def all_show(running, expected):
    for process in running:
        becomes("the unknown hosts", expected, lambda process=process: unknown(process))


def stay(running, expected):
    """No process shows other unknown hosts for a while."""
    end = time.monotonic() + STAYS_SECONDS
    while time.monotonic() < end:
        for process in running:
            assert unknown(process) == expected, (unknown(process), expected)
        time.sleep(0.2)
