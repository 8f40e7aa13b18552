"""The fixtures of gabbi files: a configuration and initial data for each.

The data is made over the API (topologies.py). The names in the environment are the names in the gabbi files.
"""

from dataclasses import dataclass, field

from functional_tests.conformance import topologies
from functional_tests.conformance.topology_builder import TopologyBuilder, new_uuid

RANDOM_UUIDS = (
    "RP_UUID", "RP_NAME", "RP_UUID1", "RP_NAME1", "RP_UUID2", "RP_NAME2",
    "PROJECT_ID", "PROJECT_ID_ALT", "ADMIN_PROJECT_ID", "SERVICE_PROJECT_ID",
    "USER_ID", "USER_ID_ALT", "INSTANCE_UUID", "MIGRATION_UUID", "CONSUMER_UUID",
    "PARENT_PROVIDER_UUID", "ALT_PARENT_PROVIDER_UUID",
)
CLASSES = {
    "CUSTOM_RES_CLASS": "CUSTOM_IRON_NFV",
    "CUSTOM_RES_CLASS1": "CUSTOM_IRON_NFV1",
    "CUSTOM_RES_CLASS2": "CUSTOM_IRON_NFV2",
}


@dataclass
class Fixture:
    options: dict = field(default_factory=dict)  # section -> option -> value
    files: dict = field(default_factory=dict)  # name in the service's folder -> text
    data: object = None  # a function of the TopologyBuilder


def _open_policy():
    """A policy file that allows every operation to every caller."""
    from placement import policies

    names = [rule.name for rule in policies.list_rules() if rule.name != "admin_api"]
    return "".join(f'"{name}": "@"\n' for name in names)


LEGACY = {"oslo_policy": {"enforce_new_defaults": "false"}}
SECURE = {"oslo_policy": {"enforce_new_defaults": "true"}}
CORS = {"cors": {"allowed_origin": "http://valid.example.com",
                 "allow_headers": "openstack-api-version"}, **LEGACY}
OPEN = {"oslo_policy": {"policy_file": "{folder}/policy.yaml", "enforce_new_defaults": "false"}}


def fixture(name):
    """The fixture that a gabbi file calls `name`."""
    table = {
        "APIFixture": Fixture(LEGACY),
        "LegacyRBACPolicyFixture": Fixture(LEGACY),
        "SecureRBACPolicyFixture": Fixture(SECURE),
        "CORSFixture": Fixture(CORS),
        "AllocationFixture": Fixture(LEGACY, data=topologies.three_claims),
        "SharedStorageFixture": Fixture(LEGACY, data=topologies.shared_storage),
        "NonSharedStorageFixture": Fixture(LEGACY, data=topologies.local_storage),
        "NUMAAggregateFixture": Fixture(LEGACY, data=topologies.numa_aggregates),
        "NUMANetworkFixture": Fixture(LEGACY, data=topologies.numa_network),
        "DeepNUMANetworkFixture": Fixture(LEGACY, data=topologies.deep_numa_network),
        "GranularFixture": Fixture(LEGACY, data=topologies.granular),
        "NeutronQoSMultiSegmentFixture": Fixture(LEGACY, data=topologies.qos_segments),
    }
    if name == "OpenPolicyFixture":
        return Fixture(OPEN, {"policy.yaml": _open_policy()})
    return table[name]


def prepare(chosen, port):
    """Makes the fixture's data in the service at `port`; returns the environment for the tests."""
    builder = TopologyBuilder(port)
    builder.environ = {name: new_uuid() for name in RANDOM_UUIDS} | CLASSES
    if chosen.data:
        chosen.data(builder)
    return builder.environ
