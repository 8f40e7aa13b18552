"""One of three processes on a database leads, and is replaced when it stops.

    python -m functional_tests.leader.run [--engine postgresql|mariadb|galera] [--binary PATH] [CASE …]

The metric `placet_leader` says which process leads. A leader is killed, paused, stopped by SIGTERM, and cut off by a
restart of the server. Pending replicas, which only the leader places, show that the next leader works.
"""

import contextlib
import re
import signal
import time

from functional_tests.lib import command_line, engines, live
from functional_tests.lib.patience import becomes, eventually
from functional_tests.lib.rest import Rest
from functional_tests.lib.servers import machine
from functional_tests.lib.test_counts import TestCounts

PROCESSES = 3
LEADER = re.compile(r"^placet_leader (\d)$", re.MULTILINE)
WORKLOAD = "/v1/workloads/6f000000-0000-4000-8000-000000000001"
ROLES = [{"name": "member", "count": 100, "query": "resources=VCPU:1"}]
WISH = {"generation": None, "name": "db", "atomic": False, "project_id": "p", "user_id": "u", "roles": ROLES}
# As in src/db/writer/election.rs. The last renewal of a leader that stops was at most an interval ago.
TERM_SECONDS, INTERVAL_SECONDS = 10, 3


@contextlib.contextmanager
def processes(engine, binary):
    """Processes on one database, of which one leads."""
    database = engine.create()
    options = {"placet": {"pending_interval": "1"}}
    with contextlib.ExitStack() as stack:
        stack.callback(engine.drop, database)
        started = [stack.enter_context(live.Service("placet", options, binary, engine.at(database, number % len(engine.nodes))))
                   for number in range(PROCESSES)]
        the_leader(started)
        yield started


def leaders(running):
    """The processes that say that they lead."""
    def leads(process):
        return LEADER.search(Rest(process.port)("GET", "/metrics").raw.decode())[1] == "1"
    return [process for process in running if leads(process)]


def the_leader(running):
    """Waits until one of the processes leads, and returns it."""
    eventually("one process leads", lambda: len(leaders(running)) == 1)
    return leaders(running)[0]


def add_host(rest, number):
    uuid = f"{number:08}-0000-4000-8000-000000000000"
    rest.must("POST", "/resource_providers", {"name": f"host{number}", "uuid": uuid})
    rest.must("PUT", f"/resource_providers/{uuid}/inventories", {
        "resource_provider_generation": 0, "inventories": {"VCPU": {"total": 4}}})


def works(running, number):
    """A host that comes gets a pending replica, without a request."""
    rest = Rest(running[0].port)
    add_host(rest, number)
    if number == 1:
        assert rest.must("PUT", WORKLOAD, WISH).json["placed"] == 1
    becomes("the number of placed replicas", number, lambda: rest.must("GET", WORKLOAD).json["placed"])


def a_killed_leader_is_replaced(binary, engine):
    with processes(engine, binary) as running:
        works(running, 1)
        for number in (2, 3):
            old = the_leader(running)
            old.kill()
            running.remove(old)
            began = time.monotonic()
            new = the_leader(running)
            print(f"replaced after {time.monotonic() - began:.1f} s, at most {TERM_SECONDS + INTERVAL_SECONDS} s are meant")
            assert new is not old
            works(running, number)


def a_paused_leader_is_replaced_and_leads_no_longer(binary, engine):
    with processes(engine, binary) as running:
        works(running, 1)
        old = the_leader(running)
        others = [process for process in running if process is not old]
        old.signal(signal.SIGSTOP)
        new = the_leader(others)
        works(others, 2)
        old.signal(signal.SIGCONT)
        for _ in range(20):
            assert leaders(running) == [new], "the process that was paused leads no longer"
            time.sleep(0.1)
        works(running, 3)


def a_leader_that_is_stopped_gives_its_lead_away(binary, engine):
    with processes(engine, binary) as running:
        old = the_leader(running)
        # Right after a renewal the term would last for most of its time.
        assert old.stop() == 0
        running.remove(old)
        row = running[0].database.query("SELECT holder, term FROM placet_leader")
        the_leader(running)
        works(running, 1)
        after = running[0].database.query("SELECT holder, term FROM placet_leader")
        assert (after[0][0] != row[0][0]) == (after[0][1] > row[0][1]), (row, after)
        assert "This process leads now" in the_leader(running).log()


def one_process_leads_after_a_restart_of_the_server(binary, engine):
    with processes(engine, binary) as running:
        works(running, 1)
        for node in engine.nodes[:1]:
            node.restart()
        works(running, 2)
        the_leader(running)


CASES = [a_killed_leader_is_replaced, a_paused_leader_is_replaced_and_leads_no_longer,
         a_leader_that_is_stopped_gives_its_lead_away, one_process_leads_after_a_restart_of_the_server]


def main():
    parser = command_line.parser(__doc__, "--binary")
    parser.add_argument("--engine", choices=("postgresql", "mariadb", "galera"), default="postgresql")
    parser.add_argument("cases", nargs="*", metavar="CASE", help="a part of the names of the cases to run")
    options = parser.parse_args()
    tests = TestCounts()
    try:
        with engines.Engine(options.engine) as engine:
            tests.cases(CASES, options.cases, options.binary, engine)
    except machine.Missing as missing:
        tests.skip(f"everything on {options.engine}", missing)
    tests.finish()


if __name__ == "__main__":
    main()
