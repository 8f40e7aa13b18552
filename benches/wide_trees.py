"""What a client sees of trees of many equal children: placet, and OpenStack Placement beside it.

    wide_trees.py [--binary PATH] [--patience SECONDS] [SIZE...]

One host with SIZE children of one unit each; as many groups of one unit (limit=1000), or one group
more (nothing fits). OpenStack Placement runs with [workarounds] optimize_for_wide_provider_trees
off and on. What it does not answer within the patience is given up, and so are greater sizes.
"""

import argparse
import pathlib
import statistics
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "functional-tests"))

import live  # noqa: E402
import rest  # noqa: E402

ROUNDS = 5
HOST = "b0000000-0000-4000-8000-{:012d}"


def load(client, size):
    client.must("POST", "/resource_providers", {"name": "host", "uuid": HOST.format(0)})
    for child in range(1, size + 1):
        uuid = HOST.format(child)
        body = {"name": f"child {child}", "uuid": uuid, "parent_provider_uuid": HOST.format(0)}
        client.must("POST", "/resource_providers", body)
        inventory = {"resource_provider_generation": 0, "inventories": {"VGPU": {"total": 1}}}
        client.must("PUT", f"/resource_providers/{uuid}/inventories", inventory)


def ask(client, groups, policy):
    """The number of candidates and the median of the seconds, or None if the patience ended."""
    wanted = "&".join(f"resources{n}=VGPU:1" for n in range(1, groups + 1))
    seconds, found = [], 0
    for _ in range(ROUNDS):
        start = time.monotonic()
        try:
            answer = client("GET", f"/allocation_candidates?{wanted}&group_policy={policy}&limit=1000")
        except OSError:
            return None
        seconds.append(time.monotonic() - start)
        if answer.status != 200:
            return None
        found = len(answer.json["allocation_requests"])
        if sum(seconds) > 10:
            break
    return found, statistics.median(seconds)


def measure(name, kind, options, size, policy, arguments):
    """A row for requests that fit and do not; whether the service survived both."""
    survived = True
    for groups in (size, size + 1):
        # Each has a service of its own: one that is given up is still busy.
        with live.Service(kind, options=options, binary=arguments.binary) as service:
            load(rest.Rest(service.port), size)
            answer = ask(rest.Rest(service.port, timeout=arguments.patience), groups, policy)
        told = f"{answer[0]} | {answer[1] * 1000:.1f} ms" if answer else f"- | more than {arguments.patience} s"
        print(f"| {name} | {size} | {groups} | {policy} | {told} |", flush=True)
        survived = survived and answer is not None
    return survived


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--binary", help="placet's binary, if not the one cargo built")
    parser.add_argument("--patience", type=int, default=30)
    parser.add_argument("sizes", nargs="*", type=int, default=[4, 8, 16, 32])
    arguments = parser.parse_args()
    servers = [("placet", "placet", {})]
    for optimize in ("false", "true"):
        options = {"workarounds": {"optimize_for_wide_provider_trees": optimize}}
        if optimize == "true":
            # As its own documentation asks for beside it.
            options["placement"] = {"max_allocation_candidates": "1000"}
        servers.append((f"OpenStack Placement, optimize {optimize}", "upstream", options))
    print("| server | children | groups | group_policy | candidates | median |\n|---|---|---|---|---|---|")
    for name, kind, options in servers:
        for policy in ("isolate", "none"):
            for size in arguments.sizes:
                if not measure(name, kind, options, size, policy, arguments):
                    break


if __name__ == "__main__":
    main()
