"""The state after a worker's writes, which every process has to answer.

A worker is the only writer of its trees. All workers claim from one pool.
"""

import collections
import uuid

POOL = "00000000-0000-4000-8000-0000000000ff"
SHARED = "e0000000-0000-4000-8000-0000000000ff"  # the aggregate over which the pool is shared


class Provider:
    """A provider that only one worker writes. It is kept after its deletion."""

    def __init__(self, name, identity, parent=None):
        self.name, self.uuid, self.parent = name, identity, parent
        self.generation, self.alive = 0, True
        self.inventories, self.traits, self.aggregates = {}, set(), set()
        self.described, self.description = None, {}  # the generation and the properties of its description

    @property
    def root(self):
        return self.parent.root if self.parent else self


class Consumer:
    def __init__(self, identity):
        self.uuid, self.generation, self.type = identity, None, None
        self.holds = {}  # by provider's uuid: amounts by class


class ExpectedState:
    """One worker's own part of the state."""

    def __init__(self, number, chance, pool):
        self.number, self.chance, self.pool = number, chance, pool
        self.project, self.aggregates = f"project-{number}", [self.new_uuid() for _ in range(3)]
        self.providers, self.consumers = {}, {}
        self.nouns = collections.defaultdict(dict)  # by noun of nouns/: what its writes left
        self.classes, self.traits = ["VCPU", "MEMORY_MB"], ["HW_CPU_X86_AVX2", "COMPUTE_NODE"]
        self.counter = 0
        self.roots = [Provider(f"host-{number}-{n}", self.new_uuid()) for n in range(2)]

    def new_uuid(self):
        return str(uuid.UUID(int=self.chance.getrandbits(128), version=4))

    def new_name(self, what):
        self.counter += 1
        return f"{what}_{self.number}_{self.counter}"

    def prepare(self, rest):
        """Creates the worker's hosts, which all share the pool's aggregate."""
        for host in self.roots:
            rest.must("POST", "/resource_providers", {"name": host.name, "uuid": host.uuid})
            rest.must("PUT", f"/resource_providers/{host.uuid}/aggregates",
                      {"aggregates": [SHARED], "resource_provider_generation": 0})
            host.generation, host.aggregates = 1, {SHARED}
            self.providers[host.uuid] = host

    def living(self):
        return list(self.providers.values())

    def tree(self, root):
        return [p for p in self.providers.values() if p.root is root]

    def used(self, provider, name):
        """The amount of a class that is used of an own provider."""
        return sum(c.holds.get(provider.uuid, {}).get(name, 0) for c in self.consumers.values())

    def is_used(self, provider):
        return any(provider.uuid in c.holds for c in self.consumers.values())

    def capacity(self, provider, name):
        inventory = provider.inventories[name]
        return int((inventory["total"] - inventory["reserved"]) * inventory["allocation_ratio"])

    def room(self, provider, name):
        return self.capacity(provider, name) - self.used(provider, name) if name in provider.inventories else 0

    def is_class_used(self, name):
        return any(name in p.inventories for p in self.providers.values())

    def is_trait_used(self, name):
        return any(name in p.traits for p in self.providers.values())
