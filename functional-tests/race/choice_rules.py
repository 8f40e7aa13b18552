"""The rules of the races of `POST /v1/claims`, over the answers and over the tables, which are read by SQL."""

import collections

from functional_tests.lib.rest import Rest

HOLDERS = (
    "SELECT a.consumer_id, p.uuid, c.name, a.used FROM allocations a"
    " JOIN resource_providers p ON p.id = a.resource_provider_id JOIN resource_classes c ON c.id = a.resource_class_id"
    " WHERE p.uuid IN ({})")
CALLS = "SELECT id FROM placet_claims"
LACKING, OTHER = "placet.no_room", "placet.other_refused"


def summary(answer):
    """What tells answers apart: the status, the error's text, and the codes of the first refused consumer."""
    body = answer.json or {}
    refused = [consumer["counts"] for consumer in body.get("consumers", []) if not consumer.get("granted")]
    return f"{answer.status} {[error['detail'] for error in body.get('errors', [])]} {refused[:1]}"


class Judged:
    """The answers to all calls of a round, and what the foreign writer's consumers took."""

    def __init__(self, round_, answers, foreign):
        self.round, self.answers, self.foreign = round_, answers, foreign
        self.there = {}  # consumer -> what it holds, by the tables
        self.granted = {}  # number of the call -> its answer, if that grants anything
        for number, given in enumerate(answers):
            for answer in given:
                if answer.status == 200 and answer.json["granted"]:
                    self.granted.setdefault(number, answer)

    def held(self):
        """Consumer -> what it holds, by the answers."""
        found = {found["uuid"]: {provider: share["resources"] for provider, share in found["allocations"].items()}
                 for answer in self.granted.values() for found in answer.json["consumers"] if found["granted"]}
        return found | self.foreign

    def has_refused(self):
        return (len(self.round.calls) > len(self.granted)
                or any(answer.json["refused"] for answer in self.granted.values()))

    # --- the tables -------------------------------------------------------------------------------

    def check_tables(self, ledger, generations):
        there = {}
        marks = ", ".join("?" * len(self.round.totals))
        for consumer, provider, name, used in ledger.query(HOLDERS.format(marks), [*self.round.totals]):
            there.setdefault(consumer, {}).setdefault(provider, {})[name] = used
        for call in self.round.calls:
            members = [consumer["uuid"] for consumer in call["consumers"]]
            count = sum(member in there for member in members)
            is_whole = count in (0, len(members)) or not self.round.race.is_atomic
            assert is_whole, f"a gang is partly there: {count} of {members}"
        taken = len(there)
        left, needed = self.round.fitting - taken, self.round.size if self.round.race.is_atomic else 1
        assert left >= 0 and (left < needed or not self.has_refused()), (
            f"{taken} consumers were granted {self.round.fitting} places ({len(self.foreign)} of them foreign); "
            f"answers: {collections.Counter(summary(answer) for given in self.answers for answer in given)}")
        wrong = {consumer: (holds, there.get(consumer)) for consumer, holds in self.held().items()
                 if there.get(consumer) != holds}
        assert not wrong, f"consumers do not hold what the answer says: {wrong}"
        assert there.keys() == self.held().keys(), f"held without an answer: {there.keys() - self.held().keys()}"
        for provider, before in generations.items():
            claims = sum(provider in holds for holds in there.values())
            now = ledger.generation(provider)
            assert now == before + claims, f"generation {now} of {provider} after {before} and {claims} claims"
        assert ledger.faults() + ledger.gaps() == [], ledger.faults() + ledger.gaps()
        self.there = there
        self.check_ids(ledger)

    def check_order(self):
        """Each consumer has the first candidate that fits. Nothing is released, so all hosts before it are full.

        Called after `check_tables`.
        """
        if self.round.race.by_query or self.round.race.is_mixed:
            return
        hosts = [*self.round.places]
        counts = [sum(host in holds for holds in self.there.values()) for host in hosts]
        last = max((at for at, count in enumerate(counts) if count), default=0)
        free = [host for host, count in zip(hosts[:last], counts) if count < self.round.places[host]]
        assert not free, f"a consumer has {hosts[last]}, and {free} before it in its list have room"

    def check_ids(self, ledger):
        """Granted calls are remembered, and refused ones are not."""
        if self.round.has_ids:
            known = {identity for (identity,) in ledger.query(CALLS)}
            for number, call in enumerate(self.round.calls):
                is_known, is_granted = call["id"] in known, number in self.granted
                assert is_known == is_granted, f"of call {call['id']}: granted {is_granted}, remembered {is_known}"

    # --- the answers ------------------------------------------------------------------------------

    def check_answers(self):
        for number, given in enumerate(self.answers):
            for answer in given:
                if number in self.granted:
                    assert answer.raw == self.granted[number].raw, (
                        f"two answers to one call differ: {answer} and {self.granted[number]}")
                else:
                    self.check_refusal(answer)
            if number in self.granted:
                self.check_grant(self.round.calls[number], self.granted[number].json)

    def check_grant(self, call, answer):
        asked = [consumer["uuid"] for consumer in call["consumers"]]
        assert answer["granted"] + answer["refused"] == len(asked), answer
        assert answer["refused"] == 0 or not self.round.race.is_atomic, answer
        assert answer.get("id") == call.get("id"), answer
        assert [found["uuid"] for found in answer["consumers"]] == asked, answer
        assert sum(found["granted"] for found in answer["consumers"]) == answer["granted"], answer
        for member, found in enumerate(answer["consumers"]):
            if not found["granted"]:
                self.check_lack(member, found)
                continue
            holds = {provider: share["resources"] for provider, share in found["allocations"].items()}
            assert found["generation"] == 1, found
            assert holds in self.round.candidates, found
            if not self.round.has_query(member):
                assert self.round.candidates[found["candidate"]] == holds, found

    def check_refusal(self, answer):
        """A refusal is for lack of room alone. Of an atomic call it may be because another consumer was refused."""
        if self.round.race.is_atomic:
            assert answer.status == 409 and answer.code == "placet.claim_refused", f"a call was answered with {answer}"
        else:
            assert answer.status == 200, f"a call was answered with {answer}"
        refused = answer.json["consumers"]
        lacking = [member for member, consumer in enumerate(refused)
                   if consumer["counts"] != {OTHER: 1} or not self.round.race.is_atomic]
        assert lacking, f"no consumer lacks room: {answer}"
        for member in lacking:
            self.check_lack(member, refused[member])

    def check_lack(self, member, consumer):
        """Candidates are all named."""
        counts = consumer["counts"]
        is_lack = counts.get(LACKING, 0) > 0 if self.round.has_query(member) else (
            counts == {LACKING: len(self.round.candidates)})
        assert is_lack, f"refused for another reason than room with {len(self.round.candidates)} candidates: {consumer}"

    def check_processes(self, services):
        """Every process shows the usage that the answers say."""
        used = {}
        for holds in self.held().values():
            for provider, amounts in holds.items():
                for name, amount in amounts.items():
                    used[provider, name] = used.get((provider, name), 0) + amount
        for service in services:
            for provider, totals in [*self.round.totals.items()][-3:]:
                shown = Rest(service.port)("GET", f"/resource_providers/{provider}/usages").json["usages"]
                expected = {name: used.get((provider, name), 0) for name in totals}
                assert shown == expected, f"{service.port} shows usages {shown} of {provider}, and held are {expected}"
