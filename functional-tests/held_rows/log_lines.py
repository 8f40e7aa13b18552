"""The log, the metrics and refused callers about held rows, compared with each other and with the lock."""

import concurrent.futures
import re
import time
import uuid

from functional_tests.held_rows.holders import lock_rows
from functional_tests.lib import live
from functional_tests.lib.patience import eventually
from functional_tests.lib.rest import Rest

COMMIT_TIMEOUT_SECONDS = 4
HELD_SECONDS = 9
CLAIMS = 3
# How late a probe may be, on a busy machine.
LATE_SECONDS = 1.5
HELD = re.compile(r"WARN .* Another transaction has locked rows for ([\d.]+) s: (.*)\. Requests that wait for locked rows: "
                  r"(\d+)\. Find it")
FREE = re.compile(r"INFO .* Rows that another transaction had locked are free again, after ([\d.]+) s: (.*)")
PARKED = re.compile(r"^placet_writer_parked (\d+)$", re.MULTILINE)


def claim(host):
    return {"allocations": {host: {"resources": {"VCPU": 1}}}, "project_id": "p", "user_id": "u",
            "consumer_generation": None, "consumer_type": "INSTANCE"}


class HeldRowLog:
    """A provider and a consumer whose rows another program locks, and requests that need them."""

    def __init__(self, placet, database):
        self.placet, self.database, self.rest = placet, database, Rest(placet.port)
        self.host, self.consumer = str(uuid.uuid4()), str(uuid.uuid4())

    def prepare(self):
        self.rest.must("POST", "/resource_providers", {"name": "held-host", "uuid": self.host})
        inventory = {"resource_provider_generation": 0, "inventories": {"VCPU": {"total": 100}}}
        self.rest.must("PUT", f"/resource_providers/{self.host}/inventories", inventory)
        self.rest.must("PUT", f"/allocations/{self.consumer}", claim(self.host))

    def parked(self):
        return int(PARKED.search(self.rest("GET", "/metrics").raw.decode())[1])

    def hold(self, table, uuids):
        """Holds the row while claims wait for it. Returns their answers, how many the metric counted, and for how long
        the row was locked."""
        rest = Rest(self.placet.port)
        requests = [("PUT", f"/allocations/{uuid.uuid4()}", claim(self.host)) for _ in range(CLAIMS)]
        if table == "consumers":
            requests = [("DELETE", f"/allocations/{self.consumer}", None)] * CLAIMS
        connection = self.database.connect()
        with concurrent.futures.ThreadPoolExecutor(CLAIMS) as pool:
            lock_rows(connection, table, uuids)
            locked = time.monotonic()
            sent = [pool.submit(rest, *request) for request in requests]
            eventually("the log names the held row", lambda: HELD.search(self.log()))
            counted = self.parked()
            time.sleep(max(0, HELD_SECONDS - (time.monotonic() - locked)))
            before = self.log()
            assert not FREE.search(before), f"free again before it was: {before[-2000:]}"
            connection.execute("ROLLBACK")
            took = time.monotonic() - locked
            answers = [each.result() for each in sent]
        connection.close()
        eventually("the log says that the row is free", lambda: FREE.search(self.log()))
        return answers, counted, took

    def log(self):
        return self.placet.log()[self.seen:]

    def check(self, table, uuids, described):
        self.seen = len(self.placet.log())
        answers, counted, took = self.hold(table, uuids)
        log = self.log()
        (held,), (free,) = HELD.findall(log), FREE.findall(log)
        assert held[1] == described and free[1] == described, f"the rows are {described}, and the log has {held} {free}"
        assert int(held[2]) == counted == CLAIMS, f"{held[2]} wait by the log, {counted} by the metric, {CLAIMS} were sent"
        assert 1 <= float(held[0]) < 1 + LATE_SECONDS, held
        assert abs(float(free[0]) - took) < LATE_SECONDS, f"free after {free[0]} s by the log, {took:.2f} s by the lock"
        for answer in answers:
            assert answer.status == 503, answer
            detail = answer.json["errors"][0]["detail"]
            assert f"Another transaction has locked {described}. Nothing was changed" in detail, detail
        assert "too slow" not in log and self.parked() == 0, log


def found_n4_log_lines(options, database):
    """The log names the rows with uuids and names, counts the requests as the metric does, and says that rows are free
    when they are."""
    settings = {"placet": {"commit_timeout": str(COMMIT_TIMEOUT_SECONDS)}}
    with live.Service("placet", settings, options.binary, database=database) as placet:
        held = HeldRowLog(placet, database)
        held.prepare()
        held.check("resource_providers", [held.host], f"provider {held.host} (held-host)")
        held.check("consumers", [held.consumer], f"consumer {held.consumer}")
