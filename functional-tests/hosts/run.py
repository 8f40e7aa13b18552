"""Hosts whose agents report: silent hosts, silent clouds, dead leaders, a database that is away.

    python -m functional_tests.hosts.run [--engine ENGINE] [--seed N] [--binary PATH] [--mutant all-lead] [CASE …]

Agents report for hosts through three processes on one database (on SQLite one process), with leases of a few seconds.
A host without reports must become unknown, and no other host may. After a process has shown that a host is unknown, no
claim of `/v1` may get the host, through any process, until the host reports again.
"""

import random
import threading
import time
import uuid

from functional_tests.hosts import disturbed
from functional_tests.hosts.agents import LEASE_SECONDS
from functional_tests.hosts.cloud import HOSTS, all_show, cloud, host, stay, unknown
from functional_tests.leader.run import the_leader
from functional_tests.lib import command_line, engines
from functional_tests.lib.patience import becomes, eventually
from functional_tests.lib.rest import KeptRest, Rest
from functional_tests.lib.servers import machine
from functional_tests.lib.test_counts import TestCounts

def a_silent_host_is_unknown_and_a_report_ends_it(binary, engine, seed):
    with cloud(engine, binary) as (running, agents):
        stay(running, set())
        agents.silence(host(1))
        all_show(running, {host(1)})
        for process in running:
            rest = Rest(process.port)
            shown = rest.must("GET", f"/v1/hosts/{host(1)}").json
            assert (shown["state"], shown["health"]) == ("up", "unknown"), shown
            answer = rest.must("GET", "/v1/candidates?resources=VCPU:1").json
            assert host(1) not in answer["provider_summaries"], answer
            nova = rest.must("GET", "/allocation_candidates?resources=VCPU:1").json
            assert host(1) in nova["provider_summaries"], "Nova has a heartbeat of its own"
        generation = Rest(running[0].port).must("GET", f"/resource_providers/{host(1)}").json["generation"]
        assert generation == 1, "the end of a lease moves no generation"
        agents.speak(host(1))
        all_show(running, set())
        stay(running, set())


def a_host_that_flaps_moves_no_generation(binary, engine, seed):
    """Nova's agent of the host writes with the generation that it knows, and is never refused."""
    with cloud(engine, binary) as (running, agents):
        rest = Rest(running[0].port)
        for total in range(3):
            agents.silence(host(4))
            all_show(running, {host(4)})
            written = rest.must("PUT", f"/resource_providers/{host(4)}/inventories", {
                "resource_provider_generation": 1 + total, "inventories": {"VCPU": {"total": 10_001 + total}}})
            assert written.json["resource_provider_generation"] == 2 + total, written
            agents.speak(host(4))
            all_show(running, set())
        assert rest.must("GET", f"/resource_providers/{host(4)}/traits").json["traits"] == []


def a_silent_cloud_stays_until_a_person_says_which_hosts_are_lost(binary, engine, seed):
    with cloud(engine, binary) as (running, agents):
        for number in range(3):
            agents.silence(host(number))
        leader = the_leader(running)

        def silent():
            text = Rest(leader.port)("GET", "/metrics").raw.decode()
            return [line for line in text.splitlines() if line.startswith("placet_silent_hosts ")]
        becomes("the metric", ["placet_silent_hosts 3"], silent)
        stay(running, set())
        assert "3 of 5 hosts that report fell silent at once" in leader.log(), leader.log_end()
        shown = Rest(running[0].port).must("GET", "/v1/hosts").json["hosts"]
        assert sum(it["overdue"] for it in shown) == 3, shown
        for number in range(2):
            Rest(running[0].port).must("PUT", f"/v1/providers/{host(number)}", {"generation": None, "state": "lost"})
        all_show(running, {host(number) for number in range(3)})


def a_dead_leader_ends_no_lease_and_its_successor_does(binary, engine, seed):
    with cloud(engine, binary) as (running, agents):
        leader = the_leader(running)
        agents.leave(leader.port)
        agents.silence(host(2))
        leader.kill()
        running.remove(leader)
        all_show(running, {host(2)})
        stay(running, {host(2)})


def a_database_that_was_away_makes_no_host_unknown(binary, engine, seed):
    with cloud(engine, binary) as (running, agents):
        stay(running, set())
        for node in engine.nodes:
            node.pause()
        time.sleep(2 * LEASE_SECONDS)
        for node in engine.nodes:
            node.resume()
        eventually("every process answers", lambda: all(
            Rest(process.port)("GET", "/v1/hosts").status == 200 for process in running))
        stay(running, set())


def no_claim_gets_a_host_after_its_unknown_was_shown(binary, engine, seed):
    """Claimants note when each claim was sent and which host it got; a watcher notes when it saw a host unknown."""
    chance = random.Random(seed)
    with cloud(engine, binary) as (running, agents):
        ended, granted, spans = threading.Event(), [], []

        def claim(port, seed):
            rest, chance = KeptRest(port), random.Random(seed)
            while not ended.is_set():
                body = {"consumers": [{"uuid": str(uuid.UUID(int=chance.getrandbits(128), version=4)), "project_id": "p",
                                       "user_id": "u", "query": "resources=VCPU:1", "rank": "random"}]}
                sent = time.monotonic()
                answer = rest("POST", "/v1/claims", body)
                if answer.status == 200:
                    for given in answer.json["consumers"]:
                        granted.extend((sent, of, port, time.monotonic()) for of in given["allocations"])
        threads = [threading.Thread(target=claim, args=(process.port, chance.random())) for process in running * 2]
        for thread in threads:
            thread.start()
        try:
            for _ in range(3):
                silent = host(chance.randrange(HOSTS))
                agents.silence(silent)
                eventually("a process shows it", lambda: any(silent in unknown(process) for process in running))
                seen = time.monotonic()
                time.sleep(2)
                spans.append((silent, seen, time.monotonic()))
                agents.speak(silent)
                all_show(running, set())
        finally:
            ended.set()
            for thread in threads:
                thread.join()
        assert len(granted) > 100, len(granted)
        for silent, seen, spoke in spans:
            wrong = [f"{at - seen:.3f} to {end - seen:.3f} s later, through the process at {port}"
                     for at, of, port, end in granted if of == silent and seen < at < spoke]
            assert not wrong, f"seed {seed}: {silent} was got after it was shown as unknown: {wrong}"
            before = sum(of == silent and at < seen for at, of, *_ in granted)
            assert before, f"no claim got {silent} before: the case shows nothing"


CASES = [a_silent_host_is_unknown_and_a_report_ends_it, a_silent_cloud_stays_until_a_person_says_which_hosts_are_lost,
         a_host_that_flaps_moves_no_generation, no_claim_gets_a_host_after_its_unknown_was_shown,
         disturbed.killed_processes_keep_every_acknowledged_report]
SERVER_CASES = [a_dead_leader_ends_no_lease_and_its_successor_does, a_database_that_was_away_makes_no_host_unknown,
                disturbed.the_clock_of_a_leader_is_a_day_off]


def chosen(options):
    """With the mutant every process leads, so no case may ask which process does."""
    if options.mutant:
        return [disturbed.processes_that_all_lead_do_no_harm]
    return CASES if options.engine == "sqlite" else CASES + SERVER_CASES


def main():
    parser = command_line.parser(__doc__, "--binary", "--mutant")
    parser.add_argument("--engine", choices=("sqlite", "postgresql", "mariadb", "galera"), default="sqlite")
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 32))
    parser.add_argument("cases", nargs="*", metavar="CASE", help="a part of the names of the cases to run")
    options = parser.parse_args()
    print(f"seed {options.seed}")
    tests = TestCounts()
    try:
        with engines.Engine(options.engine) as engine:
            tests.cases(chosen(options), options.cases, options.binary, engine, options.seed)
    except machine.Missing as missing:
        tests.skip(f"everything on {options.engine}", missing)
    tests.finish()


if __name__ == "__main__":
    main()
