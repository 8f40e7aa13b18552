"""Tests the options of `[placement_database]` that bound connections and retries, by the server's own session tables.

    python -m functional_tests.connection_pool.run [--binary PATH] [--engine postgresql|mariadb]
"""

import subprocess
import threading
import time

from functional_tests.lib import command_line, engines, live
from functional_tests.lib.patience import HANG_SECONDS, OPTIONS, eventually
from functional_tests.lib.rest import Rest
from functional_tests.lib.test_counts import TestCounts

HOST = "4e8e5957-649f-477b-9e5b-f1f75b21c03c"
CONCURRENT_REQUESTS = 8
COUNTING_LOOKS = 100
# The most series of looks, if a process that counts was not at rest.
COUNTING_TRIES = 3
AT_REST = 3  # the writer, the follower, a reader
SESSIONS = {
    "postgresql": "SELECT pid FROM pg_stat_activity WHERE datname = ? AND pid != pg_backend_pid()",
    "mariadb": "SELECT id FROM information_schema.processlist WHERE db = ? AND id != connection_id()",
}
WAITING = {
    "postgresql": SESSIONS["postgresql"] + " AND wait_event_type = 'Lock'",
    "mariadb": SESSIONS["mariadb"] + " AND state LIKE 'Waiting for table%'",
}
LOCK = {"postgresql": ("BEGIN", "LOCK TABLE allocations IN ACCESS EXCLUSIVE MODE"),
        "mariadb": ("LOCK TABLES allocations WRITE",)}
UNLOCK = {"postgresql": "COMMIT", "mariadb": "UNLOCK TABLES"}


def sessions(database, which=SESSIONS):
    return {row[0] for row in database.query(which[database.engine], [database.name])}


def ask(rest):
    return rest("GET", f"/resource_providers/{HOST}/usages").status


def bounded(binary, database, size, overflow):
    """At most max_pool_size + max_overflow requests wait in the database. The others get 503 after pool_timeout."""
    options = {"max_pool_size": str(size), "max_overflow": str(overflow), "pool_timeout": "1"}
    with live.Service("placet", {**OPTIONS, "placement_database": options}, binary, database) as service:
        rest = Rest(service.port)
        rest("POST", "/resource_providers", {"name": "host", "uuid": HOST})
        holder = database.connect()
        for statement in LOCK[database.engine]:
            holder.execute(statement)
        answers, most, readers = [], 0, size + overflow
        threads = [threading.Thread(target=lambda: answers.append(ask(rest))) for _ in range(CONCURRENT_REQUESTS)]
        for thread in threads:
            thread.start()

        def others_are_refused():
            nonlocal most
            most = max(most, len(sessions(database, WAITING)))
            return len(answers) == CONCURRENT_REQUESTS - readers and most == readers

        eventually(lambda: f"{readers} connections wait, and not {most}, and the others are refused: {answers}",
                   others_are_refused)
        time.sleep(1)  # there are no more
        most = max(most, len(sessions(database, WAITING)))
        holder.execute(UNLOCK[database.engine])
        holder.close()
        for thread in threads:
            thread.join()
    assert most == readers, f"{most} connections waited at the same time, expected {readers}"
    assert sorted(answers) == [200] * readers + [503] * (CONCURRENT_REQUESTS - readers), answers


def recycled(binary, database, seconds, is_replaced):
    """A connection older than connection_recycle_time is replaced at its next use."""
    options = {"max_pool_size": "1", "connection_recycle_time": str(seconds)}
    with live.Service("placet", {"placement_database": options}, binary, database) as service:
        rest = Rest(service.port)
        assert ask(rest) == 200
        before = sessions(database)
        time.sleep(1.3)
        assert ask(rest) == 200
        time.sleep(0.3)
        gone = before - sessions(database)
    assert len(gone) == (1 if is_replaced else 0), f"{gone} of {before} were replaced"


def found_u7_counting(binary, database):
    """An idle process that counts replicas every second holds the connections of any idle process."""
    options = {"placet": {"census_interval": "1", "comparison_interval": "0", "pending_interval": "0"}}
    with live.Service("placet", options, binary, database) as service:
        rest = Rest(service.port)
        roles = [{"name": "r", "count": 3, "query": "resources=VCPU:1"}]
        rest.must("PUT", f"/v1/workloads/{HOST}", {"generation": None, "name": "w", "atomic": False, "roles": roles})
        counted = 'placet_replicas{state="pending"} 3'
        eventually(lambda: f"no metric {counted}", lambda: counted in scrape(service.port))
        looks = []
        while len(looks) < COUNTING_TRIES and (not looks or looks[-1] > AT_REST):
            # A second reader may have been needed: on a busy machine a count meets the write, or a slow count.
            eventually("the process is at rest", lambda: len(sessions(database)) <= AT_REST)
            looks.append(most_sessions(database))
        rest.must("DELETE", f"/v1/workloads/{HOST}")
    assert looks[-1] <= AT_REST, f"{looks} connections"


def most_sessions(database):
    """The most sessions of several looks at a process that counts."""
    most = 0
    for _ in range(COUNTING_LOOKS):
        most = max(most, len(sessions(database)))
        time.sleep(0.05)
    return most


def scrape(port):
    return Rest(port)("GET", "/metrics").raw.decode()


def start(binary, folder, database, options):
    more = {"placement_database": options | {"sync_on_startup": "false"}}
    path = live.write_config(folder, more, database)
    return subprocess.Popen(
        [str(live.placet_binary(binary)), "--config-file", str(path), "--bind", "127.0.0.1:0"],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=folder, env=live.clean_environment())


def given_up(binary, engine, database):
    process = start(binary, engine.folder, database, {"max_retries": "3", "retry_interval": "1"})
    began = time.monotonic()
    _, log = process.communicate(timeout=HANG_SECONDS)
    retries = log.count("retrying in 1s")
    assert process.returncode == 1 and retries == 2, f"exit {process.returncode} after {retries} retries:\n{log}"
    assert time.monotonic() - began >= 2, "placet did not wait between the retries"


def never_given_up(binary, engine, database):
    process = start(binary, engine.folder, database, {"max_retries": "-1", "retry_interval": "1"})
    try:
        time.sleep(3)
        assert process.poll() is None, process.stderr.read()
        engine.nodes[0].restart()
        assert "listens on" in process.stdout.readline()
    finally:
        process.kill()
        process.wait()


def main():
    parser = command_line.parser(__doc__, "--binary")
    parser.add_argument("--engine", choices=tuple(LOCK), default="postgresql")
    arguments = parser.parse_args()
    binary, tests = arguments.binary, TestCounts()
    with engines.Engine(arguments.engine) as engine:
        database = engine.create()
        tests.step("max_pool_size and max_overflow", bounded, binary, database, 2, 1)
        tests.step("max_pool_size alone", bounded, binary, database, 4, 0)
        tests.step("connection_recycle_time", recycled, binary, database, 1, True)
        tests.step("connection_recycle_time that has not passed", recycled, binary, database, 3600, False)
        tests.step("connection_recycle_time of 0", recycled, binary, database, 0, True)
        tests.step("found u7: connections of a process that counts", found_u7_counting, binary, database)
        engine.nodes[0].stop()
        tests.step("max_retries and retry_interval", given_up, binary, engine, database)
        tests.step("max_retries of -1", never_given_up, binary, engine, database)
    tests.finish()


if __name__ == "__main__":
    main()
