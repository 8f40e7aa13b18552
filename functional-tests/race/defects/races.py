"""The races in which OpenStack Placement 16.0.0 breaks what it acknowledged, one a defect.

Each prepares what eight clients ask at once, and judges what they were answered by what the tables hold then.
`violation` is a sentence where the defect is seen; `expected` are the statuses, in any order, of a service that is
right. Where several orders are right, it is None.
"""

from functional_tests.race.defects.simultaneous import CLIENTS, Request, body_of, claim, host, new_uuid

ROOM = 100
GRANTED = 204


class Race:
    """One round."""

    hold = None  # rows that another program holds while the requests come, by table, column and values

    def __init__(self, rng, rest):
        self.rng, self.rest = rng, rest
        self.prepare()

    def consumer(self, uuid, ledger):
        """Project, user and type of a consumer's row; None where there is no row."""
        rows = ledger.query(
            "SELECT p.external_id, u.external_id, t.name FROM consumers c JOIN projects p ON p.id = c.project_id"
            " JOIN users u ON u.id = c.user_id LEFT JOIN consumer_types t ON t.id = c.consumer_type_id"
            " WHERE c.uuid = ?", [uuid])
        return rows[0] if rows else None

    def meet_at(self, uuid):
        """In about every second round those who make a consumer wait for each other there, and all but one find it made."""
        self.hold = ("consumers", "uuid", [uuid]) if self.rng.random() < 0.5 else None

    def held(self, uuid, ledger):
        """What a consumer holds: a list of amounts."""
        rows = ledger.query("SELECT used FROM allocations WHERE consumer_id = ? ORDER BY used", [uuid])
        return [used for (used,) in rows]

    def one_granted(self):
        return [GRANTED] + [409] * (CLIENTS - 1)


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
        return [GRANTED] * self.places + [409] * (CLIENTS - self.places)


class NewConsumer(Race):
    """Eight claims for one consumer that nobody knew; half of them ask for too much. Each has an owner of its own."""

    def prepare(self):
        self.uuid, provider = new_uuid(self.rng), host(self.rest, self.rng, ROOM)
        self.owners = [f"{self.uuid[:8]}_{n}" for n in range(CLIENTS)]
        amounts = [n + 1 if n < CLIENTS // 2 else 2 * ROOM for n in range(CLIENTS)]
        self.asked = self.rng.sample(amounts, CLIENTS)
        self.requests = [
            claim(self.uuid, {provider: amount}, owner=owner) for amount, owner in zip(self.asked, self.owners)]
        self.meet_at(self.uuid)

    def expected(self):
        return self.one_granted()


class LostClaim(NewConsumer):
    """a refused claim takes the consumer away on which another's acknowledged allocations hang"""

    def violation(self, answers, ledger):
        granted = [amount for answer, amount in zip(answers, self.asked) if answer.status == GRANTED]
        if not granted:
            return None
        if self.consumer(self.uuid, ledger) is None:
            return f"a claim of {granted} was acknowledged, and its consumer is gone"
        held = self.held(self.uuid, ledger)
        return sum(held) not in granted and f"{granted} were acknowledged, and {held} are held"


class ForeignOwner(NewConsumer):
    """the loser's project, user or type is on the winner's consumer"""

    def violation(self, answers, ledger):
        winners = [(name, name, name.upper()) for answer, name in zip(answers, self.owners) if answer.status == GRANTED]
        row = self.consumer(self.uuid, ledger)
        return bool(winners and row) and row not in winners and f"granted to {winners}, and the row says {row}"


class HollowDelete(Race):
    """DELETE is acknowledged, and allocations that another request replaced at the same time remain"""

    def prepare(self):
        self.uuid, provider = new_uuid(self.rng), host(self.rest, self.rng, ROOM)
        self.rest.must("PUT", f"/allocations/{self.uuid}", body_of({provider: 1}))
        replace = [claim(self.uuid, {provider: n + 2}, generation=1) for n in range(CLIENTS // 2)]
        delete = [Request("DELETE", f"/allocations/{self.uuid}", later=True) for _ in range(CLIENTS // 2)]
        # Services are asked in turn: one replaces, the other deletes.
        self.requests = [request for pair in zip(replace, delete) for request in pair]
        # A replacement stops when it has the allocations, and those who delete find them so.
        self.hold = "consumers", "uuid", [self.uuid]

    def violation(self, answers, ledger):
        # A replacement names the generation from before, so it is refused after the deletion.
        deleted = any(r.method == "DELETE" and a.status == GRANTED for r, a in zip(self.requests, answers))
        held = self.held(self.uuid, ledger)
        return deleted and bool(held) and f"DELETE was acknowledged, and {held} are held"

    def expected(self):
        return None


class NullGranted(Race):
    """a generation of null is granted over a consumer that exists"""

    def prepare(self):
        self.uuid, provider = new_uuid(self.rng), host(self.rest, self.rng, ROOM)
        late = f"late_{self.uuid[:8]}"
        # Services are asked in turn: either gets both kinds of claim.
        owners = ["race", "race", late, late] * (CLIENTS // 4)
        self.requests = [claim(self.uuid, {provider: n + 1}, owner=owner) for n, owner in enumerate(owners)]
        # Half of them make a type, and stop there when they have seen that nobody knows the consumer.
        self.hold = "consumer_types", "name", [late.upper()]

    def violation(self, answers, ledger):
        granted = [answer.status for answer in answers].count(GRANTED)
        return granted > 1 and f"{granted} claims were granted to a consumer that only one of them made"

    def expected(self):
        return self.one_granted()


class UnseenWiped(Race):
    """`{}` with a generation of null wipes allocations that it never saw"""

    def prepare(self):
        self.uuid, provider = new_uuid(self.rng), host(self.rest, self.rng, ROOM)
        self.amounts = self.rng.sample([0] * (CLIENTS // 2) + list(range(1, CLIENTS // 2 + 1)), CLIENTS)
        self.requests = [claim(self.uuid, {provider: amount} if amount else {}) for amount in self.amounts]
        self.meet_at(self.uuid)

    def violation(self, answers, ledger):
        # After a claim was granted, the consumer exists, and null is refused.
        granted = [amount for answer, amount in zip(answers, self.amounts) if answer.status == GRANTED and amount]
        held = self.held(self.uuid, ledger)
        return bool(granted) and not held and f"{granted} were acknowledged, and nothing is held"

    def expected(self):
        return None


class ProvidersInOrder(Race):
    """claims on the same providers, named in different orders: 500"""

    def prepare(self):
        providers = [host(self.rest, self.rng, ROOM) for _ in range(6)]
        self.requests = []
        for n in range(CLIENTS):
            order = providers if n % 2 else providers[::-1]
            self.requests.append(claim(new_uuid(self.rng), {provider: 1 for provider in order}))
        # Who comes from either end stops at the middle, and goes on when all are there.
        self.hold = "resource_providers", "uuid", providers[2:4]

    def violation(self, answers, ledger):
        broken = [str(answer)[:300] for answer in answers if answer.status >= 500]
        return bool(broken) and f"{len(broken)} of {len(answers)} answers, as {broken[0]}"

    def expected(self):
        return [GRANTED] * CLIENTS


class ConsumersInOrder(ProvidersInOrder):
    """POST /allocations of the same consumers, named in different orders: 500"""

    def prepare(self):
        provider = host(self.rest, self.rng, ROOM)
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


# By name: the race.
RACES = {
    "oversubscription": Oversubscription,
    "lost claim": LostClaim,
    "foreign owner": ForeignOwner,
    "hollow delete": HollowDelete,
    "null granted": NullGranted,
    "unseen wiped": UnseenWiped,
    "deadlock of providers": ProvidersInOrder,
    "deadlock of consumers": ConsumersInOrder,
}
