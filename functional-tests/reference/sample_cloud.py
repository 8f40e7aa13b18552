"""A small cloud with fixed names, for the samples and for random requests."""

OPTIONS = {"oslo_policy": {"enforce_new_defaults": "false"}}

RACK = "a0000000-0000-4000-8000-0000000000a1"
HOST = "a0000000-0000-4000-8000-000000000001"
OTHER_HOST = "a0000000-0000-4000-8000-000000000002"
CARD = "a0000000-0000-4000-8000-000000000003"
SPARE = "a0000000-0000-4000-8000-000000000009"
SERVER = "a0000000-0000-4000-8000-0000000000c1"
OTHER_SERVER = "a0000000-0000-4000-8000-0000000000c2"
NEW_SERVER = "a0000000-0000-4000-8000-0000000000c3"
PROJECT = "a0000000-0000-4000-8000-0000000000f1"
USER = "a0000000-0000-4000-8000-0000000000f2"

PROVIDERS = [HOST, OTHER_HOST, CARD, SPARE]
CONSUMERS = [SERVER, OTHER_SERVER, NEW_SERVER]
CLASSES = ["VCPU", "MEMORY_MB", "SRIOV_NET_VF", "CUSTOM_GOLD"]
TRAITS = ["HW_CPU_X86_AVX2", "COMPUTE_NODE", "CUSTOM_FAST"]


def claim(allocations, generation=None, **more):
    """A claim in the form of the newest version."""
    return {"allocations": {provider: {"resources": resources} for provider, resources in allocations.items()},
            "project_id": PROJECT, "user_id": USER, "consumer_generation": generation,
            "consumer_type": "INSTANCE"} | more


def build(rest):
    """Two hosts in a rack and an empty host. The first has a network card and a server."""
    rest.must("PUT", "/resource_classes/CUSTOM_GOLD")
    rest.must("PUT", "/traits/CUSTOM_FAST")
    for name, uuid, parent in [("host1", HOST, None), ("host2", OTHER_HOST, None), ("host1-nic", CARD, HOST),
                               ("spare", SPARE, None)]:
        body = {"name": name, "uuid": uuid} | ({"parent_provider_uuid": parent} if parent else {})
        rest.must("POST", "/resource_providers", body)
    for host in HOST, OTHER_HOST:
        inventories = {"VCPU": {"total": 8, "allocation_ratio": 4.0},
                       "MEMORY_MB": {"total": 32768, "reserved": 1024, "step_size": 256}}
        rest.must("PUT", f"/resource_providers/{host}/inventories",
                  {"resource_provider_generation": 0, "inventories": inventories})
        rest.must("PUT", f"/resource_providers/{host}/aggregates",
                  {"resource_provider_generation": 1, "aggregates": [RACK]})
    rest.must("PUT", f"/resource_providers/{CARD}/inventories",
              {"resource_provider_generation": 0, "inventories": {"SRIOV_NET_VF": {"total": 4}}})
    rest.must("PUT", f"/resource_providers/{HOST}/traits",
              {"resource_provider_generation": 2, "traits": ["COMPUTE_NODE", "CUSTOM_FAST", "HW_CPU_X86_AVX2"]})
    for server, host in [(SERVER, HOST), (OTHER_SERVER, OTHER_HOST)]:
        rest.must("PUT", f"/allocations/{server}", claim({host: {"VCPU": 2, "MEMORY_MB": 4096}}))
