"""What the cloud of the bench looks like: hosts, what they have, and who took half of it.

Three shapes: `flat`, a host is one provider; `nested`, its cores and memory are on two NUMA nodes, each with two
network functions below it; `shared`, the disk of every hundred hosts is one pool. The same number of hosts is the same
cloud.
"""

import functools
import random
import uuid

CLASSES = ("VCPU", "MEMORY_MB", "DISK_GB", "SRIOV_NET_VF")
# Half of the room is taken by so many consumers a host, of equal size.
CONSUMERS = 30
KINDS = 8
RARE = "CUSTOM_RARE"
PHYSNETS = ("CUSTOM_PHYSNET_0", "CUSTOM_PHYSNET_1")
SHARING = "MISC_SHARES_VIA_AGGREGATE"
SHAPES = ("flat", "nested", "shared")


class Provider:
    """One provider: `stocks` are (total, reserved, ratio) by class."""

    def __init__(self, number, name, stocks, parent=None):
        self.id, self.name, self.stocks, self.parent = number, name, stocks, parent
        self.root = parent.root if parent else self
        self.uuid = str(uuid.UUID(int=_scattered(number), version=4))
        self.traits, self.aggregates = (), ()


class Host:
    """Where its claims go: `compute` has cores and memory, `disk` is one of its providers or a pool."""

    def __init__(self, root, compute, disk):
        self.root, self.compute, self.disk = root, compute, disk

    def told(self):
        """For the load generator."""
        return {"root": _told(self.root), "compute": [_told(it) for it in self.compute], "disk": _told(self.disk)}


class Cloud:
    def __init__(self, shape, hosts, standard):
        """`standard`: names of traits that hosts can have."""
        self.shape, self.rng = shape, random.Random(hosts)
        self.providers, self.hosts, self.pools = [], [], []
        self.aggregates = {}
        pool = sorted(name for name in standard if name.startswith(("HW_", "COMPUTE_")))
        self.kinds = [self.rng.sample(pool, 40) for _ in range(KINDS)]
        self.common = pool
        for number in range(hosts):
            self._host(number)

    def _provider(self, name, stocks, parent=None):
        provider = Provider(len(self.providers) + 1, name, stocks, parent)
        self.providers.append(provider)
        return provider

    def _host(self, number):
        cores, memory, disk = (128, 0, 4.0), (262144, 4096, 1.0), (4000, 100, 1.0)
        numa = {"VCPU": (64, 0, 4.0), "MEMORY_MB": (131072, 2048, 1.0)}
        stocks = {
            "flat": {"VCPU": cores, "MEMORY_MB": memory, "DISK_GB": disk},
            "nested": {"DISK_GB": disk},
            "shared": {"VCPU": cores, "MEMORY_MB": memory},
        }[self.shape]
        root = self._provider(f"host-{number}", stocks)
        compute = [root]
        if self.shape == "nested":
            compute = [self._provider(f"host-{number}-numa-{n}", numa, root) for n in range(2)]
            for node in compute:
                for physnet in PHYSNETS:
                    function = self._provider(f"{node.name}-{physnet[-1]}", {"SRIOV_NET_VF": (8, 0, 1.0)}, node)
                    function.traits = (physnet,)
        few = self.rng.sample(self.common, self.rng.randint(0, 20))
        rare = [RARE] if number % 1000 == 500 else []
        root.traits = tuple({*self.kinds[number % KINDS], *few, *rare})
        names = (f"zone {number % 10}", f"rack {number // 40}", f"pool {number // 100}")
        root.aggregates = tuple(self._aggregate(name) for name in names)
        self.hosts.append(Host(root, compute, self._pool(number) if self.shape == "shared" else root))

    def _aggregate(self, name):
        return self.aggregates.setdefault(name, str(uuid.UUID(int=_scattered(-1 - len(self.aggregates)), version=4)))

    def _pool(self, number):
        if number % 100 == 0:
            pool = self._provider(f"pool-{number // 100}", {"DISK_GB": (3_000_000, 0, 1.0)})
            pool.traits, pool.aggregates = (SHARING,), (self._aggregate(f"pool {number // 100}"),)
            self.pools.append(pool)
        return self.pools[-1]

    @functools.cached_property
    def consumers(self):
        """The uuids of each host's."""
        return [[str(uuid.UUID(int=_scattered(host.root.id * 64 + number + (1 << 40)), version=4))
                 for number in range(CONSUMERS)] for host in self.hosts]

    def allocations(self):
        """Consumers with what they have: (uuid, [(provider, class, amount)…])."""
        disk = 500 if self.shape == "shared" else 65
        for host, consumers in zip(self.hosts, self.consumers, strict=True):
            for number, consumer in enumerate(consumers):
                compute = host.compute[number % len(host.compute)]
                yield consumer, [(compute, "VCPU", 8), (compute, "MEMORY_MB", 4096), (host.disk, "DISK_GB", disk)]

    def told(self, classes, project, user):
        """For the load generator: `classes` by name as the tables number them."""
        return {"hosts": [host.told() for host in self.hosts], "project": project, "user": user,
                "classes": {name: classes[name] for name in CLASSES}}


def _told(provider):
    return {"id": provider.id, "uuid": provider.uuid}


def _scattered(number):
    """Numbers that have nothing in common, as uuids have not: SplitMix64, twice."""
    def mixed(z):
        z = (z + 0x9E3779B97F4A7C15) & (1 << 64) - 1
        z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9 & (1 << 64) - 1
        z = (z ^ z >> 27) * 0x94D049BB133111EB & (1 << 64) - 1
        return z ^ z >> 31
    return mixed(number) << 64 | mixed(number ^ 0x5DEECE66D)
