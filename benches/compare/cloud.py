"""The clouds that the bench measures: hosts with inventories, traits and aggregates, and consumers of half the
capacity.

There are three shapes. `flat`: a host is one provider. `nested`: its cores and memory are on two NUMA nodes, each with
two network functions below it. `shared`: the disk of every hundred hosts is one pool. A cloud is a function of its
shape and its number of hosts.
"""

import functools
import random
import uuid

CLASSES = ("VCPU", "MEMORY_MB", "DISK_GB", "SRIOV_NET_VF")
# Consumers of equal size, which together use half of a host's capacity.
CONSUMERS_PER_HOST = 30
HOST_KINDS = 8
TRAITS_PER_KIND = 40
RARE_TRAIT = "CUSTOM_RARE"
PHYSICAL_NETWORKS = ("CUSTOM_PHYSNET_0", "CUSTOM_PHYSNET_1")
SHARING_TRAIT = "MISC_SHARES_VIA_AGGREGATE"
HOSTS_PER_POOL = 100
SHAPES = ("flat", "nested", "shared")


class Provider:
    """One provider. `inventories` has (total, reserved, allocation ratio) by class."""

    def __init__(self, number, name, inventories, parent=None):
        self.id, self.name, self.inventories, self.parent = number, name, inventories, parent
        self.root = parent.root if parent else self
        self.uuid = str(uuid.UUID(int=_hash(number), version=4))
        self.traits, self.aggregates = (), ()

    def as_json(self):
        return {"id": self.id, "uuid": self.uuid}


class Host:
    """The providers of a claim on a host: `compute` have cores and memory, `disk` is one of its providers or a pool."""

    def __init__(self, root, compute, disk):
        self.root, self.compute, self.disk = root, compute, disk

    def as_json(self):
        return {"root": self.root.as_json(), "compute": [provider.as_json() for provider in self.compute],
                "disk": self.disk.as_json()}


class Cloud:
    def __init__(self, shape, hosts, standard_traits):
        """`standard_traits`: the names that the database has."""
        self.shape, self.rng = shape, random.Random(hosts)
        self.providers, self.hosts, self.pools = [], [], []
        self.aggregates = {}  # uuids by name
        self.host_traits = sorted(name for name in standard_traits if name.startswith(("HW_", "COMPUTE_")))
        self.traits_of_kinds = [self.rng.sample(self.host_traits, TRAITS_PER_KIND) for _ in range(HOST_KINDS)]
        for number in range(hosts):
            self._add_host(number)

    def _add_provider(self, name, inventories, parent=None):
        provider = Provider(len(self.providers) + 1, name, inventories, parent)
        self.providers.append(provider)
        return provider

    def _add_host(self, number):
        cores, memory, disk = (128, 0, 4.0), (262144, 4096, 1.0), (4000, 100, 1.0)
        numa = {"VCPU": (64, 0, 4.0), "MEMORY_MB": (131072, 2048, 1.0)}
        inventories = {
            "flat": {"VCPU": cores, "MEMORY_MB": memory, "DISK_GB": disk},
            "nested": {"DISK_GB": disk},
            "shared": {"VCPU": cores, "MEMORY_MB": memory},
        }[self.shape]
        root = self._add_provider(f"host-{number}", inventories)
        compute = [root]
        if self.shape == "nested":
            compute = [self._add_provider(f"host-{number}-numa-{n}", numa, root) for n in range(2)]
            for node in compute:
                for network in PHYSICAL_NETWORKS:
                    function = self._add_provider(f"{node.name}-{network[-1]}", {"SRIOV_NET_VF": (8, 0, 1.0)}, node)
                    function.traits = (network,)
        own = self.rng.sample(self.host_traits, self.rng.randint(0, 20))
        rare = [RARE_TRAIT] if number % 1000 == 500 else []
        root.traits = tuple({*self.traits_of_kinds[number % HOST_KINDS], *own, *rare})
        names = (f"zone {number % 10}", f"rack {number // 40}", f"pool {number // HOSTS_PER_POOL}")
        root.aggregates = tuple(self._aggregate(name) for name in names)
        self.hosts.append(Host(root, compute, self._pool(number) if self.shape == "shared" else root))

    def _aggregate(self, name):
        return self.aggregates.setdefault(name, str(uuid.UUID(int=_hash(-1 - len(self.aggregates)), version=4)))

    def _pool(self, number):
        if number % HOSTS_PER_POOL == 0:
            name = number // HOSTS_PER_POOL
            pool = self._add_provider(f"pool-{name}", {"DISK_GB": (3_000_000, 0, 1.0)})
            pool.traits, pool.aggregates = (SHARING_TRAIT,), (self._aggregate(f"pool {name}"),)
            self.pools.append(pool)
        return self.pools[-1]

    @functools.cached_property
    def consumers(self):
        """The uuids of each host's consumers."""
        return [[str(uuid.UUID(int=_hash(host.root.id * 64 + number + (1 << 40)), version=4))
                 for number in range(CONSUMERS_PER_HOST)] for host in self.hosts]

    def allocations(self):
        """Consumers with their allocations: (uuid, [(provider, class, amount), …])."""
        disk = 500 if self.shape == "shared" else 65
        for host, consumers in zip(self.hosts, self.consumers, strict=True):
            for number, consumer in enumerate(consumers):
                compute = host.compute[number % len(host.compute)]
                yield consumer, [(compute, "VCPU", 8), (compute, "MEMORY_MB", 4096), (host.disk, "DISK_GB", disk)]

    def as_json(self, class_ids, project, user):
        """The description that the load generator reads (`benches/load/cloud.rs`)."""
        return {"hosts": [host.as_json() for host in self.hosts], "project": project, "user": user,
                "classes": {name: class_ids[name] for name in CLASSES}}


def _hash(number):
    """128 bits that look random, as those of uuids do: SplitMix64, twice."""
    def mix(z):
        z = (z + 0x9E3779B97F4A7C15) & (1 << 64) - 1
        z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9 & (1 << 64) - 1
        z = (z ^ z >> 27) * 0x94D049BB133111EB & (1 << 64) - 1
        return z ^ z >> 31
    return mix(number) << 64 | mix(number ^ 0x5DEECE66D)
