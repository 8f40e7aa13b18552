"""The scenarios: the requests, the numbers of clients, and the systems that each is for."""

from benches.compare.cloud import RARE_TRAIT

# Clients of searches and lists.
READING_CLIENTS = 4
PROCESSES_ON_ONE_POOL = 3
# These numbers of claiming and reporting clients are measured on all systems in all clouds, others on placet in one
# cloud.
MANY_CLIENTS = 32
COMPARED_CLIENTS = (1, MANY_CLIENTS)
CLAIMING_CLIENTS = (1, 8, MANY_CLIENTS, 128)
SCHEDULING_CLIENTS = (1, 8, MANY_CLIENTS)
REPORTING_CLIENTS = (8, MANY_CLIENTS)
# What a scheduler of two steps asks for.
SCHEDULER_PATH = "/allocation_candidates?resources=VCPU:1,MEMORY_MB:512,DISK_GB:1&limit=1000"
# The length of a round of a scenario that writes, and of one that only reads.
WRITE_SECONDS, READ_SECONDS = 0.6, 0.4
# Searches that take OpenStack Placement longest.
SLOW_CANDIDATES = ("no limit", "traits", "granular, same_subtree")

# Groups that have clouds of their own.
SEPARATE_GROUPS = ("search", "growth", "refusals", "claims-together", "first-candidates", "one-call")
GROUPS = ("candidates", "list", "claims", "processes", "scheduler", "report", "start", *SEPARATE_GROUPS)


class Scenario:
    """What clients do, how many they are, and on which systems it is measured.

    `kind` is the scenario's name in the load generator, `baseline` the system that is the baseline, `more` has further
    options of the load generator.

    Two attributes leave something out unless everything is measured. A scenario with `only_shape` is measured on placet
    alone, in that shape, on the first engine. One that `is_slow_upstream` is measured on OpenStack Placement on the
    first engine alone.
    """

    def __init__(self, name, kind, clients, path=None, baseline=None, seconds=WRITE_SECONDS, group=None, processes=1,
                 only_shape=None, is_slow_upstream=False, more=None):
        self.name, self.kind, self.clients, self.path = name, kind, clients, path
        self.baseline, self.seconds = baseline, seconds
        self.group, self.processes = group or name, processes
        self.only_shape, self.is_slow_upstream = only_shape, is_slow_upstream
        self.more = more or {}

    @property
    def is_for_upstream(self):
        # More processes of OpenStack Placement would be another deployment of it, not another scenario.
        return self.processes == 1

    @property
    def writes(self):
        return self.kind != "get"

    def options(self, **other):
        """The options of the load generator."""
        options = {"scenario": self.kind, "clients": self.clients, "seconds": self.seconds}
        return options | ({"path": self.path} if self.path else {}) | self.more | other


def scenarios(cloud):
    """All scenarios of a cloud's shape, in the order of the tables."""
    return [*_candidates(cloud), *_lists(cloud), *_claims(cloud), *_schedulers(cloud), *_reports(),
            *_processes(cloud)]


def _candidates(cloud):
    base = "/allocation_candidates?resources=VCPU:1,MEMORY_MB:512,DISK_GB:1"
    # A pool is in no zone, and in no host's tree.
    aggregate, in_tree = ("pool 3", base.replace(",DISK_GB:1", "")) if cloud.shape == "shared" else ("zone 3", base)
    # Less than a provider's total, and more than any has free.
    memory = 100_000 if cloud.shape == "nested" else 200_000
    one, other = cloud.traits_of_kinds[0][:2]
    paths = {
        "limit 1000": f"{base}&limit=1000",
        "no limit": base,
        "traits": f"{base}&required={one},{other}&limit=1000",
        "one host in 1000 fits": f"{base}&root_required={RARE_TRAIT}&limit=1000",
        "member_of": f"{base}&member_of={cloud.aggregates[aggregate]}&limit=1000",
        "in_tree": f"{in_tree}&in_tree={{host}}",
        "nothing fits": f"/allocation_candidates?resources=VCPU:1,MEMORY_MB:{memory},DISK_GB:1&limit=1000",
    }
    if cloud.shape == "nested":
        paths["granular, same_subtree"] = (
            "/allocation_candidates?resources=DISK_GB:1&resources_NUMA=VCPU:1,MEMORY_MB:512"
            "&resources_NET=SRIOV_NET_VF:1&same_subtree=_NUMA,_NET&group_policy=none&limit=1000")
    for name, path in paths.items():
        yield Scenario(f"candidates, {name}", "get", READING_CLIENTS, path, "canned_server", READ_SECONDS, "candidates",
                       is_slow_upstream=name in SLOW_CANDIDATES)


def _lists(cloud):
    # A class that every root has.
    resource_class = "VCPU" if cloud.shape == "shared" else "DISK_GB"
    paths = {
        "all": "/resource_providers",
        "by resources, trait and aggregate":
            f"/resource_providers?resources={resource_class}:1&required={cloud.traits_of_kinds[0][0]}"
            f"&member_of={cloud.aggregates['zone 0']}",
    }
    for name, path in paths.items():
        yield Scenario(f"list, {name}", "get", READING_CLIENTS, path, "canned_server", READ_SECONDS, "list")


def _claims(cloud):
    for clients in CLAIMING_CLIENTS:
        yield Scenario("claims, random hosts", "claims", clients, baseline="sql_baseline", group="claims",
                       only_shape=None if clients in COMPARED_CLIENTS else "flat")
    if cloud.shape == "shared":
        for clients in CLAIMING_CLIENTS:
            yield Scenario("claims, all on one pool", "claims-one-pool", clients, group="claims",
                           only_shape=None if clients == MANY_CLIENTS else "shared")


def _schedulers(cloud):
    for clients in SCHEDULING_CLIENTS:
        yield Scenario("scheduler loop", "scheduler", clients, SCHEDULER_PATH, group="scheduler",
                       only_shape=None if clients == MANY_CLIENTS else "flat", is_slow_upstream=True)


def _reports():
    for clients in REPORTING_CLIENTS:
        yield Scenario("compute node report", "report", clients, baseline="sql_baseline", group="report",
                       only_shape=None if clients in COMPARED_CLIENTS else "flat")


def _processes(cloud):
    """They come last, because after them the first process shares its database."""
    if cloud.shape == "shared":
        yield Scenario(f"claims, one pool, {PROCESSES_ON_ONE_POOL} processes", "claims-one-pool", MANY_CLIENTS,
                       group="processes", processes=PROCESSES_ON_ONE_POOL)


def is_of_growth(scenario):
    """Whether it is also measured in a smaller cloud, on placet alone."""
    return (scenario.name in ("candidates, limit 1000", "claims, random hosts")
            and scenario.clients in (READING_CLIENTS, *COMPARED_CLIENTS))
