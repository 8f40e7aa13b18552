"""A large body takes memory in proportion to its length, and the memory is given back after the answer."""

import json
import pathlib
import re
import time
import uuid

from functional_tests.lib.patience import OPTIONS, PAUSE_SECONDS
from functional_tests.process.cases import case, check, folder, settings
from functional_tests.process.placet_process import Placet
from functional_tests.process.protocol import PROVIDERS

MB = 1_000_000
# Multiples of the body that the process may take beyond what it has when it is idle.
MAX_FACTOR = 8
# How much more than before the body an idle process may have after it.
MAX_KEPT_BYTES = 24 * MB
# The allocator gives pages back about a second after they were freed.
GIVE_BACK_SECONDS = 30
HOSTS = [str(uuid.UUID(int=number)) for number in range(1, 27)]
CLASSES = ["VCPU", "MEMORY_MB", "DISK_GB"]


def claims(consumers):
    """`POST /v1/claims`: each consumer has a thousand candidates of thirteen providers, 1.3 MB."""
    def candidate(number):
        providers = [HOSTS[(number + at) % len(HOSTS)] for at in range(13)]
        return {"allocations": {provider: {"resources": dict.fromkeys(CLASSES, 1)} for provider in providers}}

    return {"id": str(uuid.uuid4()), "consumers": [
        {"uuid": str(uuid.uuid4()), "project_id": "p", "user_id": "u",
         "candidates": [candidate(number) for number in range(1_000)]} for _ in range(consumers)]}


def allocations(consumers):
    """`POST /allocations`: each consumer has one class of one provider, 220 bytes."""
    return {str(uuid.uuid4()): {
        "allocations": {HOSTS[number % len(HOSTS)]: {"resources": {"VCPU": 1}}}, "project_id": "p", "user_id": "u",
        "consumer_generation": None, "consumer_type": "INSTANCE"} for number in range(consumers)}


def resident_bytes(pid, field="VmRSS"):
    """The memory that the process has in RAM; `VmHWM`: the most that it had since :func:`forget_peak`."""
    status = pathlib.Path(f"/proc/{pid}/status").read_text()
    return int(re.search(rf"{field}:\s+(\d+) kB", status)[1]) * 1024


def forget_peak(pid):
    pathlib.Path(f"/proc/{pid}/clear_refs").write_text("5")


def add_hosts(rest):
    inventories = {name: {"total": 2_000_000_000} for name in CLASSES}
    for number, host in enumerate(HOSTS):
        rest.must("POST", PROVIDERS, {"name": f"host{number}", "uuid": host})
        rest.must("PUT", f"{PROVIDERS}/{host}/inventories",
                  {"resource_provider_generation": 0, "inventories": inventories})


def takes_little_memory(path, body):
    body = json.dumps(body).encode()
    with folder() as here, Placet(here, OPTIONS) as placet:
        add_hosts(placet.rest)
        pid = placet.process.pid
        idle = resident_bytes(pid)
        forget_peak(pid)
        answer = placet.rest("POST", path, body)
        check(answer.status in (200, 204), answer)
        factor = (resident_bytes(pid, "VmHWM") - idle) / len(body)
        check(factor <= MAX_FACTOR, f"{len(body) / MB:.0f} MB took {factor:.1f} times as much, beyond {idle / MB:.0f} MB")
        deadline = time.monotonic() + GIVE_BACK_SECONDS
        while (kept := resident_bytes(pid) - idle) > MAX_KEPT_BYTES:
            check(time.monotonic() < deadline, f"{kept / MB:.0f} MB are kept after {len(body) / MB:.0f} MB")
            time.sleep(PAUSE_SECONDS)


@case("a claim of consumers with a thousand candidates each takes at most 8 times its body, and gives it back")
def hostile_10_of_claims():
    takes_little_memory("/v1/claims", claims(20 if settings["full"] else 6))


@case("allocations of thousands of consumers take at most 8 times their body, and give it back")
def hostile_10_of_allocations():
    takes_little_memory("/allocations", allocations(150_000 if settings["full"] else 37_500))
