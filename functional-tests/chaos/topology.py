"""What there is to claim: hosts of fixed room, a pool that all share, hosts whose room changes, hosts that are almost
always full, and for each client a desk that nobody else asks for."""

import uuid

HOSTS = [f"00000000-0000-4000-8000-00000000000{n}" for n in range(4)]
ELASTIC = [f"00000000-0000-4000-8000-00000000010{n}" for n in range(2)]
NEARLY_FULL = [f"00000000-0000-4000-8000-00000000020{n}" for n in range(2)]
PRIVATE_HOSTS = [f"00000000-0000-4000-8000-0000000003{n:02}" for n in range(12)]
POOL = "00000000-0000-4000-8000-0000000000ff"
HOST_TOTAL, POOL_TOTAL, NEARLY_FULL_TOTAL, PRIVATE_HOST_TOTAL = 40, 100, 4, 10
SMALL, LARGE = 30, 50  # the totals that an elastic host goes between
TOTALS = {
    **{host: {"VCPU": HOST_TOTAL} for host in HOSTS}, **{host: {"VCPU": LARGE} for host in ELASTIC},
    **{host: {"VCPU": NEARLY_FULL_TOTAL} for host in NEARLY_FULL},
    **{host: {"VCPU": PRIVATE_HOST_TOTAL} for host in PRIVATE_HOSTS},
    POOL: {"DISK_GB": POOL_TOTAL}}
PROVIDERS = [*TOTALS]


def prepare(rest):
    """Makes the world; returns the providers' generations."""
    for provider, totals in TOTALS.items():
        rest.must("POST", "/resource_providers", {"name": provider, "uuid": provider})
        rest.must("PUT", f"/resource_providers/{provider}/inventories", {
            "resource_provider_generation": 0, "inventories": {name: {"total": total} for name, total in totals.items()}})
    return dict.fromkeys(PROVIDERS, 1)


def random_claim(chance):
    """What a claim asks for: a host, and often a part of the pool."""
    holds = {chance.choice(HOSTS + ELASTIC): {"VCPU": chance.randint(1, 4)}}
    if chance.random() < 0.6:
        holds[POOL] = {"DISK_GB": chance.randint(1, 5)}
    return holds


def new_consumer(chance):
    return str(uuid.UUID(int=chance.getrandbits(128), version=4))


def may_claim_again(consumer):
    """Whether it may claim again after it was released, and so have one generation twice.

    Such a consumer is not wiped with `{}`: which providers that touches is known from its generation alone.
    """
    return consumer[0] in "0123"


def body(holds, generation):
    return {"allocations": {provider: {"resources": dict(amounts)} for provider, amounts in holds.items()},
            "project_id": "chaos", "user_id": "chaos", "consumer_generation": generation, "consumer_type": "INSTANCE"}
