"""The requests to the processes: every operation once, and the hot ones repeatedly and at every size."""

import concurrent.futures

from functional_tests.lib.rest import Rest
from functional_tests.query_plans import cloud
from functional_tests.reference import sample_cloud, samples
from functional_tests.reference.document import operations, path_pattern

# The numbers of providers and consumers that one request names.
REQUEST_SIZES = (1, 2, 32, 256)
REPETITIONS = 8  # PostgreSQL may take another plan from the sixth execution on


class Workload:
    """Sends requests to the processes in turn, and records which operations succeeded."""

    def __init__(self, services, providers):
        self.rests = [Rest(service.port) for service in services]
        self.providers, self.sent, self.made = providers, [], 0

    def ask(self, method, path, body=None, version=None, on=0, status=None):
        answer = self.rests[on % len(self.rests)](method, path, body, version)
        if (answer.status != status) if status else (answer.status >= 400):
            raise AssertionError(f"{method} {path} {str(body)[:300]} was answered with {answer}")
        self.sent.append((method, path, answer.status))
        return answer

    def everything(self):
        """Every operation: creates the API reference's sample cloud beside the large one, and sends its samples."""
        sample_cloud.build(self.rests[0])
        for sample in samples.capture(self.rests[0]):
            self.sent.append((sample["method"], sample["url"], sample["status"]))
        # The sample that deletes a workload names its generation, and a replica that gets a place in between raises it.
        for workload in self.ask("GET", "/v1/workloads").json["workloads"]:
            self.ask("DELETE", f"/v1/workloads/{workload['uuid']}")

    def missing(self, document):
        """Operations of the API that never succeeded."""
        return [f"{method} {path}" for method, path, _ in operations(document)
                if not any(sent == method and status < 400 and path_pattern(path).fullmatch(url)
                           for sent, url, status in self.sent)]

    def consumer(self):
        self.made += 1
        return f"d1000000-0000-4000-8000-{self.made:012}"

    def host(self, number):
        """One of the hosts, far from its neighbours."""
        number = 1 + (number * 7919) % self.providers
        return cloud.uuid("provider", number + (number % cloud.PROVIDERS_PER_POOL == 0))

    def pool(self):
        return cloud.uuid("provider", cloud.PROVIDERS_PER_POOL)

    def claims(self):
        """Claims, replacements, moves and releases, for one consumer and for several, granted and refused."""
        for on in range(REPETITIONS):
            server = self.consumer()
            self.ask("PUT", f"/allocations/{server}", claim({self.host(on): {"VCPU": 1}, self.pool(): {"CUSTOM_DISK": 1}}), on=on)
            self.ask("PUT", f"/allocations/{server}", claim({self.host(on + 1): {"VCPU": 2}}, 1), on=on + 1)
            self.ask("PUT", f"/allocations/{server}", claim({self.host(on): {"VCPU": 99999}}, 2), on=on, status=409)
            self.ask("PUT", f"/allocations/{server}", claim({self.pool(): {"CUSTOM_DISK": 10**7}}, 2), on=on, status=409)
            self.ask("PUT", f"/allocations/{server}", claim({cloud.uuid("provider", 0): {"VCPU": 1}}, 2), on=on, status=400)
            old = cloud.uuid("consumer", 3 + 11 * on)
            self.ask("POST", "/allocations", {server: claim({}, 2), old: claim({self.host(on): {"VCPU": 1}}, 1)}, on=on)
            self.ask("DELETE", f"/allocations/{old}", on=on + 1)
            self.ask("DELETE", f"/allocations/{self.consumer()}", on=on, status=404)

    def many(self, size):
        """Requests about several providers and consumers, and the same number of concurrent requests."""
        hosts = [self.host(n) for n in range(size)]
        for on in range(REPETITIONS if size < 32 else 2):
            servers = [self.consumer() for _ in hosts]
            self.ask("PUT", f"/allocations/{servers[0]}", claim({host: {"VCPU": 1} for host in hosts}), on=on)
            self.ask("DELETE", f"/allocations/{servers[0]}", on=on)
            pairs = list(zip(servers, hosts, strict=True))
            self.ask("POST", "/allocations", {it: claim({host: {"VCPU": 1, "MEMORY_MB": 8}}) for it, host in pairs}, on=on)
            self.ask("POST", "/allocations", {it: claim({host: {"VCPU": 2}}, 1) for it, host in pairs}, on=on + 1)
            refused = {it: claim({host: {"VCPU": 99999}}, 2) for it, host in pairs}
            self.ask("POST", "/allocations", refused, on=on, status=409)
            self.ask("POST", "/allocations", {it: claim({}, 2) for it in servers}, on=on)
        with concurrent.futures.ThreadPoolExecutor(min(size, 32)) as clients:
            asked = [clients.submit(self.ask, "PUT", f"/allocations/{self.consumer()}", claim({host: {"VCPU": 1}}), on=n)
                     for n, host in enumerate(hosts)]
            for one in asked:
                one.result()

    def reports(self):
        """The requests of schedulers and agents about existing hosts. Each repetition asks another process."""
        for on in range(REPETITIONS):
            host = self.host(100 + on)
            self.ask("GET", "/allocation_candidates?resources=VCPU:1,MEMORY_MB:512,CUSTOM_DISK:1&limit=10", on=on)
            generation = self.ask("GET", f"/resource_providers/{host}/inventories", on=on).json["resource_provider_generation"]
            inventories = {"VCPU": {"total": 128}, "MEMORY_MB": {"total": 10**6}, "CUSTOM_DISK": {"total": 10**6}}
            self.ask("PUT", f"/resource_providers/{host}/inventories",
                     {"resource_provider_generation": generation, "inventories": inventories}, on=on)
            self.ask("PUT", f"/resource_providers/{host}/traits",
                     {"resource_provider_generation": generation + 1, "traits": ["COMPUTE_NODE", f"CUSTOM_{on}"]}
                     if self.ask("PUT", f"/traits/CUSTOM_{on}") else None, on=on)
            self.ask("PUT", f"/resource_providers/{host}/aggregates",
                     {"resource_provider_generation": generation + 2, "aggregates": [cloud.uuid("aggregate", 7)]}, on=on)
            self.ask("GET", f"/resource_providers?in_tree={host}", on=on + 1)
            self.ask("GET", f"/resource_providers/{host}", on=on + 1)
            self.ask("GET", f"/resource_providers?name=cloud-{on + 7}&member_of={cloud.uuid('aggregate', 8 + on)}", on=on)
            self.ask("GET", f"/resource_providers/{self.pool()}/usages", on=on)
            self.ask("GET", f"/resource_providers/{self.pool()}/allocations", on=on)
            self.ask("GET", f"/allocations/{cloud.uuid('consumer', 500 + on)}", on=on)
            for more in ("", "&user_id=user-7", "&consumer_type=CLOUD", "&consumer_type=all"):
                self.ask("GET", f"/usages?project_id=project-{7 + on}{more}", on=on)
            self.ask("GET", "/resource_providers?required=!HW_CPU_X86_AVX2&resources=VCPU:1", on=on)

    def trees(self):
        """Creates, moves, renames and deletes providers."""
        for on in range(REPETITIONS):
            names = [f"new-{on}-{n}" for n in range(3)]
            uuids = [f"b100000{n}-0000-4000-8000-{on:012}" for n in range(3)]
            for name, uuid, parent in zip(names, uuids, (None, uuids[0], cloud.uuid("provider", 1)), strict=True):
                self.ask("POST", "/resource_providers", {"name": name, "uuid": uuid, "parent_provider_uuid": parent}, on=on)
            self.ask("PUT", f"/resource_providers/{uuids[2]}",
                     {"name": names[2] + "x", "parent_provider_uuid": uuids[1]}, on=on + 1)
            for uuid in reversed(uuids):
                self.ask("DELETE", f"/resource_providers/{uuid}", on=on)
        self.ask("PUT", "/resource_classes/CUSTOM_GONE")
        self.ask("DELETE", "/resource_classes/CUSTOM_GONE")
        self.ask("PUT", "/traits/CUSTOM_GONE")
        self.ask("DELETE", "/traits/CUSTOM_GONE")
        # Every provider has these.
        self.ask("DELETE", "/resource_classes/CUSTOM_DISK", status=409)
        self.ask("DELETE", "/traits/CUSTOM_EVERYWHERE", status=409)


def claim(shares, generation=None):
    return {"allocations": {uuid: {"resources": resources} for uuid, resources in shares.items()}, "project_id": "project-1",
            "user_id": "user-1", "consumer_generation": generation, "consumer_type": "CLOUD"}
