"""Measures what reports of hosts cost: beside as many reads, and for claims at the same time.

    python -m benches.compare.host_reports BINARY [--engine E] [--hosts N] [--rounds N]

BINARY is a binary of the profile dist. Each host reports every 20 seconds, over kept connections. A round has four
spans of 20 seconds: reports alone, as many `GET /resource_providers/{uuid}` alone, claims and searches without reports,
and claims and searches beside reports. The processor time is that of placet and of the server. The first span of every
kind is not counted.
"""

import asyncio
import json
import multiprocessing
import statistics
import time

from benches.compare.bulk_reads import arguments
from benches.compare.foreground import measured, print_ratios
from benches.compare.interleaved import server
from benches.compare.process_usage import cpu_seconds
from benches.compare.sizing import prepare
from benches.compare.systems import Placet

CONSUMERS = 20  # of each host
INTERVAL_SECONDS = 20
CONNECTIONS = 500
# The number of transactions that wrote.
WRITES = {"postgresql": "SELECT pg_snapshot_xmax(pg_current_snapshot())::text::bigint",
          "mariadb": "SELECT SUM(variable_value) FROM information_schema.global_status "
                     "WHERE variable_name IN ('COM_UPDATE', 'COM_UPDATE_MULTI')"}


def report(uuid, number):
    body = json.dumps({"holder": f"agent of {uuid}", "boot": "boot", "number": number, "lease": 3 * INTERVAL_SECONDS}).encode()
    return f"PUT /v1/hosts/{uuid}/report", body


def read(uuid, _number):
    return f"GET /resource_providers/{uuid}", b""


class Agents:
    """Requests for each host once in an interval, evenly over the interval, until `stop` is set."""

    def __init__(self, uuids, request, rounds=None):
        self.uuids, self.request, self.rounds = uuids, request, rounds

    def __call__(self, port, stop):
        asyncio.run(self._run(port, stop))

    async def _run(self, port, stop):
        begin = time.monotonic()
        shares = [self.uuids[at::CONNECTIONS] for at in range(min(CONNECTIONS, len(self.uuids)))]
        await asyncio.gather(*(self._send(port, stop, begin, at, share) for at, share in enumerate(shares)))

    async def _send(self, port, stop, begin, at, uuids):
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        number = 0
        while self.rounds is None or number < self.rounds * len(uuids):
            due = begin + INTERVAL_SECONDS * (number + at / CONNECTIONS) / len(uuids)
            await asyncio.sleep(max(0, due - time.monotonic()))
            if stop.is_set():
                break
            line, body = self.request(uuids[number % len(uuids)], time.time_ns())
            head = (f"{line} HTTP/1.1\r\nHost: placet\r\nX-Auth-Token: admin\r\nContent-Type: application/json\r\n"
                    f"OpenStack-API-Version: placement 1.39\r\nContent-Length: {len(body)}\r\n\r\n")
            writer.write(head.encode() + body)
            await _answer(line, reader)
            number += 1
        writer.close()


async def _answer(line, reader):
    head = (await reader.readuntil(b"\r\n\r\n")).decode()
    if not head.startswith("HTTP/1.1 200"):
        raise RuntimeError(f"{line} was answered with {head}")
    length = next(row for row in head.lower().splitlines() if row.startswith("content-length:"))
    await reader.readexactly(int(length.partition(":")[2]))


def alone(service, engine, database, agents):
    """The processor time and the writing transactions in an interval, by second."""
    processes = [service, *engine.nodes]
    stop = multiprocessing.Event()
    client = multiprocessing.Process(target=agents, args=(service.port, stop), daemon=True)
    client.start()
    time.sleep(1)
    before = cpu_seconds(processes), writes(database)
    time.sleep(INTERVAL_SECONDS)
    after = cpu_seconds(processes), writes(database)
    stop.set()
    client.join()
    return [(now - then) / INTERVAL_SECONDS for then, now in zip(before, after, strict=True)]


def writes(database):
    query = WRITES.get(database.engine)
    return int(database.query(query)[0][0]) if query else 0


def main():
    chosen = arguments(__doc__, rounds=5)
    with server(chosen.engine) as engine:
        database = engine.create()
        cloud = prepare(database, chosen.shape, chosen.hosts, CONSUMERS, chosen.binary)
        uuids = [host.root.uuid for host in cloud.hosts]
        reports, reads = Agents(uuids, report), Agents(uuids, read)
        with Placet(database, chosen.binary) as service:
            # The first report of a host is a write.
            Agents(uuids, report, rounds=1)(service.port, multiprocessing.Event())
            costs, rounds = [], []
            for number in range(chosen.rounds + 1):
                cost = [alone(service, engine, database, agents) for agents in (reports, reads)]
                sides = (None, reports) if number % 2 == 0 else (reports, None)
                found = {side: measured(service, INTERVAL_SECONDS, side) for side in sides}
                if number > 0:
                    costs.append(cost)
                    rounds.append((found[None], found[reports]))
    print(f"{chosen.hosts} hosts, {chosen.engine}: processor time of a second, in ms")
    for name, at in (("reports", 0), ("reads", 1)):
        print(f"{name}: {1000 * statistics.median(cost[at][0] for cost in costs):.1f}")
    print(f"ratio: {statistics.median(reports[0] / reads[0] for reports, reads in costs):.2f}")
    print(f"transactions that write, a second: {statistics.median(reports[1] for reports, _ in costs):.1f}")
    print_ratios(("without reports", "beside reports"), rounds)


if __name__ == "__main__":
    main()
