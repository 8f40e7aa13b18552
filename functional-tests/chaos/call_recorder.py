"""Sends calls (`POST /v1/claims`) and records each as one operation. A call with an id is repeated until answered."""

import http.client
import json
import time
import uuid
from dataclasses import dataclass, field

from functional_tests.chaos.history import CONFLICT, OK, REFUSED, ROOM, UNKNOWN
from functional_tests.chaos.request_recorder import ANSWER_TIMEOUT_SECONDS, RequestRecorder

REPEAT_TIMEOUT_SECONDS = 30  # until a call with an id is no longer repeated
ABANDONED = 0.3  # the part of the first attempts with an id whose client does not wait for the answer
ABANDONED_SECONDS = (0.001, 0.1)
REFUSAL_CODES = {"placet.no_room", "placet.other_refused"}  # of consumers with candidates


@dataclass
class Call:
    """The consumers of a call, each with the generation that it must have, and what it may get in order of
    preference.
    """

    expects: dict
    places: dict
    queries: dict = field(default_factory=dict)  # consumer -> its query, instead of candidates
    id: str = None

    def body(self):
        return ({"id": self.id} if self.id else {}) | {"consumers": [
            {"uuid": consumer, "generation": expected, "project_id": "chaos", "user_id": "chaos", "type": "INSTANCE"}
            | (self.queries.get(consumer) or {"candidates": [candidate(place) for place in self.places[consumer]]})
            for consumer, expected in self.expects.items()]}

    def operation(self):
        """What the history knows of it before the answer."""
        return {"sets": {consumer: places[0] for consumer, places in self.places.items()}, "choices": dict(self.places),
                "expects": dict(self.expects),
                "touches": [provider for places in self.places.values() for provider in {p for it in places for p in it}]}


def candidate(place):
    return {"allocations": {provider: {"resources": amounts} for provider, amounts in place.items()}}


class CallRecorder(RequestRecorder):
    def call(self, kind, call):
        """Sends a call; returns its operation."""
        op = self.history.begin(kind, **call.operation())
        timeout, may_be_done, service = ANSWER_TIMEOUT_SECONDS, False, None
        if call.id and self.chance.random() < ABANDONED:
            timeout = self.chance.uniform(*ABANDONED_SECONDS)
        while True:
            service = self.service(other_than=service)
            outcome, status, raw = self.attempt(service, "/v1/claims", call, timeout)
            if outcome == OK:
                self.granted(op, call, raw)
                return op
            may_be_done = may_be_done or outcome == UNKNOWN
            is_answered = status is not None and status < 500
            if not call.id or is_answered or time.monotonic() > op.began + REPEAT_TIMEOUT_SECONDS:
                break
            timeout = ANSWER_TIMEOUT_SECONDS
            time.sleep(self.chance.uniform(0, 0.1))
        op.answer = f"{service.port} {status} {raw}"[:200]
        if not may_be_done:
            self.refused(op, call, status, raw)
        return op

    def attempt(self, service, path, call, timeout=ANSWER_TIMEOUT_SECONDS):
        """Sends a call once; returns its outcome, and the status and the body of the answer or None and the error."""
        try:
            status, raw = self.send(service, "POST", path, call.body(), timeout)
        except (OSError, http.client.HTTPException) as error:
            self.connections.pop(service, None)
            return REFUSED if isinstance(error, ConnectionRefusedError) else UNKNOWN, None, repr(error)
        if status not in (200, 409, 503):
            self.wrong(call, f"{status} {raw}")
        return service.outcome(status, raw), status, raw

    def wrong(self, call, what):
        self.group.wrong.append(f"POST /v1/claims {call.body()}: {what[:500]}")

    def granted(self, op, call, raw):
        """Records what the answer says: what each consumer got, and the generations of the providers."""
        answer = json.loads(raw)
        sets, sees = {}, {f"answer:{call.id}": f"200 {raw}"} if call.id else {}
        for found in answer["consumers"]:
            consumer, expected = found["uuid"], call.expects.get(found["uuid"])
            sets[consumer] = {provider: share["resources"] for provider, share in found["allocations"].items()}
            sees |= {f"provider:{provider}": share["generation"] for provider, share in found["allocations"].items()}
            if sets[consumer] not in call.places.get(consumer, []) or found["generation"] != (expected or 0) + 1:
                self.wrong(call, f"not what was asked for: {found}")
        if sets.keys() != call.expects.keys() or answer.get("id") != call.id or answer["dry_run"]:
            self.wrong(call, f"another call was answered: {raw}")
        op.sets, op.choices, op.sees = sets, {}, sees
        op.touches = [provider for holds in sets.values() for provider in holds]
        op.end(OK)

    def refused(self, op, call, status, raw):
        op.outcome = REFUSED
        if status is None:
            return
        op.end(REFUSED, op.answer)
        code = json.loads(raw)["errors"][0].get("code")
        if code == "placement.concurrent_update":
            op.refusal = CONFLICT
        elif code == "placet.claim_refused":
            # A query may overlook what a foreign writer released.
            op.refusal = "" if call.queries and self.group.foreign_providers else ROOM
            self.lacks_capacity = True
            for found in json.loads(raw)["consumers"]:
                if found["uuid"] not in call.queries and not found["counts"].keys() <= REFUSAL_CODES:
                    self.wrong(call, f"refused for another reason than lack of room: {found}")
        elif status == 409:
            self.wrong(call, raw)

    def dry_run(self, call):
        """A dry run is recorded as refused: nothing that it names may change."""
        op = self.history.begin("dry run", **call.operation())
        op.outcome = REFUSED
        _, status, raw = self.attempt(self.service(), "/v1/claims?dry_run=true", call)
        if status is None:
            return
        op.end(REFUSED, raw)
        if status == 200 and not json.loads(raw)["dry_run"]:
            self.wrong(call, f"no dry run: {raw}")

    def repeat(self, call):
        """Sends a call again that was granted. The answer is recorded as a read of the first one.

        One in three is a dry run, which is decided by the state of that moment and changes nothing.
        """
        if self.chance.random() < 1 / 3:
            return self.dry_run(call)
        op = self.history.begin("repeat")
        _, status, raw = self.attempt(self.service(), "/v1/claims", call)
        op.outcome = REFUSED
        if status is not None and status < 500:
            op.sees = {f"answer:{call.id}": f"{status} {raw}"}
            op.end(OK)

    def reuse(self, call):
        """Sends another call with the id of a granted one. It must be refused."""
        op = self.history.begin("reused id", **call.operation())
        op.outcome = REFUSED
        _, status, raw = self.attempt(self.service(), "/v1/claims", call)
        if status is None:
            return
        op.end(REFUSED, raw)
        if status < 500 and (status != 409 or json.loads(raw)["errors"][0]["code"] != "placet.id_reused"):
            self.wrong(call, f"the id is that of another call: {status} {raw}")


def new_id(chance):
    return str(uuid.UUID(int=chance.getrandbits(128), version=4))
