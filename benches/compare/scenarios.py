"""What is asked of each side, and by how many clients."""

from cloud import RARE

READERS = 4
PROCESSES = 3
# With so many clients everybody is asked in every cloud; with the rest placet in one cloud.
CROWD = 32
COMPARED = (1, CROWD)
CLAIMANTS = (1, 8, CROWD, 128)
SCHEDULERS = (1, 8, CROWD)
REPORTERS = (8, CROWD)
# Seconds of a round, and of one of what asks for nothing to be written.
LONG, SHORT = 0.6, 0.4
# Candidates for which OpenStack Placement takes longest.
SLOW = ("no limit", "traits", "granular, same_subtree")


class Scenario:
    """A name, what the generator does, by how many, and whom it is asked of (`bound`: what placet is held against). `only`:
    the shape on which alone a scenario that tells little more is asked, on the first engine; `is_slow`: OpenStack Placement
    is asked on that engine alone. Unless all is asked for."""

    def __init__(self, name, what, clients, path=None, bound=None, seconds=LONG, group=None, processes=1, only=None,
                 is_slow=False):
        self.name, self.what, self.clients, self.path = name, what, clients, path
        self.bound, self.seconds = bound, seconds
        self.group, self.processes = group or name, processes
        # OpenStack Placement knows nothing of its other processes.
        self.upstream = processes == 1
        self.only, self.is_slow = only, is_slow
        self.writes = what != "get"

    def options(self, **other):
        options = {"scenario": self.what, "clients": self.clients, "seconds": self.seconds}
        return options | ({"path": self.path} if self.path else {}) | other


def scenarios(cloud):
    """All of a shape's, in the order of the table."""
    return [*_candidates(cloud), *_lists(cloud), *_claims(cloud), *_schedulers(cloud), *_reports(),
            *_processes(cloud)]


def _candidates(cloud):
    base = "/allocation_candidates?resources=VCPU:1,MEMORY_MB:512,DISK_GB:1"
    # A pool is in no zone, and in nobody's tree.
    group, tree = ("pool 3", base.replace(",DISK_GB:1", "")) if cloud.shape == "shared" else ("zone 3", base)
    # No host has so much left, and each has it in all.
    much = 100_000 if cloud.shape == "nested" else 200_000
    one, other = cloud.kinds[0][:2]
    paths = {
        "limit 1000": f"{base}&limit=1000",
        "no limit": base,
        "traits": f"{base}&required={one},{other}&limit=1000",
        "one host in 1000 fits": f"{base}&root_required={RARE}&limit=1000",
        "member_of": f"{base}&member_of={cloud.aggregates[group]}&limit=1000",
        "in_tree": f"{tree}&in_tree={{host}}",
        "nothing fits": f"/allocation_candidates?resources=VCPU:1,MEMORY_MB:{much},DISK_GB:1&limit=1000",
    }
    if cloud.shape == "nested":
        paths["granular, same_subtree"] = (
            "/allocation_candidates?resources=DISK_GB:1&resources_NUMA=VCPU:1,MEMORY_MB:512"
            "&resources_NET=SRIOV_NET_VF:1&same_subtree=_NUMA,_NET&group_policy=none&limit=1000")
    for name, path in paths.items():
        yield Scenario(f"candidates, {name}", "get", READERS, path, "wire", SHORT, "candidates", is_slow=name in SLOW)


def _lists(cloud):
    # What every root has.
    stock = "VCPU" if cloud.shape == "shared" else "DISK_GB"
    paths = {
        "all": "/resource_providers",
        "by room, trait and aggregate":
            f"/resource_providers?resources={stock}:1&required={cloud.kinds[0][0]}"
            f"&member_of={cloud.aggregates['zone 0']}",
    }
    for name, path in paths.items():
        yield Scenario(f"list, {name}", "get", READERS, path, "wire", SHORT, "list")


def _claims(cloud):
    for clients in CLAIMANTS:
        yield Scenario("claims, random hosts", "claims", clients, bound="floor", group="claims", only=_only(clients, "flat"))
    if cloud.shape == "shared":
        for clients in CLAIMANTS:
            yield Scenario("claims, all on one pool", "claims-one-pool", clients, group="claims",
                           only=None if clients == CROWD else "shared")


def _only(clients, shape):
    return None if clients in COMPARED else shape


def _schedulers(cloud):
    path = "/allocation_candidates?resources=VCPU:1,MEMORY_MB:512,DISK_GB:1&limit=1000"
    for clients in SCHEDULERS:
        yield Scenario("scheduler's loop", "scheduler", clients, path, group="scheduler",
                       only=None if clients == CROWD else "flat", is_slow=True)


def _reports():
    for clients in REPORTERS:
        yield Scenario("a compute node's report", "report", clients, bound="floor", group="report",
                       only=_only(clients, "flat"))


def _processes(cloud):
    """At the end: after it one process is no longer alone at its database."""
    if cloud.shape == "shared":
        yield Scenario(f"claims, one pool, {PROCESSES} processes", "claims-one-pool", CROWD, group="processes",
                       processes=PROCESSES)


def is_of_growth(scenario):
    """Whether placet alone is asked it in a smaller cloud too."""
    return scenario.name in ("candidates, limit 1000", "claims, random hosts") and scenario.clients in (READERS, *COMPARED)


GROUPS = ("candidates", "list", "claims", "processes", "scheduler", "report", "start", "search", "growth")
