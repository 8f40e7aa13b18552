"""An operator's session with the real `openstack` client and osc-placement, live.

    python -m functional_tests.clients.run [--server placet|upstream] [--binary PATH]

Each command is one test of its exit code, and of its JSON output or its error message.
"""

import json
import pathlib

from functional_tests.lib import command_line, forked, live
from functional_tests.lib.test_counts import TestCounts

HOST = "c0000000-0000-4000-8000-000000000001"
CHILD = "c0000000-0000-4000-8000-000000000002"
RACK = "c0000000-0000-4000-8000-0000000000a1"
SERVER = "c0000000-0000-4000-8000-0000000000c1"
OTHER = "c0000000-0000-4000-8000-0000000000c2"
PROJECT = "c0000000-0000-4000-8000-0000000000f1"
USER = "c0000000-0000-4000-8000-0000000000f2"
CLIENT = "functional_tests.clients.preloaded"
OWNER = f"--project-id {PROJECT} --user-id {USER} --consumer-type INSTANCE"


class Session:
    def __init__(self, port, tests):
        self.tests = tests
        self.base = ["openstack", "--os-auth-type", "admin_token", "--os-token", "admin",
                     "--os-endpoint", f"http://127.0.0.1:{port}"]

    def __call__(self, command, check=None, version="1.39", code=0, says=None):
        """Runs `openstack COMMAND`. `check` gets its JSON output. `says` has to be in its error message."""
        argv = self.base + ["--os-placement-api-version", version] + command.split()
        if check:
            argv += ["-f", "json"]
        done = forked.run((CLIENT,), f"{CLIENT}:main", argv, pathlib.Path.cwd(), live.clean_environment())
        transcript = f"{' '.join(argv[7:])}\nexit {done.returncode}\n{done.stdout}\n{done.stderr}"
        name = f"openstack {command}" + ("" if code == 0 else f"   (exit {code})")
        if done.returncode != code:
            self.tests.fail(name, f"expected exit {code}\n{transcript}")
        elif says and says not in done.stderr:
            self.tests.fail(name, f"expected an error message with {says!r}\n{transcript}")
        elif check and not check(json.loads(done.stdout)):
            self.tests.fail(name, f"unexpected output:\n{transcript}")
        else:
            self.tests.ok(name)


def by(rows, key):
    return {row[key]: row for row in rows}


def providers(run):
    run(f"resource provider create host --uuid {HOST}",
        lambda p: p["uuid"] == HOST and p["generation"] == 0)
    run("resource provider create host", code=1, says="host")
    run(f"resource provider create child --uuid {CHILD} --parent-provider {HOST}",
        lambda p: p["parent_provider_uuid"] == HOST and p["root_provider_uuid"] == HOST)
    run("resource provider list", lambda p: {r["name"] for r in p} == {"host", "child"})
    run("resource provider list --name child", lambda p: [r["uuid"] for r in p] == [CHILD])
    run(f"resource provider list --in-tree {CHILD}", lambda p: len(p) == 2)
    run(f"resource provider set {CHILD} --name device", lambda p: p["name"] == "device")
    run(f"resource provider show {HOST}", lambda p: p["name"] == "host", version="1.0")
    run(f"resource provider delete {HOST}", code=1, says="Unable to delete parent")
    run(f"resource provider delete {CHILD}")
    run(f"resource provider show {CHILD}", code=1, says="No resource provider with uuid")


def inventories(run):
    run("resource class create CUSTOM_LICENCE")
    run("resource class list", lambda p: {"VCPU", "CUSTOM_LICENCE"} <= {r["name"] for r in p})
    run(f"resource provider inventory set {HOST} --resource VCPU=16 "
        "--resource VCPU:allocation_ratio=4.0 --resource MEMORY_MB=4096 "
        "--resource MEMORY_MB:reserved=96 --resource CUSTOM_LICENCE=3",
        lambda p: by(p, "resource_class")["VCPU"]["allocation_ratio"] == 4.0)
    run(f"resource provider inventory class set {HOST} CUSTOM_LICENCE --total 5",
        lambda p: p["total"] == 5)
    run(f"resource provider inventory show {HOST} MEMORY_MB",
        lambda p: (p["total"], p["reserved"]) == (4096, 96))
    run(f"resource provider inventory list {HOST}",
        lambda p: by(p, "resource_class").keys() == {"VCPU", "MEMORY_MB", "CUSTOM_LICENCE"})
    run(f"resource provider inventory class set {HOST} VCPU --total 0", code=1,
        says="is less than the minimum of 1")


def traits_and_aggregates(run):
    run("trait create CUSTOM_QUIET")
    run("trait show CUSTOM_QUIET", lambda p: p == {"name": "CUSTOM_QUIET"})
    run("trait list --name startswith:CUSTOM_", lambda p: p == [{"name": "CUSTOM_QUIET"}])
    run(f"resource provider trait set {HOST} --trait CUSTOM_QUIET --trait HW_CPU_X86_VMX",
        lambda p: {r["name"] for r in p} == {"CUSTOM_QUIET", "HW_CPU_X86_VMX"})
    run(f"resource provider trait list {HOST}", lambda p: len(p) == 2)
    run("trait delete CUSTOM_QUIET", code=1, says="in use by a resource provider")
    run(f"resource provider aggregate set {HOST} --aggregate {RACK} --generation 3",
        lambda p: p == [{"uuid": RACK}])
    run(f"resource provider aggregate list {HOST}", lambda p: p == [{"uuid": RACK}])
    run(f"resource provider aggregate set {HOST} --generation 3", code=1,
        says="generation already changed")
    run("resource provider list --required CUSTOM_QUIET",
        lambda p: [r["uuid"] for r in p] == [HOST])
    run(f"resource provider list --member-of {RACK}", lambda p: len(p) == 1)
    run("resource provider list --forbidden CUSTOM_QUIET", lambda p: p == [])


def claims(run):
    run("allocation candidate list --resource VCPU=2 --resource MEMORY_MB=512",
        lambda p: len(p) == 1 and p[0]["resource provider"] == HOST)
    run(f"allocation candidate list --resource VCPU=2 --member-of {RACK} "
        "--required CUSTOM_QUIET --limit 1", lambda p: len(p) == 1)
    run("allocation candidate list --resource VCPU=65", lambda p: p == [])
    run(f"resource provider allocation set {SERVER} {OWNER} "
        f"--allocation rp={HOST},VCPU=2,MEMORY_MB=512",
        lambda p: p[0]["resources"] == {"VCPU": 2, "MEMORY_MB": 512})
    run(f"resource provider allocation set {OTHER} {OWNER} --allocation rp={HOST},VCPU=63",
        code=1, says="would exceed the capacity")
    run(f"resource provider allocation show {SERVER}",
        lambda p: p[0]["resource_provider"] == HOST and p[0]["consumer_type"] == "INSTANCE")
    run(f"resource provider usage show {HOST}",
        lambda p: by(p, "resource_class")["VCPU"]["usage"] == 2)
    run(f"resource usage show {PROJECT}",
        lambda p: by(p, "resource_class")["MEMORY_MB"]["usage"] == 512, version="1.9")
    run(f"resource provider show {HOST} --allocations", lambda p: SERVER in p["allocations"])
    run(f"resource provider inventory delete {HOST} --resource-class VCPU", code=1,
        says="in use")


def deletions(run):
    run(f"resource provider allocation unset {SERVER} --resource-class MEMORY_MB",
        lambda p: p[0]["resources"] == {"VCPU": 2})
    run(f"resource provider allocation delete {SERVER}")
    run(f"resource provider allocation show {SERVER}", lambda p: p == [])
    run(f"resource provider trait delete {HOST}")
    run("trait delete CUSTOM_QUIET")
    run(f"resource provider inventory delete {HOST}")
    run("resource class delete CUSTOM_LICENCE")
    run(f"resource provider delete {HOST}")
    run("resource provider list", lambda p: p == [])


def main():
    parser = command_line.parser(__doc__, "--binary", "--server")
    arguments = parser.parse_args()
    tests = TestCounts()
    with live.Service(arguments.server, binary=arguments.binary) as service:
        run = Session(service.port, tests)
        for part in (providers, inventories, traits_and_aggregates, claims, deletions):
            part(run)
    tests.finish()


if __name__ == "__main__":
    main()
