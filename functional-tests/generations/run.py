"""The same writes to OpenStack Placement and to placet, compared request by request.

    python -m functional_tests.generations.run [--engine ENGINE] [--binary PATH] [--versions 1.19,1.39] [-v]

After each request the two must agree on its status and error code, on the generation, name and parent of every
provider, and on every allocation of every consumer. A request names a generation as this service's current one, or as a
number of steps before it.
"""

import os

from functional_tests.lib import command_line, engines, live
from functional_tests.lib.rest import Rest
from functional_tests.lib.test_counts import TestCounts

VERSIONS = ["1.1", "1.8", "1.12", "1.18", "1.19", "1.28", "1.36", "1.39"]
ALL_VERSIONS = VERSIONS + ["1.0", "1.6", "1.13", "1.14", "1.20", "1.23", "1.27", "1.34", "1.37", "1.38"]


class Now:
    """A placeholder in a body for the service's current generation of a provider or consumer, minus `less`."""

    def __init__(self, name, less=0):
        self.name, self.less = name, less


class Script:
    """The requests at one version. The uuids of providers and consumers contain the version."""

    def __init__(self, version):
        self.version = version
        self.minor = int(version.split(".")[1])
        self.steps = []  # (description, method, path, body)
        self.ids = {}
        for n, name in enumerate(("host", "pool", "child", "missing", "one", "two", "three")):
            self.ids[name] = f"d0000000-0000-4000-8000-{self.minor:06}{n:06}"

    def add(self, about, method, path, body=None, since=0, until=99):
        if since <= self.minor <= until:
            self.steps.append((about, method, path.format(**self.ids), body))

    def provider(self, name, **more):
        return {"name": f"{name}-{self.version}", **more}

    def owned(self, allocations, consumer, less=0):
        """The body of PUT /allocations for {provider: resources} at this version."""
        if self.minor < 12:
            body = {"allocations": [
                {"resource_provider": {"uuid": self.ids[p]}, "resources": r}
                for p, r in allocations.items()]}
        else:
            body = {"allocations": {self.ids[p]: {"resources": r} for p, r in allocations.items()}}
        if self.minor >= 8:
            body |= {"project_id": f"p{self.minor}", "user_id": f"u{self.minor}"}
        if self.minor >= 28:
            body["consumer_generation"] = Now(consumer, less)
        if self.minor >= 38:
            body["consumer_type"] = "INSTANCE"
        return body

    def claim(self, about, allocations, consumer, less=0, since=0):
        self.add(about, "PUT", "/allocations/{%s}" % consumer,
                 self.owned(allocations, consumer, less), since)

    def claim_several(self, about, claims):
        body = {self.ids[c]: self.owned(allocations, c) for c, allocations in claims.items()}
        self.add(about, "POST", "/allocations", body, since=13)

    def write(self):
        for part in (self.providers, self.inventories, self.traits, self.aggregates, self.claims,
                     self.many_claims, self.moves, self.removals):
            part()
        return self

    def providers(self):
        for name in ("host", "pool"):
            self.add(f"create {name}", "POST", "/resource_providers",
                     self.provider(name, uuid=self.ids[name]))
        self.add("create it twice", "POST", "/resource_providers",
                 self.provider("host", uuid=self.ids["host"]))
        self.add("create a child", "POST", "/resource_providers", self.provider(
            "child", uuid=self.ids["child"], parent_provider_uuid=self.ids["host"]), since=14)
        self.add("rename", "PUT", "/resource_providers/{pool}", self.provider("lake"))
        self.add("rename to the same", "PUT", "/resource_providers/{pool}", self.provider("lake"))
        self.add("rename to another's name", "PUT", "/resource_providers/{pool}",
                 self.provider("host"))

    def inventories(self):
        path = "/resource_providers/{host}/inventories"
        full = {"VCPU": {"total": 8}, "MEMORY_MB": {"total": 1000}}

        def body(less=0, **more):
            return {"resource_provider_generation": Now("host", less), **more}

        self.add("add a class", "POST", path, body(resource_class="VCPU", total=4))
        self.add("add it again", "POST", path, body(resource_class="VCPU", total=4))
        self.add("add with an old generation", "POST", path,
                 body(1, resource_class="DISK_GB", total=4))
        self.add("set all", "PUT", path, body(inventories=full))
        self.add("set all the same", "PUT", path, body(inventories=full))
        self.add("set with an old generation", "PUT", path, body(1, inventories=full))
        self.add("set an unknown class", "PUT", path,
                 body(inventories={"CUSTOM_UNHEARD": {"total": 1}}))
        self.add("change one", "PUT", path + "/VCPU", body(total=16))
        self.add("change one to the same", "PUT", path + "/VCPU", body(total=16))
        self.add("change one with an old generation", "PUT", path + "/VCPU", body(1, total=16))
        self.add("change one that does not exist", "PUT", path + "/DISK_GB", body(total=1))
        self.add("remove one", "DELETE", path + "/MEMORY_MB")
        self.add("remove it again", "DELETE", path + "/MEMORY_MB")
        self.add("remove all", "DELETE", path)
        self.add("remove all of none", "DELETE", path)
        self.add("set none", "PUT", path, body(inventories={}))
        self.add("set all after none", "PUT", path, body(inventories=full))
        self.add("set the pool's inventory", "PUT", "/resource_providers/{pool}/inventories",
                 {"resource_provider_generation": Now("pool"), "inventories": {
                     "DISK_GB": {"total": 100, "max_unit": 60, "step_size": 10}}})

    def traits(self):
        path = "/resource_providers/{host}/traits"
        some = ["HW_CPU_X86_VMX", "HW_CPU_X86_SSE"]
        for about, traits, less in (
                ("set traits", some, 0), ("set the same traits", some, 0),
                ("set one trait less", some[:1], 0), ("set traits with an old generation", [], 1),
                ("set an unknown trait", ["CUSTOM_UNHEARD"], 0), ("set no traits", [], 0),
                ("set no traits again", [], 0), ("set traits after none", some, 0)):
            self.add(about, "PUT", path, {
                "traits": traits, "resource_provider_generation": Now("host", less)}, since=6)
        self.add("remove traits", "DELETE", path, since=6)
        self.add("remove no traits", "DELETE", path, since=6)

    def aggregates(self):
        path = "/resource_providers/{host}/aggregates"
        some = [self.ids["one"], self.ids["two"]]
        for about, aggregates in (("set", some), ("set the same", some), ("set one", some[:1]),
                                  ("set no", []), ("set no again", []), ("set after none:", some)):
            self.add(f"{about} aggregates", "PUT", path, aggregates, since=1, until=18)
            self.add(f"{about} aggregates", "PUT", path, {
                "aggregates": aggregates, "resource_provider_generation": Now("host")}, since=19)
        self.add("set aggregates with an old generation", "PUT", path, {
            "aggregates": [], "resource_provider_generation": Now("host", 1)}, since=19)

    def claims(self):
        both = {"host": {"VCPU": 2, "MEMORY_MB": 100}, "pool": {"DISK_GB": 30}}
        self.claim("claim", both, "one")
        self.claim("claim the same", both, "one")
        self.claim("claim with an old generation", both, "one", 1)
        self.claim("claim from one only", {"host": {"VCPU": 1}}, "one")
        self.claim("claim from the other", {"pool": {"DISK_GB": 30}}, "one")
        self.claim("claim too much", {"host": {"VCPU": 9}}, "two")
        self.claim("claim between the steps", {"pool": {"DISK_GB": 35}}, "two")
        self.claim("claim above max_unit", {"pool": {"DISK_GB": 70}}, "two")
        self.claim("claim a class without inventory", {"host": {"VGPU": 1}}, "two")
        self.claim("claim an unknown class", {"host": {"CUSTOM_UNHEARD": 1}}, "two")
        self.claim("claim from a missing provider", {"missing": {"VCPU": 1}}, "three")
        self.claim("claim the rest", {"pool": {"DISK_GB": 60}}, "two")
        self.claim("claim more than is left", {"pool": {"DISK_GB": 50}}, "one")
        self.claim("wipe", {}, "one", since=28)
        self.claim("claim once more", both, "one")
        self.add("remove inventory in use", "DELETE", "/resource_providers/{pool}/inventories")
        self.add("remove one inventory in use", "DELETE",
                 "/resource_providers/{pool}/inventories/DISK_GB")
        self.add("shrink below what is used", "PUT",
                 "/resource_providers/{pool}/inventories/DISK_GB",
                 {"total": 50, "resource_provider_generation": Now("pool")})
        self.claim("use less of what is overused", {"pool": {"DISK_GB": 50}}, "two")
        self.add("grow again", "PUT", "/resource_providers/{pool}/inventories/DISK_GB",
                 {"total": 100, "resource_provider_generation": Now("pool")})
        self.add("release", "DELETE", "/allocations/{one}")
        self.add("release twice", "DELETE", "/allocations/{one}")

    def many_claims(self):
        self.claim_several("two claims", {"one": {"host": {"VCPU": 1}}, "two": {"host": {"VCPU": 2}}})
        self.claim_several("a wipe and a claim", {"one": {}, "two": {"pool": {"DISK_GB": 60}}})
        self.claim_several("one of two too large",
                     {"one": {"host": {"VCPU": 1}}, "two": {"host": {"VCPU": 8}}})
        self.claim_several("a move", {"one": {"pool": {"DISK_GB": 60}}, "two": {}})
        self.claim_several("a part and a claim",
                     {"one": {"pool": {"DISK_GB": 10}}, "two": {"host": {"VCPU": 2}}})
        self.claim_several("two wipes", {"one": {}, "two": {}})
        self.claim_several("two claims of new consumers", {"one": {"host": {"VCPU": 1}, "pool": {"DISK_GB": 10}},
                                                     "two": {"pool": {"DISK_GB": 10}}})

    def moves(self):
        path = "/resource_providers/{child}"
        for about, parent in (("move below another", self.ids["pool"]), ("become a root", None),
                              ("move below the first", self.ids["host"]),
                              ("move below itself", self.ids["child"])):
            self.add(about, "PUT", path, self.provider("child", parent_provider_uuid=parent),
                     since=14)
        self.add("make a loop", "PUT", "/resource_providers/{host}",
                 self.provider("host", parent_provider_uuid=self.ids["child"]), since=14)

    def removals(self):
        self.add("remove a parent", "DELETE", "/resource_providers/{host}", since=14)
        self.add("remove a provider in use", "DELETE", "/resource_providers/{pool}")
        for consumer in ("one", "two", "three"):
            self.add(f"release {consumer}", "DELETE", "/allocations/{%s}" % consumer)
        for name in ("child", "pool", "host", "host"):
            self.add(f"remove {name}", "DELETE", "/resource_providers/{%s}" % name)


class Side:
    """One of the two services, and its state after the last request."""

    def __init__(self, service):
        self.rest = Rest(service.port)
        self.state = {}

    def send(self, script, method, path, body):
        return self.rest(method, path, self._resolve(script, body), script.version)

    def _resolve(self, script, value):
        if isinstance(value, Now):
            now = self.state.get(script.ids[value.name], {}).get("generation")
            return now if now is None else now - value.less
        if isinstance(value, dict):
            return {k: self._resolve(script, v) for k, v in value.items()}
        if isinstance(value, list):
            return [self._resolve(script, v) for v in value]
        return value

    def read_state(self, script):
        """uuid -> what the API shows of that provider or consumer."""
        state = {}
        for row in self.rest.must("GET", "/resource_providers").json["resource_providers"]:
            state[row["uuid"]] = {k: row[k] for k in (
                "generation", "name", "parent_provider_uuid", "root_provider_uuid")}
        for name in ("one", "two", "three"):
            seen = self.rest.must("GET", f"/allocations/{script.ids[name]}").json
            if seen["allocations"]:
                state[script.ids[name]] = {"generation": seen.pop("consumer_generation"), **seen}
        self.state = state
        return state


def differences(names, ours, theirs):
    lines = []
    for key in sorted(ours.keys() | theirs.keys()):
        if ours.get(key) != theirs.get(key):
            lines.append(f"{names.get(key, key)}:\n  expected: {theirs.get(key)}\n"
                         f"  got:      {ours.get(key)}")
    return "\n".join(lines)


def detail(answer):
    """The sentence of a refusal."""
    return answer.json["errors"][0]["detail"] if answer.status >= 400 else None


def compare(script, placet, upstream, tests, arguments):
    names = {uuid: name for name, uuid in script.ids.items()}
    for about, method, path, body in script.steps:
        name = f"{script.version} {about}"
        theirs = upstream.send(script, method, path, body)
        ours = placet.send(script, method, path, body)
        seen = differences(names, placet.read_state(script), upstream.read_state(script))
        same = (ours.status, ours.code) == (theirs.status, theirs.code)
        if same and arguments.details:
            same = detail(ours) == detail(theirs)
        if not same or seen:
            tests.fail(name, f"{method} {path}\nexpected: {theirs}\ngot:      {ours}\n{seen}")
            if seen:
                print(f"        (the rest of {script.version} is skipped)")
                return
        else:
            tests.ok(f"{name}: {theirs.status}", show=arguments.verbose)


def main():
    parser = command_line.parser(__doc__, "--binary", "--engine")
    parser.add_argument("--versions", help="versions of the API, separated by commas")
    parser.add_argument("--server", choices=("placet", "upstream"), default="placet",
                        help="`upstream` compares OpenStack Placement with itself, which tests this script")
    parser.add_argument("--details", action="store_true",
                        help="also compare the sentences of refusals")
    parser.add_argument("-v", "--verbose", action="store_true")
    arguments = parser.parse_args()
    versions = ALL_VERSIONS if os.environ.get("PLACET_TEST_SIZE") == "full" else VERSIONS
    if arguments.versions:
        versions = arguments.versions.split(",")
    tests = TestCounts()
    with engines.Engine(arguments.engine) as engine, live.Service("upstream", engine=engine) as reference, \
            live.Service(arguments.server, binary=arguments.binary, engine=engine) as tested:
        for version in versions:
            script = Script(version).write()
            compare(script, Side(tested), Side(reference), tests, arguments)
    tests.finish()


if __name__ == "__main__":
    main()
