"""What a client sees of trees of many equal children: placet, and OpenStack Placement beside it.

    wide_trees.py [--binary PATH] [--patience SECONDS] [--write] [SIZE...]

One host with SIZE children of one unit each; as many groups of one unit (limit=1000), or one group
more (nothing fits). OpenStack Placement runs with [workarounds] optimize_for_wide_provider_trees
off, which is its default, and on. What a server does not answer within the patience is not asked of
it at greater sizes ("not asked"). --write puts the table into README.md.
"""

import argparse
import os
import pathlib
import statistics
import sys
import textwrap
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "functional-tests"))

import live  # noqa: E402
import readme  # noqa: E402
import rest  # noqa: E402

ROUNDS = 5
HOST = "b0000000-0000-4000-8000-{:012d}"
BEGIN, END = "<!-- benches/wide_trees.py --write begins here -->", "<!-- and ends here -->"
HEAD = ("| children | groups | `group_policy` | candidates | placet | OpenStack Placement | its ratio "
        "| with `optimize_for_wide_provider_trees` | its ratio |\n|" + "---|" * 9)


class Server:
    """One of those that are compared, and where its patience ended."""

    def __init__(self, kind, optimize, arguments):
        self.kind, self.arguments = kind, arguments
        self.options = {}
        if optimize:
            # The second is what its own documentation asks for beside the first.
            self.options = {"workarounds": {"optimize_for_wide_provider_trees": "true"},
                            "placement": {"max_allocation_candidates": "1000"}}
        self.lost = set()

    def measure(self, size, groups, policy):
        """The number of candidates and the median of the seconds; or a sentence that says why not."""
        case = (policy, groups > size)
        if case in self.lost:
            return "not asked"
        # Each has a service of its own: one that is given up is still busy.
        with live.Service(self.kind, options=self.options, binary=self.arguments.binary) as service:
            load(rest.Rest(service.port), size)
            answer = ask(rest.Rest(service.port, timeout=self.arguments.patience), groups, policy)
        if answer is None:
            self.lost.add(case)
            return f"not within {self.arguments.patience} s"
        return answer


def load(client, size):
    client.must("POST", "/resource_providers", {"name": "host", "uuid": HOST.format(0)})
    for child in range(1, size + 1):
        uuid = HOST.format(child)
        body = {"name": f"child {child}", "uuid": uuid, "parent_provider_uuid": HOST.format(0)}
        client.must("POST", "/resource_providers", body)
        inventory = {"resource_provider_generation": 0, "inventories": {"VGPU": {"total": 1}}}
        client.must("PUT", f"/resource_providers/{uuid}/inventories", inventory)


def ask(client, groups, policy):
    wanted = "&".join(f"resources{n}=VGPU:1" for n in range(1, groups + 1))
    seconds, found = [], 0
    for _ in range(ROUNDS):
        start = time.monotonic()
        try:
            answer = client.must("GET", f"/allocation_candidates?{wanted}&group_policy={policy}&limit=1000")
        except TimeoutError:
            return None
        seconds.append(time.monotonic() - start)
        found = len(answer.json["allocation_requests"])
        if sum(seconds) > 5:
            break
    return found, statistics.median(seconds)


def row(servers, size, groups, policy):
    placet, *others = [server.measure(size, groups, policy) for server in servers]
    patience = servers[0].arguments.patience
    if isinstance(placet, str):
        raise SystemExit(f"placet did not answer for {size} children and {groups} groups ({policy}): {placet}")
    cells = [size, groups, policy, f"{placet[0]:,}", shown(placet[1])]
    for other in others:
        if isinstance(other, str):
            cells += [other, "" if other == "not asked" else f"more than {patience / placet[1]:,.0f}"]
            continue
        # Two answers that do not hold the same are not compared by their times alone.
        note = "" if other[0] == placet[0] else f" ({other[0]:,} candidates)"
        cells += [shown(other[1]) + note, f"{other[1] / placet[1]:,.0f}"]
    return "| " + " | ".join(map(str, cells)) + " |"


def shown(seconds):
    return f"{seconds * 1000:,.1f} ms"


def machine(patience):
    text = (f"Medians of up to {ROUNDS} requests over HTTP, to a fresh service for each row; all of them in one run on "
            f"{readme.machine(f'{os.getloadavg()[0]:.0f} at its begin')}. A ratio is OpenStack Placement's time by placet's. "
            f"A request that took more than {patience} s was given up, and greater sizes were not asked.")
    return "\n".join(textwrap.wrap(text, 120))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--binary", help="placet's binary, if not the one of `cargo build --release`")
    parser.add_argument("--patience", type=int, default=20)
    parser.add_argument("--write", action="store_true", help="put the table into README.md")
    parser.add_argument("sizes", nargs="*", type=int, default=[4, 8, 16, 32])
    arguments = parser.parse_args()
    if arguments.binary is None:
        arguments.binary = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"), "release", "placet")
    servers = [Server("placet", False, arguments), Server("upstream", False, arguments),
               Server("upstream", True, arguments)]
    lines = [*machine(arguments.patience).splitlines(), "", *HEAD.splitlines()]
    print("\n".join(lines), flush=True)
    for policy in ("isolate", "none"):
        for size in arguments.sizes:
            for groups in (size, size + 1):
                lines.append(row(servers, size, groups, policy))
                print(lines[-1], flush=True)
    if arguments.write:
        readme.write(BEGIN, END, "\n".join(lines))


if __name__ == "__main__":
    main()
