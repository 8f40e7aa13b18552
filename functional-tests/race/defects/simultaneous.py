"""Eight clients of two processes that send their requests simultaneously."""

import contextlib
import http.client
import json
import threading
import time
import uuid

from functional_tests.lib import sql_claims
from functional_tests.lib.patience import HANG_SECONDS
from functional_tests.lib.rest import Answer

CLIENTS = 8
# How a row is inserted that does not exist yet; the placeholder is its key column.
NEW_ROWS = {
    "consumers": "({}, project_id, user_id, generation) VALUES (?, 0, 0, 0)", "consumer_types": "({}) VALUES (?)"}
# How long rows are locked, and how long after the other requests the `later` ones are sent.
LOCK_SECONDS, LATER_DELAY_SECONDS = 0.6, 0.3


class Request:
    def __init__(self, method, path, body=None, later=False):
        self.method, self.path, self.later = method, path, later
        self.data = b"" if body is None else json.dumps(body).encode()

    def __str__(self):
        return f"{self.method} {self.path} {self.data.decode()}"


def new_uuid(rng):
    return str(uuid.UUID(int=rng.getrandbits(128), version=4))


def claim(consumer, allocations, generation=None, owner="race"):
    """PUT for one consumer; `allocations` is {provider: amount of VCPU}."""
    return Request("PUT", f"/allocations/{consumer}", body_of(allocations, generation, owner))


def body_of(allocations, generation=None, owner="race"):
    return {
        "allocations": {provider: {"resources": {"VCPU": amount}} for provider, amount in allocations.items()},
        "consumer_generation": generation, "consumer_type": owner.upper(), "project_id": owner, "user_id": owner}


def host(rest, rng, total):
    """Makes a provider with this total of VCPU."""
    provider = new_uuid(rng)
    rest.must("POST", "/resource_providers", {"name": provider, "uuid": provider})
    rest.must("PUT", f"/resource_providers/{provider}/inventories", {
        "resource_provider_generation": 0, "inventories": {"VCPU": {"total": total}}})
    return provider


@contextlib.contextmanager
def held(database, table, column, values):
    """A foreign transaction locks some rows for a moment, so that all requests that need them wait there.

    Rows that do not exist are inserted, and the insertion is rolled back.
    """
    with contextlib.closing(database.connect()) as connection:
        for statement in sql_claims.BEGIN[database.engine]:
            connection.execute(statement)
        if database.engine != "sqlite":  # there BEGIN IMMEDIATE has locked the whole database
            marks = ", ".join("?" * len(values))
            sql = f"SELECT id FROM {table} WHERE {column} IN ({marks}) FOR UPDATE"
            if not connection.execute(sql, values).fetchall():
                connection.execute(f"INSERT INTO {table} {NEW_ROWS[table].format(column)}", values)
        yield
        time.sleep(LOCK_SECONDS)
        connection.execute("ROLLBACK")


def send(requests, services, hold=None):
    """Sends all requests simultaneously, to the services in turn, over open connections; returns the answers in order.

    `hold` names rows, by table, column and values, that are locked for a moment. Requests that are `later` find them
    locked.
    """
    answers = [None] * len(requests)
    start = threading.Barrier(len(requests) + 1)

    def client(number, request, port):
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=HANG_SECONDS)
        headers = {"x-auth-token": "admin", "accept": "application/json", "content-type": "application/json",
                   "openstack-api-version": "placement latest"}
        try:
            connection.connect()
            start.wait(HANG_SECONDS)
            time.sleep(LATER_DELAY_SECONDS if request.later else 0)
            connection.request(request.method, request.path, body=request.data or None, headers=headers)
            response = connection.getresponse()
            answers[number] = Answer(response.status, response.getheaders(), response.read())
        finally:
            connection.close()

    threads = [threading.Thread(target=client, args=(n, request, services[n % len(services)].port))
               for n, request in enumerate(requests)]
    for thread in threads:
        thread.start()
    with held(services[0].database, *hold) if hold else contextlib.nullcontext():
        start.wait(HANG_SECONDS)
    for thread in threads:
        thread.join(2 * HANG_SECONDS)
    assert None not in answers, f"not answered: {[str(r) for r, a in zip(requests, answers) if a is None]}"
    return answers
