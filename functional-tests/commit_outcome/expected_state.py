"""The providers, the requests under faults, and the state of the tables afterwards."""

import dataclasses
import uuid

ONE, OTHER, LEAD = (f"00000000-0000-4000-8000-00000000000{n}" for n in range(3))
POOL = "00000000-0000-4000-8000-0000000000ff"
TOTALS = {ONE: ("VCPU", 100_000), OTHER: ("VCPU", 100_000), LEAD: ("VCPU", 100_000), POOL: ("DISK_GB", 1_000_000)}

# The consumers of a large claim. A command of more than 256 rows is large.
MANY = 150


@dataclasses.dataclass
class Request:
    """One write. `after` is what each of its consumers holds then, with its generation, or None if they are gone. Of a
    request about a workload it is what each consumer holds by its uuid, and `workload` is what is stored of it."""

    name: str
    method: str
    consumers: list
    after: tuple | None
    touches: list  # the providers whose generation it increments
    body: dict | None = None
    workload: tuple | None = None  # its uuid, and its generation with the consumers of its replicas or None
    generation: int | None = None  # of the workload before

    @property
    def path(self):
        if self.workload:
            generation = f"?generation={self.generation}" if self.method == "DELETE" else ""
            return f"/v1/workloads/{self.workload[0]}{generation}"
        return "/allocations" if self.method == "POST" else f"/allocations/{self.consumers[0]}"

    @property
    def status(self):
        return 200 if self.workload and self.method == "PUT" else 204

    def after_of(self, consumer):
        return self.after.get(consumer) if self.workload else self.after


class ExpectedState:
    """The state that the tables must have: consumer -> (holds, generation), provider -> generation, and workload ->
    (generation, consumers of its replicas)."""

    def __init__(self, chance, rest):
        self.chance = chance
        self.consumers, self.generations, self.workloads = {}, {}, {}
        self.workload_of = {}  # consumer -> its workload, also after that is gone
        for provider, (name, total) in TOTALS.items():
            rest.must("POST", "/resource_providers", {"name": provider, "uuid": provider})
            rest.must("PUT", f"/resource_providers/{provider}/inventories",
                      {"resource_provider_generation": 0, "inventories": {name: {"total": total}}})
            self.generations[provider] = 1

    def apply(self, request):
        """Applies a request that was granted."""
        for consumer in request.consumers:
            self.consumers.pop(consumer, None)
            if after := request.after_of(consumer):
                self.consumers[consumer] = after
        if request.workload:
            uuid, stored = request.workload
            self.workload_of |= dict.fromkeys(request.consumers, uuid)
            self.workloads.pop(uuid, None)
            self.workloads |= {uuid: stored} if stored else {}
        for provider in request.touches:
            self.generations[provider] += 1

    def adopt(self, found):
        """Takes the tables' state over after a failure, so that the failure is reported only once."""
        self.consumers, self.generations, self.workloads = found

    def used(self):
        """Provider -> the sum of what all consumers hold."""
        sums = dict.fromkeys(TOTALS, 0)
        for holds, _ in self.consumers.values():
            for provider, amount in holds.items():
                sums[provider] += amount
        return sums

    # --- the requests ----------------------------------------------------------------------------

    def claim(self, rest, holds=None):
        return self._put("a claim", self._new(), holds or {ONE: self._amount()}, None)

    def claim_of_a_new_owner(self, rest):
        return self._put("a claim of a new owner", self._new(), {ONE: self._amount()}, None, project=self._new())

    def claim_of_several(self, rest):
        return self._put("a claim of several", self._new(), {ONE: self._amount(), OTHER: 1, POOL: self._amount()}, None)

    def replacement(self, rest):
        consumer = self._prepared(rest)
        return self._put("a replacement", consumer, {OTHER: self._amount(), POOL: self._amount()}, 1)

    def delete(self, rest):
        return Request("a DELETE", "DELETE", [self._prepared(rest)], None, [])

    def _prepared(self, rest):
        """Makes a consumer with allocations."""
        request = self.claim(rest, {ONE: 2, POOL: 5})
        rest.must(request.method, request.path, request.body)
        self.apply(request)
        return request.consumers[0]

    def large_claim(self, rest):
        """A claim whose rows are inserted on a connection of its own."""
        holds, consumers = {ONE: 1}, [self._new() for _ in range(MANY)]
        body = {consumer: self._body(holds, None, "p") for consumer in consumers}
        return Request("a large claim", "POST", consumers, (holds, 1), list(holds), body)

    def workload(self, rest):
        """A new workload with a replica on each of three hosts."""
        return self._workload("a workload", self._new(), {}, [ONE, OTHER, LEAD])

    def changed_workload(self, rest):
        """One replica leaves a workload, and another one is placed."""
        before = self._prepared_workload(rest)
        return self._workload("a change of a workload", before.workload[0], before.after, [OTHER, LEAD, POOL], generation=1)

    def deleted_workload(self, rest):
        before = self._prepared_workload(rest)
        return Request("a DELETE of a workload", "DELETE", before.consumers, {}, [], workload=(before.workload[0], None),
                       generation=1)

    def _prepared_workload(self, rest):
        """Makes a workload."""
        request = self._workload("a workload", self._new(), {}, [ONE, OTHER])
        rest.must(request.method, request.path, request.body)
        self.apply(request)
        return request

    def _workload(self, name, workload, before, hosts, generation=None):
        """A PUT of a workload with a role for each host, and one replica in each role. The ids are in the order of the
        hosts, in which new replicas get them."""
        ids = {host: str(at) for at, host in enumerate(TOTALS)}

        def consumer(host):
            return str(uuid.uuid5(uuid.UUID(workload), ids[host]))
        body = {"generation": generation, "name": workload, "project_id": "p", "user_id": "p", "type": "INSTANCE",
                "rules": [], "ids": [ids[host] for host in hosts],
                "roles": [{"name": host, "count": 1, "query": f"resources={TOTALS[host][0]}:2&in_tree={host}"}
                          for host in hosts]}
        now = {consumer(host): ({host: 2}, 1) for host in hosts}
        placed = [host for host in hosts if consumer(host) not in before]
        return Request(name, "PUT", [*(before | now)], now, placed, body,
                       workload=(workload, ((generation or 0) + 1, frozenset(now))), generation=generation)

    def _put(self, name, consumer, holds, generation, project="p"):
        body = self._body(holds, generation, project)
        return Request(name, "PUT", [consumer], (holds, (generation or 0) + 1), list(holds), body)

    @staticmethod
    def _body(holds, generation, project):
        allocations = {provider: {"resources": {TOTALS[provider][0]: amount}} for provider, amount in holds.items()}
        return {
            "allocations": allocations,
            "project_id": project, "user_id": project, "consumer_generation": generation, "consumer_type": "INSTANCE"}

    def _new(self):
        return str(uuid.UUID(int=self.chance.getrandbits(128), version=4))

    def _amount(self):
        return self.chance.randint(1, 4)


# Claims of new consumers are planned before BEGIN, unless their owner is new, and share no batch with other requests.
UNBATCHED = (
    ExpectedState.claim_of_a_new_owner, ExpectedState.claim_of_several, ExpectedState.replacement, ExpectedState.delete)
REQUEST_KINDS = {
    "a claim of a new owner": UNBATCHED[:1], "a claim of several": UNBATCHED[1:2], "a replacement": UNBATCHED[2:3],
    "a DELETE": UNBATCHED[3:]}
# A batch of eight claims is written by another thread than the writer's.
BATCHES = {"two claims in one batch": (ExpectedState.claim, ExpectedState.claim_of_several),
           "eight claims in one batch": 8 * (ExpectedState.claim,),
           "a replacement and a DELETE in one batch": UNBATCHED[2:]}
WORKLOADS = (ExpectedState.workload, ExpectedState.changed_workload, ExpectedState.deleted_workload)
CHANGED_WORKLOAD = {"a change of a workload": WORKLOADS[1:2]}
REQUEST_KINDS |= {"a workload": WORKLOADS[:1]} | CHANGED_WORKLOAD | {"a DELETE of a workload": WORKLOADS[2:]}
REQUEST_KINDS |= {"a large claim": (ExpectedState.large_claim,)} | BATCHES
