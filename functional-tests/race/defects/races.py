"""Races that reveal defects of OpenStack Placement 16.0.0, one for each defect.

Each race prepares the concurrent requests of eight clients, and compares their answers with the tables afterwards.
`violation` is a sentence if the defect is seen. `expected` has the statuses, in any order, of a correct service, or is
None if several outcomes are correct.
"""

from functional_tests.race.defects.simultaneous import CLIENTS, Request, body_of, claim, host, new_uuid

HOST_VCPUS = 100
GRANTED_STATUS = 204


class Race:
    """One round."""

    hold = None  # rows that a foreign transaction locks while the requests arrive: (table, column, values)

    def __init__(self, rng, rest):
        self.rng, self.rest = rng, rest
        self.prepare()

    def consumer(self, uuid, ledger):
        """Project, user and type of a consumer's row, or None if there is no row."""
        rows = ledger.query(
            "SELECT p.external_id, u.external_id, t.name FROM consumers c JOIN projects p ON p.id = c.project_id"
            " JOIN users u ON u.id = c.user_id LEFT JOIN consumer_types t ON t.id = c.consumer_type_id"
            " WHERE c.uuid = ?", [uuid])
        return rows[0] if rows else None

    def maybe_hold_consumer(self, uuid):
        """In about every second round locks the consumer, so that all requests that insert it wait and then find it."""
        self.hold = ("consumers", "uuid", [uuid]) if self.rng.random() < 0.5 else None

    def held(self, uuid, ledger):
        """The amounts of a consumer's allocations."""
        rows = ledger.query("SELECT used FROM allocations WHERE consumer_id = ? ORDER BY used", [uuid])
        return [used for (used,) in rows]

    def one_granted(self):
        return [GRANTED_STATUS] + [409] * (CLIENTS - 1)


class Oversubscription(Race):
    """eight claims for K places: more than K are held"""

    def prepare(self):
        self.places, self.amount = self.rng.randint(1, 6), self.rng.randint(1, 3)
        self.provider = host(self.rest, self.rng, self.places * self.amount)
        self.requests = [claim(new_uuid(self.rng), {self.provider: self.amount}) for _ in range(CLIENTS)]

    def violation(self, answers, ledger):
        held = sum(ledger.holders(self.provider).values())
        return held > self.places * self.amount and f"{held} are used of {self.places * self.amount}"

    def expected(self):
        return [GRANTED_STATUS] * self.places + [409] * (CLIENTS - self.places)


class NewConsumer(Race):
    """Eight claims of one new consumer, each with another owner. Half of them exceed the capacity."""

    def prepare(self):
        self.uuid, provider = new_uuid(self.rng), host(self.rest, self.rng, HOST_VCPUS)
        self.owners = [f"{self.uuid[:8]}_{n}" for n in range(CLIENTS)]
        amounts = [n + 1 if n < CLIENTS // 2 else 2 * HOST_VCPUS for n in range(CLIENTS)]
        self.asked = self.rng.sample(amounts, CLIENTS)
        self.requests = [
            claim(self.uuid, {provider: amount}, owner=owner) for amount, owner in zip(self.asked, self.owners)]
        self.maybe_hold_consumer(self.uuid)

    def expected(self):
        return self.one_granted()


class LostClaim(NewConsumer):
    """a refused claim deletes the consumer of another claim's acknowledged allocations"""

    def violation(self, answers, ledger):
        granted = [amount for answer, amount in zip(answers, self.asked) if answer.status == GRANTED_STATUS]
        if not granted:
            return None
        if self.consumer(self.uuid, ledger) is None:
            return f"a claim of {granted} was acknowledged, and its consumer does not exist"
        held = self.held(self.uuid, ledger)
        return sum(held) not in granted and f"{granted} were acknowledged, and {held} are held"


class ForeignOwner(NewConsumer):
    """the consumer of the granted claim has a refused claim's project, user or type"""

    def violation(self, answers, ledger):
        granted = [(name, name, name.upper()) for answer, name in zip(answers, self.owners)
                   if answer.status == GRANTED_STATUS]
        row = self.consumer(self.uuid, ledger)
        return bool(granted and row) and row not in granted and f"granted to {granted}, and the row has {row}"


class LostDelete(Race):
    """DELETE is acknowledged, and allocations that another request replaced at the same time remain"""

    def prepare(self):
        self.uuid, provider = new_uuid(self.rng), host(self.rest, self.rng, HOST_VCPUS)
        self.rest.must("PUT", f"/allocations/{self.uuid}", body_of({provider: 1}))
        replace = [claim(self.uuid, {provider: n + 2}, generation=1) for n in range(CLIENTS // 2)]
        delete = [Request("DELETE", f"/allocations/{self.uuid}", later=True) for _ in range(CLIENTS // 2)]
        # Requests go to the services in turn: one replaces, the other deletes.
        self.requests = [request for pair in zip(replace, delete) for request in pair]
        # A replacement waits for this row after it has written the allocations, which the deletions then find.
        self.hold = "consumers", "uuid", [self.uuid]

    def violation(self, answers, ledger):
        # A replacement names the earlier generation, so it is refused after the deletion.
        deleted = any(r.method == "DELETE" and a.status == GRANTED_STATUS for r, a in zip(self.requests, answers))
        held = self.held(self.uuid, ledger)
        return deleted and bool(held) and f"DELETE was acknowledged, and {held} are held"

    def expected(self):
        return None


class NullGranted(Race):
    """a claim with a generation of null is granted although its consumer exists"""

    def prepare(self):
        self.uuid, provider = new_uuid(self.rng), host(self.rest, self.rng, HOST_VCPUS)
        late = f"late_{self.uuid[:8]}"
        # Requests go to the services in turn: each gets both kinds of claim.
        owners = ["race", "race", late, late] * (CLIENTS // 4)
        self.requests = [claim(self.uuid, {provider: n + 1}, owner=owner) for n, owner in enumerate(owners)]
        # Half of them insert a consumer type, and wait there after they have seen that the consumer does not exist.
        self.hold = "consumer_types", "name", [late.upper()]

    def violation(self, answers, ledger):
        granted = [answer.status for answer in answers].count(GRANTED_STATUS)
        return granted > 1 and f"{granted} claims were granted to a consumer that only one of them made"

    def expected(self):
        return self.one_granted()


class BlindWipe(Race):
    """`{}` with a generation of null wipes the allocations of a consumer that exists"""

    def prepare(self):
        self.uuid, provider = new_uuid(self.rng), host(self.rest, self.rng, HOST_VCPUS)
        self.amounts = self.rng.sample([0] * (CLIENTS // 2) + list(range(1, CLIENTS // 2 + 1)), CLIENTS)
        self.requests = [claim(self.uuid, {provider: amount} if amount else {}) for amount in self.amounts]
        self.maybe_hold_consumer(self.uuid)

    def violation(self, answers, ledger):
        # After a claim was granted, the consumer exists, and null is refused.
        granted = [amount for answer, amount in zip(answers, self.amounts)
                   if answer.status == GRANTED_STATUS and amount]
        held = self.held(self.uuid, ledger)
        return bool(granted) and not held and f"{granted} were acknowledged, and nothing is held"

    def expected(self):
        return None


class ProvidersInOrder(Race):
    """claims on the same providers, named in different orders: 500"""

    def prepare(self):
        providers = [host(self.rest, self.rng, HOST_VCPUS) for _ in range(6)]
        self.requests = []
        for n in range(CLIENTS):
            order = providers if n % 2 else providers[::-1]
            self.requests.append(claim(new_uuid(self.rng), {provider: 1 for provider in order}))
        # Requests from either end of the list wait for a row in the middle, and continue once all have arrived.
        self.hold = "resource_providers", "uuid", providers[2:4]

    def violation(self, answers, ledger):
        broken = [str(answer)[:300] for answer in answers if answer.status >= 500]
        return bool(broken) and f"{len(broken)} of {len(answers)} answers, as {broken[0]}"

    def expected(self):
        return [GRANTED_STATUS] * CLIENTS


class ConsumersInOrder(ProvidersInOrder):
    """POST /allocations of the same consumers, named in different orders: 500"""

    def prepare(self):
        provider = host(self.rest, self.rng, HOST_VCPUS)
        consumers = [new_uuid(self.rng) for _ in range(6)]
        self.rest.must("POST", "/allocations", {uuid: body_of({provider: 1}) for uuid in consumers})
        self.requests = []
        for n in range(CLIENTS):
            order = consumers if n % 2 else consumers[::-1]
            self.requests.append(Request("POST", "/allocations", {
                uuid: body_of({provider: 2}, generation=1, owner=f"race_{n}") for uuid in order}))
        self.hold = "consumers", "uuid", consumers[2:4]

    def expected(self):
        return self.one_granted()


# Name -> race.
RACES = {
    "oversubscription": Oversubscription,
    "lost claim": LostClaim,
    "foreign owner": ForeignOwner,
    "lost delete": LostDelete,
    "null granted": NullGranted,
    "blind wipe": BlindWipe,
    "deadlock of providers": ProvidersInOrder,
    "deadlock of consumers": ConsumersInOrder,
}
