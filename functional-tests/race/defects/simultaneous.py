"""Eight clients of two processes, who send their requests in the same moment."""

import contextlib
import http.client
import json
import threading
import time
import uuid

from functional_tests.lib import sql_claims
from functional_tests.lib.rest import Answer

CLIENTS = 8
SECONDS = 60
# What a row is made of that nobody has yet; the place is for the column by which it is known.
NEW_ROWS = {"consumers": "({}, project_id, user_id, generation) VALUES (?, 0, 0, 0)", "consumer_types": "({}) VALUES (?)"}
# How long rows are held, and how long after the others those come who are to find them held.
HELD_SECONDS, LATER_SECONDS = 0.6, 0.3


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
    """A new provider with so much of VCPU."""
    provider = new_uuid(rng)
    rest.must("POST", "/resource_providers", {"name": provider, "uuid": provider})
    rest.must("PUT", f"/resource_providers/{provider}/inventories", {
        "resource_provider_generation": 0, "inventories": {"VCPU": {"total": total}}})
    return provider


@contextlib.contextmanager
def held(database, table, column, values):
    """Another program has some rows for a moment, so that whoever wants them meets the others there.

    What is not there is made, and unmade.
    """
    with contextlib.closing(database.connect()) as connection:
        for statement in sql_claims.BEGIN[database.engine]:
            connection.execute(statement)
        if database.engine != "sqlite":  # whose one lock we have
            marks = ", ".join("?" * len(values))
            sql = f"SELECT id FROM {table} WHERE {column} IN ({marks}) FOR UPDATE"
            if not connection.execute(sql, values).fetchall():
                connection.execute(f"INSERT INTO {table} {NEW_ROWS[table].format(column)}", values)
        yield
        time.sleep(HELD_SECONDS)
        connection.execute("ROLLBACK")


def send(requests, services, hold=None):
    """Sends all at once, to the services in turn, over connections that stand already; each one's answer, in order.

    `hold` names rows, by table, column and values, that are held meanwhile: those that come `later` find them held.
    """
    answers = [None] * len(requests)
    start = threading.Barrier(len(requests) + 1)

    def client(number, request, port):
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=SECONDS)
        headers = {"x-auth-token": "admin", "accept": "application/json", "content-type": "application/json",
                   "openstack-api-version": "placement latest"}
        try:
            connection.connect()
            start.wait(SECONDS)
            time.sleep(LATER_SECONDS if request.later else 0)
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
        start.wait(SECONDS)
    for thread in threads:
        thread.join(2 * SECONDS)
    assert None not in answers, f"not answered: {[str(r) for r, a in zip(requests, answers) if a is None]}"
    return answers
