"""Nova's report client and neutron-lib's placement client, from PyPI, with a password and Keystone's catalogue.

    python nova_client.py nova.conf HOST SERVER PROJECT

It runs in Keystone's virtual environment, and prints a line for each step. Each step is one call of the client.
"""

import sys

from keystoneauth1 import loading
from neutron_lib.placement import client as neutron_client
from nova import conf, context, objects
from nova.scheduler.client import report
from nova.scheduler import utils
from oslo_config import cfg

CLASSES = {"VCPU": {"total": 8, "max_unit": 8, "allocation_ratio": 4.0, "reserved": 0, "min_unit": 1, "step_size": 1}}


def step(name, holds):
    if not holds:
        sys.exit(f"FAILED {name}")
    print(f"step {name}", flush=True)


def host_as_compute(client, admin, host):
    """What nova-compute does with its host."""
    tree = client.get_provider_tree_and_ensure_root(admin, host, name="compute-1")
    tree.update_inventory(host, CLASSES)
    tree.update_traits(host, ["COMPUTE_NODE", "CUSTOM_NOVA"])
    client.update_from_provider_tree(admin, tree)
    client.clear_provider_cache()
    tree = client.get_provider_tree_and_ensure_root(admin, host)
    step("the compute reports its inventory", tree.data(host).inventory["VCPU"]["total"] == 8)
    step("the compute reports its traits", tree.data(host).traits == {"COMPUTE_NODE", "CUSTOM_NOVA"})


def server_as_scheduler(client, admin, host, server, project):
    """What nova-scheduler and nova-conductor do with a server."""
    flavor = objects.Flavor(vcpus=2, memory_mb=0, root_gb=0, ephemeral_gb=0, swap=0, extra_specs={})
    spec = objects.RequestSpec(flavor=flavor, is_bfv=False, requested_resources=[])
    request = utils.ResourceRequest.from_request_spec(spec)
    candidates, summaries, version = client.get_allocation_candidates(admin, request)
    step("the scheduler finds the host", set(summaries) == {host})
    step("the scheduler claims", client.claim_resources(
        admin, server, candidates[0], project, "user-1", version))
    held = client.get_allocs_for_consumer(admin, server)["allocations"]
    step("the conductor reads the claim", held[host]["resources"] == {"VCPU": 2})
    counts = client.get_usages_counts_for_quota(admin, project, "user-1")
    step("the API counts the quota", counts == {"project": {"cores": 2, "ram": 0}, "user": {"cores": 2, "ram": 0}})
    step("the compute reads its allocations", set(
        client.get_allocations_for_resource_provider(admin, host).allocations) == {server})
    step("the server is deleted", client.delete_allocation_for_instance(admin, server, force=True))


def devices_as_neutron(settings, host):
    """What Neutron's agents do with their devices."""
    client = neutron_client.PlacementAPIClient(settings)
    device = "d0000000-0000-4000-8000-0000000000d1"
    client.ensure_resource_provider({"name": "agent", "uuid": device, "parent_provider_uuid": host})
    client.update_trait("CUSTOM_PHYSNET_1")
    client.update_resource_provider_traits(device, ["CUSTOM_PHYSNET_1"], resource_provider_generation=0)
    client.update_resource_provider_inventories(
        device, {"NET_BW_EGR_KILOBIT_PER_SEC": {"total": 1000}}, resource_provider_generation=1)
    inventory = client.get_inventory(device, "NET_BW_EGR_KILOBIT_PER_SEC")
    step("neutron-lib reports bandwidth", inventory["total"] == 1000)
    step("neutron-lib lists its provider", [row["uuid"] for row in client.list_resource_providers(
        name="agent")["resource_providers"]] == [device])
    client.delete_resource_provider(device)


def neutron_settings(path):
    """The section [placement] as Neutron reads it."""
    settings = cfg.ConfigOpts()
    loading.register_session_conf_options(settings, "placement")
    loading.register_auth_conf_options(settings, "placement")
    settings.register_opts([cfg.StrOpt("region_name"), cfg.StrOpt("endpoint_type", default="public")], "placement")
    settings(["--config-file", path])
    return settings


def main():
    path, host, server, project = sys.argv[1:]
    conf.CONF(["--config-file", path], project="nova")
    objects.register_all()
    client, admin = report.SchedulerReportClient(), context.get_admin_context()
    host_as_compute(client, admin, host)
    server_as_scheduler(client, admin, host, server, project)
    devices_as_neutron(neutron_settings(path), host)


if __name__ == "__main__":
    main()
