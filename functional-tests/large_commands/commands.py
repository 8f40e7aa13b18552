"""The largest legal command of each kind, and the cloud for these commands.

Every body is made before the first is sent, to leave the processor to the measured clients. A body's generations are
the generations after the commands before.
"""

import json
import uuid

HOSTS, BUSY_HOSTS = 1_000, 50
ROUNDS = 6
AGGREGATES, CONSUMERS, DESCRIPTIONS, PROPERTIES, TRAITS = 100_000, 50_000, 1_000, 64, 2_000
REFUSED_CONSUMERS, CANDIDATES = 20, 1_000
GANG, RESHAPED = 1_000, 10_000
LARGE = {"VCPU": {"total": 1_000_000_000}, "DISK_GB": {"total": 10}}


def host(number):
    """A host that large commands write."""
    return str(uuid.UUID(int=0xA << 124 | number))


def busy_host(number):
    """A host on which the other clients claim."""
    return str(uuid.UUID(int=0xB << 124 | number))


TRAITED = str(uuid.UUID(int=0xF << 124))  # nothing claims on it, so its generation is known


def consumer(kind, number):
    return random_uuid(f"consumer {kind} {number}")


def aggregate(turn, number):
    return random_uuid(f"aggregate {turn} {number}")


def random_uuid(name):
    """In no order, as clients make them: rows in the order of an index are written faster."""
    return str(uuid.uuid5(uuid.NAMESPACE_OID, name))


def claim(allocations, generation=None):
    return {"allocations": allocations, "project_id": "p", "user_id": "u", "consumer_type": "INSTANCE",
            "consumer_generation": generation}


def on_host(number, amount=1):
    return {host(number % HOSTS): {"resources": {"VCPU": amount}}}


def prepare(rest):
    """Makes the hosts and the traits."""
    for number in range(HOSTS + BUSY_HOSTS):
        uuid_ = host(number) if number < HOSTS else busy_host(number - HOSTS)
        rest.must("POST", "/resource_providers", {"name": f"host {number}", "uuid": uuid_})
        rest.must("PUT", f"/resource_providers/{uuid_}/inventories",
                  {"resource_provider_generation": 0, "inventories": LARGE})
    rest.must("POST", "/resource_providers", {"name": "traited", "uuid": TRAITED})
    for number in range(TRAITS):
        rest.must("PUT", f"/traits/CUSTOM_{number}")


class Sent:
    """One request, with the statuses that it may have."""

    def __init__(self, method, path, body=None, version="1.39", status=(200, 204)):
        self.method, self.path, self.version, self.status = method, path, version, status
        self.body = None if body is None else json.dumps(body).encode()


def aggregates():
    """New ones each time."""
    for turn in range(ROUNDS):
        members = [aggregate(turn, number) for number in range(AGGREGATES)]
        yield Sent("PUT", f"/resource_providers/{host(0)}/aggregates", members, "1.18")


def known_aggregates():
    """Two sets in turn, which exist."""
    for turn in range(ROUNDS):
        members = [aggregate(turn % 2, number) for number in range(AGGREGATES)]
        yield Sent("PUT", f"/resource_providers/{host(1)}/aggregates", members, "1.18")


def traits():
    for turn in range(ROUNDS):
        members = [f"CUSTOM_{number}" for number in range(TRAITS) if number % 2 == turn % 2 or number < TRAITS / 2]
        yield Sent("PUT", f"/resource_providers/{TRAITED}/traits",
                   {"resource_provider_generation": turn, "traits": members})


def new_consumers():
    for turn in range(ROUNDS):
        claims = {consumer(turn, number): claim(on_host(number)) for number in range(CONSUMERS)}
        yield Sent("POST", "/allocations", claims)


def replaced_consumers():
    """Those that `new_consumers` made first."""
    for turn in range(ROUNDS):
        claims = {consumer(0, number): claim(on_host(number, 2 + turn), 1 + turn) for number in range(CONSUMERS)}
        yield Sent("POST", "/allocations", claims)


def removed_consumers():
    """Those that `new_consumers` made later."""
    for turn in range(1, ROUNDS - 2):
        claims = {consumer(turn, number): claim({}, 1) for number in range(CONSUMERS)}
        yield Sent("POST", "/allocations", claims)


def descriptions():
    for turn in range(ROUNDS):
        new = [{"uuid": host(number), "generation": turn or None,
                "properties": {f"Property{at}": f"{number} {at} {turn} ".ljust(200, "x") for at in range(PROPERTIES)},
                "domains": {f"dimension{at}": f"/dc{turn}/row{number % 10}/rack{number % 100}" for at in range(16)}}
               for number in range(DESCRIPTIONS)]
        yield Sent("PUT", "/v1/providers", {"providers": new})


def refused_candidates():
    too_much = [{"allocations": {host(number): {"resources": {"DISK_GB": 11}}}} for number in range(CANDIDATES)]
    for turn in range(4 * ROUNDS):
        consumers = [{"uuid": consumer(100 + turn, number), "candidates": too_much}
                     for number in range(REFUSED_CONSUMERS)]
        yield Sent("POST", "/v1/claims", {"consumers": consumers}, status=(409,))


def gang():
    for turn in range(4 * ROUNDS):
        consumers = [{"uuid": consumer(200 + turn, number), "query": "resources=VCPU:1", "rank": "emptiest"}
                     for number in range(GANG)]
        yield Sent("POST", "/v1/claims", {"consumers": consumers})


def workload():
    """It is made and deleted in turn."""
    for turn in range(2 * ROUNDS):
        uuid_ = consumer(300, turn // 2)
        body = {"generation": None, "name": f"w{turn}", "rules": [],
                "roles": [{"name": "r", "count": GANG, "query": "resources=VCPU:1"}]}
        yield (Sent("PUT", f"/v1/workloads/{uuid_}", body) if turn % 2 == 0
               else Sent("DELETE", f"/v1/workloads/{uuid_}?generation=1"))


def reshape():
    """Hosts of its own, because it names their generations. A reshape moves each by three."""
    for turn in range(ROUNDS):
        inventories = {reshaped(number): {"resource_provider_generation": 3 * turn,
                                          "inventories": LARGE | {"MEMORY_MB": {"total": 1 + turn}}}
                       for number in range(HOSTS)}
        claims = {consumer(400, number): claim({reshaped(number % HOSTS): {"resources": {"VCPU": 1 + turn}}}, turn or None)
                  for number in range(RESHAPED)}
        yield Sent("POST", "/reshaper", {"inventories": inventories, "allocations": claims})


def reshaped(number):
    return str(uuid.UUID(int=0xE << 124 | number))


def prepare_reshape(rest):
    for number in range(HOSTS):
        rest.must("POST", "/resource_providers", {"name": f"reshaped {number}", "uuid": reshaped(number)})


KINDS = {each.__name__: each for each in (
    refused_candidates, gang, workload, traits, descriptions, reshape, known_aggregates, aggregates, new_consumers,
    replaced_consumers, removed_consumers)}
