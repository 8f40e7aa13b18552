"""The providers of a run: hosts with fixed totals, a shared pool, elastic hosts whose totals change, hosts that are
nearly always full, a private host for each client, a host for the bystanders of each process, and a full one."""

import uuid

HOSTS = [f"00000000-0000-4000-8000-00000000000{n}" for n in range(4)]
ELASTIC = [f"00000000-0000-4000-8000-00000000010{n}" for n in range(2)]
NEARLY_FULL = [f"00000000-0000-4000-8000-00000000020{n}" for n in range(2)]
PRIVATE_HOSTS = [f"00000000-0000-4000-8000-0000000003{n:02}" for n in range(12)]
POOL = "00000000-0000-4000-8000-0000000000ff"
HOST_TOTAL, POOL_TOTAL, NEARLY_FULL_TOTAL, PRIVATE_HOST_TOTAL = 40, 100, 4, 10
BYSTANDER_HOSTS = [f"00000000-0000-4000-8000-00000000040{n}" for n in range(3)]
FULL, FULL_CONSUMER = "00000000-0000-4000-8000-0000000005ff", "00000000-0000-4000-8000-0000000006ff"
BYSTANDER_TOTAL = 100_000
SMALL_ELASTIC_TOTAL, LARGE_ELASTIC_TOTAL = 30, 50  # the two totals of an elastic host
TOTALS = {
    **{host: {"VCPU": HOST_TOTAL} for host in HOSTS}, **{host: {"VCPU": LARGE_ELASTIC_TOTAL} for host in ELASTIC},
    **{host: {"VCPU": NEARLY_FULL_TOTAL} for host in NEARLY_FULL},
    **{host: {"VCPU": PRIVATE_HOST_TOTAL} for host in PRIVATE_HOSTS},
    POOL: {"DISK_GB": POOL_TOTAL}}
LEAST_TOTALS = TOTALS | {host: {"VCPU": SMALL_ELASTIC_TOTAL} for host in ELASTIC}
PROVIDERS = [*TOTALS]
QUERIED, TRAIT = [*HOSTS, *ELASTIC], "CUSTOM_QUERIED"  # the hosts that queries of calls find, and their trait
DIMENSION, RACKS = "fault", {host: f"/rack{number % 3}" for number, host in enumerate(QUERIED)}  # and their domains
# The consumers of a gang have consecutive uuids that begin so; then the size of the gang follows.
GANG = "fffffff"


def prepare(rest, has_domains=True):
    """Makes the providers; returns the generations of those whose usage is checked. OpenStack Placement has no
    domains.
    """
    others = {**{host: {"VCPU": BYSTANDER_TOTAL} for host in BYSTANDER_HOSTS}, FULL: {"VCPU": 1}}
    for provider, totals in (TOTALS | others).items():
        rest.must("POST", "/resource_providers", {"name": provider, "uuid": provider})
        inventories = {name: {"total": total} for name, total in totals.items()}
        rest.must("PUT", f"/resource_providers/{provider}/inventories", {
            "resource_provider_generation": 0, "inventories": inventories})
    rest.must("PUT", f"/allocations/{FULL_CONSUMER}", body({FULL: {"VCPU": 1}}, None))
    rest.must("PUT", f"/traits/{TRAIT}")
    for host in QUERIED:
        rest.must("PUT", f"/resource_providers/{host}/traits",
                  {"resource_provider_generation": 1, "traits": [TRAIT]})
        if has_domains:
            rest.must("PUT", f"/v1/providers/{host}", {"generation": None, "domains": {DIMENSION: RACKS[host]}})
    return {provider: rest.must("GET", f"/resource_providers/{provider}").json["generation"] for provider in PROVIDERS}


def random_claim(chance):
    """The resources of a claim: some of a host, and often some of the pool."""
    holds = {chance.choice(HOSTS + ELASTIC): {"VCPU": chance.randint(1, 4)}}
    if chance.random() < 0.6:
        holds[POOL] = {"DISK_GB": chance.randint(1, 5)}
    return holds


def new_consumer(chance):
    return str(uuid.UUID(int=chance.getrandbits(128), version=4))


def new_gang(chance, size):
    """The consumers of a gang. Every request that changes one of them changes all of them."""
    some = new_consumer(chance)
    return [f"{GANG}{size}{some[8:-1]}{number}" for number in range(size)]


def may_claim_again(consumer):
    """Whether the consumer may claim again after its release, and so have the same generation twice.

    Such a consumer is not wiped with `{}`, because the providers that a wipe touches are inferred from its generation.
    """
    return consumer[0] in "0123"


def body(holds, generation):
    return {"allocations": {provider: {"resources": dict(amounts)} for provider, amounts in holds.items()},
            "project_id": "chaos", "user_id": "chaos", "consumer_generation": generation, "consumer_type": "INSTANCE"}
