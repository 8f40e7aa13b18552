"""The initial data of gabbi files: providers, inventories, traits, aggregates and claims."""

SHARES = "MISC_SHARES_VIA_AGGREGATE"
EGRESS, INGRESS = "NET_BW_EGR_KILOBIT_PER_SEC", "NET_BW_IGR_KILOBIT_PER_SEC"
STORAGE = {"DISK_GB": {"total": 2000, "reserved": 100}}


def three_claims(builder):
    """One provider, and three consumers of one project and two users."""
    env = builder.environ
    builder.uuids("ALT_USER_ID", "ALT_RP_UUID", "ALT_RP_NAME")
    project, user, other = env["PROJECT_ID"], env["USER_ID"], env["ALT_USER_ID"]
    host = builder.provider(env["RP_NAME"], uuid=env["RP_UUID"], inventories={
        "DISK_GB": {"total": 2048, "step_size": 10, "min_unit": 10, "max_unit": 1000},
        "VCPU": 10})
    env["CONSUMER_0"] = builder.claim(host, {"DISK_GB": 1000}, project, user)
    env["CONSUMER_ID"] = builder.claim(host, {"VCPU": 6}, project, user)
    env["ALT_CONSUMER_ID"] = builder.claim(host, {"DISK_GB": 20, "VCPU": 1}, project, other)


def shared_storage(builder):
    """Two compute trees, one without a disk of its own, beside two sharing disks."""
    everyone = builder.uuids("AGG_UUID")
    compute = {"VCPU": {"total": 24, "allocation_ratio": 16.0},
               "MEMORY_MB": {"total": 128 * 1024, "allocation_ratio": 1.5}}
    sse = ["HW_CPU_X86_SSE", "HW_CPU_X86_SSE2"]
    hosts = [
        builder.provider("cn1", "CN1_UUID", None, everyone, sse, compute),
        builder.provider("cn2", "CN2_UUID", None, everyone, (), compute | STORAGE)]
    for name in ("ss", "ss2"):
        builder.provider(name, f"{name.upper()}_UUID", None, everyone, [SHARES], STORAGE)
    for h, host in enumerate(hosts, 1):
        for n in (1, 2):
            numa = builder.provider(f"numa{h}_{n}", f"NUMA{h}_{n}_UUID", host)
            builder.provider(f"pf{h}_{n}", f"PF{h}_{n}_UUID", numa, inventories={"SRIOV_NET_VF": 8})


def local_storage(builder):
    """Three equal hosts with disks of their own. The aggregates have no members."""
    builder.uuids("AGGA_UUID", "AGGB_UUID", "AGGC_UUID")
    for n in (1, 2, 3):
        builder.provider(f"cn{n}", f"CN{n}_UUID", inventories={
            "VCPU": 24, "MEMORY_MB": 128 * 1024, "DISK_GB": 2000})


def numa_aggregates(builder):
    """Two trees whose NUMA nodes have the CPUs. Only one node is in the aggregate of the second sharing disk."""
    a, b, c = builder.uuids("AGGA_UUID", "AGGB_UUID", "AGGC_UUID")
    roots = [builder.provider("cn1", "CN1_UUID", aggregates=[a]),
             builder.provider("cn2", "CN2_UUID", aggregates=[a, b])]
    builder.provider("ss1", "SS1_UUID", None, [a], [SHARES], STORAGE)
    builder.provider("ss2", "SS2_UUID", None, [c], [SHARES], STORAGE)
    for r, root in enumerate(roots, 1):
        for n in (1, 2):
            builder.provider(
                f"numa{r}_{n}", f"NUMA{r}_{n}_UUID", root, [c] if (r, n) == (1, 1) else [],
                inventories={"VCPU": {"total": 24, "allocation_ratio": 16.0}})


def numa_network(builder, parents=(None, None)):
    """A host of NUMA nodes, devices and network agents, and a host without nodes but with NIC subtrees."""
    a = builder.uuids("AGGA_UUID")
    builder.provider("ss1", "SS1_UUID", None, a, [SHARES], {"DISK_GB": 2000})
    first = builder.provider("cn1", "CN1_UUID", parents[0], a, ["COMPUTE_VOLUME_MULTI_ATTACH"])
    numa0 = builder.provider("numa0", "NUMA0_UUID", first, traits=["HW_NUMA_ROOT"], inventories={
        "VCPU": 4, "MEMORY_MB": {"total": 2048, "min_unit": 512, "step_size": 256}})
    numa1 = builder.provider(
        "numa1", "NUMA1_UUID", first, traits=["HW_NUMA_ROOT", "CUSTOM_FOO"], inventories={
            "VCPU": 4, "MEMORY_MB": {"total": 2048, "min_unit": 256, "max_unit": 1024}})
    builder.claim(numa0, {"VCPU": 2}, "numafx-project", "numafx-user")
    builder.provider("fpga0", "FPGA0_UUID", numa0, inventories={"FPGA": 1})
    builder.provider("pgpu0", "PGPU0_UUID", numa0, inventories={"VGPU": 8})
    for n in (0, 1):
        builder.provider(f"fpga1_{n}", f"FPGA1_{n}_UUID", numa1, inventories={"FPGA": 1})
    _agents(builder, first)

    second = builder.provider("cn2", "CN2_UUID", parents[1], a, ["CUSTOM_FOO"], {
        "VCPU": 8, "MEMORY_MB": {"total": 2048, "min_unit": 1024, "step_size": 128},
        "DISK_GB": 1000})
    builder.claim(second, {"VCPU": 3}, "numafx-project", "numafx-user")
    # For each NIC its physical functions: the network of each, and how many virtual functions.
    for n, (networks, functions) in enumerate([((1, 2), 4), ((1, 2, 1, 2), 2), ((1,), 8)], 1):
        nic = builder.provider(f"nic{n}", f"NIC{n}_UUID", second, traits=["CUSTOM_HW_NIC_ROOT"])
        for p, network in enumerate(networks, 1):
            builder.provider(f"pf{n}_{p}", f"PF{n}_{p}_UUID", nic,
                           traits=[f"CUSTOM_PHYSNET{network}"],
                           inventories={"CUSTOM_VF": functions})


def _agents(builder, host):
    sriov = builder.provider("sriov_agent", "SRIOV_AGENT_UUID", host,
                           traits=["CUSTOM_VNIC_TYPE_DIRECT"])
    for n in (1, 2):
        builder.provider(f"esn{n}", f"ESN{n}_UUID", sriov, traits=[f"CUSTOM_PHYSNET{n}"],
                       inventories={EGRESS: 10000 * n})
    ovs = builder.provider("ovs_agent", "OVS_AGENT_UUID", host, traits=["CUSTOM_VNIC_TYPE_NORMAL"])
    builder.provider("br_int", "BR_INT_UUID", ovs, traits=["CUSTOM_PHYSNET0"],
                   inventories={EGRESS: 1000})


def deep_numa_network(builder):
    """The hosts of numa_network, each two levels further down in one tree."""
    top = builder.provider("gp1")
    numa_network(builder, [builder.provider(name, parent=top) for name in ("p1", "p2")])


def granular(builder):
    """Three hosts and three sharing providers whose aggregates overlap in part."""
    a, b, c = builder.uuids("AGGA", "AGGB", "AGGC")
    builder.rest.must("PUT", "/resource_classes/CUSTOM_NET_MBPS")
    network = {"SRIOV_NET_VF": 8, "CUSTOM_NET_MBPS": 4000}
    base = {"VCPU": 8, "MEMORY_MB": 4096}
    avx = ["HW_CPU_X86_AVX", "HW_CPU_X86_AVX2"]
    builder.provider(
        "cn_left", "CN_LEFT", None, [a], avx + ["HW_GPU_API_DXVA", "HW_NIC_DCB_PFC", "CUSTOM_FOO"],
        base | {"DISK_GB": 500, "VGPU": 8} | network)
    builder.provider(
        "cn_middle", "CN_MIDDLE", None, [a, b], avx + ["HW_CPU_X86_SSE", "HW_NIC_ACCEL_TLS"],
        base | network)
    builder.provider(
        "cn_right", "CN_RIGHT", None, [b, c],
        ["HW_CPU_X86_MMX", "HW_GPU_API_DXVA", "CUSTOM_DISK_SSD"],
        base | {"DISK_GB": 500, "VGPU": {"total": 8, "max_unit": 2}})
    builder.provider("shr_disk_1", "SHR_DISK_1", None, [a], [SHARES, "CUSTOM_DISK_SSD"],
                   {"DISK_GB": 1000})
    builder.provider("shr_disk_2", "SHR_DISK_2", None, [a, b], [SHARES], {"DISK_GB": 1000})
    builder.provider("shr_net", "SHR_NET", None, [c], [SHARES],
                   {"SRIOV_NET_VF": 16, "CUSTOM_NET_MBPS": 40000})


def qos_segments(builder):
    """Four hosts with bandwidth on bridges and NICs, connected to none, one or both segments."""
    other, s1, s2 = "CUSTOM_PHYSNET_OTHER", "CUSTOM_PHYSNET_MSN_S1", "CUSTOM_PHYSNET_MSN_S2"
    # For each host the networks of its bridges and of its NICs, and their bandwidths.
    plans = [([other], 5000, 10000), ([s1], 5000, 10000), ([s2], 5000, 10000),
             ([s1, s2], 1000, 1000)]
    normal = ["CUSTOM_VNIC_TYPE_NORMAL"]
    direct = ["CUSTOM_VNIC_TYPE_DIRECT", "CUSTOM_VNIC_TYPE_DIRECT_PHYSICAL",
              "CUSTOM_VNIC_TYPE_MACVTAP"]
    for h, (networks, bridge, nic) in enumerate(plans):
        host = f"compute{h}"
        root = builder.provider(host, host, inventories={
            "VCPU": 8, "MEMORY_MB": 4096, "DISK_GB": 500})
        ovs = builder.provider(f"{host}:Open vSwitch agent", f"{host}:ovs_agent", root,
                             traits=normal,
                             inventories={"NET_PACKET_RATE_KILOPACKET_PER_SEC": 1000})
        sriov = builder.provider(f"{host}:NIC Switch agent", f"{host}:sriov_agent", root,
                               traits=direct)
        for n, network in enumerate(networks):
            suffix = str(n + 1) if n else ""
            builder.provider(f"{host}:Open vSwitch agent:br-ex{suffix}", f"{host}:br_ex{suffix}",
                           ovs, traits=normal + [network],
                           inventories={EGRESS: bridge, INGRESS: bridge})
            builder.provider(f"{host}:NIC Switch agent:enp129s0f{n}", f"{host}:pf{n}", sriov,
                           traits=direct + [network], inventories={EGRESS: nic, INGRESS: nic})
