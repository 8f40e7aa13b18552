"""A workload of writes through one service, and a check that no further rows have changed."""

from functional_tests.lib.tables.contents import changed

PROJECTS, TYPES = {"project", "worker"}, {"INSTANCE", "WORKING"}
# The columns of an existing provider that may change.
MUTABLE_COLUMNS = {"generation", "updated_at"}


class Workload:
    """Changes existing providers and consumers, adds new ones, and records which it touched."""

    def __init__(self, rest, new_uuid):
        self.rest, self.new_uuid = rest, new_uuid
        self.providers, self.consumers, self.aggregates = set(), set(), set()

    def claim(self, consumer, resources, generation):
        self.consumers.add(consumer)
        self.rest.must("PUT", f"/allocations/{consumer}", {
            "allocations": {provider: {"resources": amounts} for provider, amounts in resources.items()},
            "project_id": "worker", "user_id": "worker", "consumer_generation": generation, "consumer_type": "WORKING"})
        self.providers |= resources.keys()

    def do(self, host, released, replaced):
        """Runs the workload on `host`, a provider with VCPU, and on two consumers with allocations."""
        path = f"/resource_providers/{host}"
        self.providers.add(host)
        self.rest.must("DELETE", f"/allocations/{released}")
        self.consumers.add(released)
        held = self.rest.must("GET", f"/allocations/{replaced}").json
        for provider in held["allocations"]:
            self.providers.add(provider)
        self.claim(replaced, {host: {"VCPU": 1}}, held["consumer_generation"])
        found = self.rest.must("GET", f"{path}/inventories").json
        found["inventories"]["VCPU"]["reserved"] += 1
        self.rest.must("PUT", f"{path}/inventories", found)
        new, aggregate = self.new_uuid(), self.new_uuid()
        self.rest.must("POST", "/resource_providers", {"name": new, "uuid": new, "parent_provider_uuid": host})
        self.providers.add(new)
        self.aggregates.add(aggregate)
        path = f"/resource_providers/{new}"
        self.rest.must("PUT", f"{path}/inventories", {
            "resource_provider_generation": 0, "inventories": {"VCPU": {"total": 8}}})
        self.rest.must("PUT", f"{path}/aggregates", {"resource_provider_generation": 1, "aggregates": [aggregate]})
        self.rest.must("PUT", f"{path}/traits", {"resource_provider_generation": 2, "traits": ["HW_CPU_X86_VMX"]})
        self.claim(self.new_uuid(), {new: {"VCPU": 2}, host: {"VCPU": 1}}, None)

    def unexpected_differences(self, before, after):
        """Changed rows that the workload did not touch, and touched rows in which other columns changed."""
        ids = {row["id"] for found in (before, after) for row in found["resource_providers"]
               if row["uuid"] in self.providers}
        named = {
            "resource_providers": ("uuid", self.providers), "consumers": ("uuid", self.consumers),
            "inventories": ("resource_provider_id", ids), "resource_provider_traits": ("resource_provider_id", ids),
            "resource_provider_aggregates": ("resource_provider_id", ids),
            "allocations": ("consumer_id", self.consumers), "placement_aggregates": ("uuid", self.aggregates),
            "projects": ("external_id", PROJECTS), "users": ("external_id", PROJECTS),
            "consumer_types": ("name", TYPES)}
        wrong = []
        for table, (gone, came) in changed(before, after).items():
            column, touched = named.get(table, (None, ()))
            wrong += [(table, row) for row in gone + came if row.get(column) not in touched]
            if table not in ("allocations", "consumers"):
                wrong += [(table, old) for old in gone if not any(same(table, old, new) for new in came)]
        return wrong


def same(table, old, new):
    """Whether two rows differ only in columns that may change."""
    moving = {"resource_providers": MUTABLE_COLUMNS, "inventories": {"reserved", "updated_at"}}.get(table, set())
    return all(old.get(name) == new.get(name) for name in (old.keys() | new.keys()) - moving)
