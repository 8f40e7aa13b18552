"""Sends a client's requests to the processes, and records each with its outcome."""

import http.client
import json
import time

from functional_tests.chaos import topology
from functional_tests.chaos.history import OK, REFUSED, ROOM, UNKNOWN
from functional_tests.lib.patience import HANG_SECONDS

ANSWER_TIMEOUT_SECONDS = HANG_SECONDS  # a request that is abandoned in flight has an unknown outcome


class RequestRecorder:
    def __init__(self, group, chance):
        self.group, self.chance, self.history = group, chance, group.history
        self.connections = {}
        self.lacks_capacity = False  # whether a claim was refused for lack of capacity

    def service(self, other_than=None):
        """One of the processes, and if there are several, not `other_than`."""
        services = [it for it in self.group.services if it is not other_than]
        return self.chance.choice(services or self.group.services)

    # --- writes: the operation --------------------------------------------------------------------

    def put(self, kind, consumer, holds, generation, wiped=(), service=None):
        op = self.history.begin(kind, sets={consumer: holds}, expects={consumer: generation},
                                touches=[*holds, *wiped])
        self.ask(op, "PUT", f"/allocations/{consumer}", topology.body(holds, generation), service=service)
        return op

    def post(self, kind, sets, expects, touches):
        op = self.history.begin(kind, sets=sets, expects=expects, touches=sorted(touches))
        self.ask(op, "POST", "/allocations", {c: topology.body(holds, expects[c]) for c, holds in sets.items()})
        return op

    def delete(self, consumer):
        op = self.history.begin("delete", sets={consumer: {}})
        self.ask(op, "DELETE", f"/allocations/{consumer}")
        return op

    def resize_to(self, provider, total, generation):
        """Sets a total, by a PUT of all inventories of the provider or of the single one."""
        op = self.history.begin("resize", touches=[provider])
        path, sent = f"/resource_providers/{provider}/inventories", {"resource_provider_generation": generation}
        if self.chance.random() < 0.5:
            return self.ask(op, "PUT", path, {**sent, "inventories": {"VCPU": {"total": total}}})
        return self.ask(op, "PUT", f"{path}/VCPU", {**sent, "total": total})

    # --- reads: what they saw, or None without an answer ------------------------------------------

    def read(self, consumer):
        """What the consumer holds, and its generation."""
        op = self.history.begin("read")
        answer = self.ask(op, "GET", f"/allocations/{consumer}", reads=True)
        if answer is None:
            return None
        holds = {provider: found["resources"] for provider, found in answer["allocations"].items()}
        op.sees = {f"consumer:{consumer}": (holds, answer.get("consumer_generation"))}
        return [holds, answer.get("consumer_generation")]

    def read_generation(self, provider):
        """The provider's generation."""
        op = self.history.begin("read generation")
        answer = self.ask(op, "GET", f"/resource_providers/{provider}", reads=True)
        if answer is None:
            return None
        op.sees = {f"provider:{provider}": answer["generation"]}
        return answer["generation"]

    def read_usages(self, provider):
        op = self.history.begin("usages")
        answer = self.ask(op, "GET", f"/resource_providers/{provider}/usages", reads=True)
        if answer:
            op.sees = {f"provider:{provider}": answer["resource_provider_generation"],
                       f"usage:{provider}": answer["usages"]}

    def candidates(self, query, service=None):
        """Reads usages, which come from the snapshot alone."""
        op = self.history.begin("candidates")
        answer = self.ask(op, "GET", f"/allocation_candidates?{query}", reads=True, service=service)
        for provider, summary in (answer or {"provider_summaries": {}})["provider_summaries"].items():
            if self.group.is_checked(provider):
                op.sees[f"usage:{provider}"] = {name: it["used"] for name, it in summary["resources"].items()}

    def list(self, query, service=None):
        """Reads generations, which come from the snapshot alone."""
        op = self.history.begin("list")
        answer = self.ask(op, "GET", f"/resource_providers?{query}", reads=True, service=service)
        for found in (answer or {"resource_providers": []})["resource_providers"]:
            if self.group.is_checked(found["uuid"]):
                op.sees[f"provider:{found['uuid']}"] = found["generation"]

    # --- all requests -----------------------------------------------------------------------------

    def ask(self, op, method, path, sent=None, reads=False, service=None):
        """Sends a request to one of the processes and records its outcome; returns a read's answer, or None."""
        service = service or self.service()
        try:
            status, raw = self.send(service, method, path, sent)
        except (OSError, http.client.HTTPException) as error:
            self.connections.pop(service, None)
            if reads or isinstance(error, ConnectionRefusedError):  # nothing was changed
                op.kind, op.outcome = f"{op.kind}, unanswered", REFUSED
            op.answer = repr(error)[:200]
            time.sleep(self.chance.uniform(0, 0.1))
            return None
        op.end(service.outcome(status, raw), f"{service.port} {status} {raw}" if status >= 300 else str(service.port))
        self.lacks_capacity = self.lacks_capacity or "capacity" in raw
        if status == 409 and "would exceed the capacity" in raw and service.kind == "placet":
            op.refusal = ROOM
        if reads and (status >= 500 or op.outcome == UNKNOWN):
            op.outcome = REFUSED
        if status not in service.expected:
            self.group.wrong.append(f"{method} {path} {sent}: {status} {raw[:300]}")
        return json.loads(raw) if reads and op.outcome == OK else None

    def send(self, service, method, path, sent, timeout=ANSWER_TIMEOUT_SECONDS):
        connection = self.connections.get(service)
        if connection is None or timeout != ANSWER_TIMEOUT_SECONDS:
            connection = http.client.HTTPConnection("127.0.0.1", service.port, timeout=timeout)
        if timeout == ANSWER_TIMEOUT_SECONDS:
            self.connections[service] = connection
        try:
            connection.request(method, path, sent and json.dumps(sent), {
                "x-auth-token": "admin", "openstack-api-version": "placement 1.39", "content-type": "application/json"})
            response = connection.getresponse()
            return response.status, response.read().decode("utf-8", "replace")
        except BaseException:
            connection.close()
            raise
