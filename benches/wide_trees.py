"""Measures trees with many equal children over HTTP, on placet and on OpenStack Placement.

    python -m benches.wide_trees [--binary PATH] [--timeout SECONDS] [--write] [SIZE...]

One host has SIZE children of one unit each. The request has as many groups of one unit (limit=1000), or one group more,
which cannot be satisfied. OpenStack Placement runs with its default options, and with [workarounds]
optimize_for_wide_provider_trees. If a service does not respond within the timeout, it is not measured with larger
trees. --write puts the table into docs/speed.md.
"""

import argparse
import os
import statistics
import textwrap
import time

from functional_tests.lib import live, readme
from functional_tests.lib.rest import Rest
from functional_tests.lib.root import ROOT, TARGET

ROUNDS = 5
# After this time a case has no further round.
MAX_SECONDS_OF_ROUNDS = 5
HOST = "b0000000-0000-4000-8000-{:012d}"
SPEED = ROOT / "docs/speed.md"
# The table stands between these two lines of it.
BEGIN, END = "<!-- wide trees begin -->", "<!-- wide trees end -->"
HEAD = ("| children | groups | `group_policy` | candidates | placet | OpenStack Placement | ratio "
        "| with `optimize_for_wide_provider_trees` | ratio |\n|" + "---|" * 9)
NOT_MEASURED = "not measured"


class System:
    """One of the compared services with its options."""

    def __init__(self, kind, optimize, arguments):
        self.kind, self.arguments = kind, arguments
        self.options = {}
        if optimize:
            # OpenStack Placement's documentation recommends the second option together with the first.
            self.options = {"workarounds": {"optimize_for_wide_provider_trees": "true"},
                            "placement": {"max_allocation_candidates": "1000"}}
        self.timed_out = set()

    def measure(self, size, groups, policy):
        """The number of candidates and the median time in seconds, or a text that says why there is none."""
        case = (policy, groups > size)
        if case in self.timed_out:
            return NOT_MEASURED
        # Each case has a fresh service, because one whose request timed out is still busy.
        with live.Service(self.kind, options=self.options, binary=self.arguments.binary) as service:
            make_tree(Rest(service.port), size)
            result = request_candidates(Rest(service.port, timeout=self.arguments.timeout), groups, policy)
        if result is None:
            self.timed_out.add(case)
            return f"no response in {self.arguments.timeout} s"
        return result


def make_tree(client, size):
    client.must("POST", "/resource_providers", {"name": "host", "uuid": HOST.format(0)})
    for child in range(1, size + 1):
        uuid = HOST.format(child)
        body = {"name": f"child {child}", "uuid": uuid, "parent_provider_uuid": HOST.format(0)}
        client.must("POST", "/resource_providers", body)
        inventory = {"resource_provider_generation": 0, "inventories": {"VGPU": {"total": 1}}}
        client.must("PUT", f"/resource_providers/{uuid}/inventories", inventory)


def request_candidates(client, groups, policy):
    """The number of candidates and the median time of several requests, or None after a timeout."""
    resources = "&".join(f"resources{n}=VGPU:1" for n in range(1, groups + 1))
    seconds, found = [], 0
    for _ in range(ROUNDS):
        start = time.monotonic()
        try:
            response = client.must("GET", f"/allocation_candidates?{resources}&group_policy={policy}&limit=1000")
        except TimeoutError:
            return None
        seconds.append(time.monotonic() - start)
        found = len(response.json["allocation_requests"])
        if sum(seconds) > MAX_SECONDS_OF_ROUNDS:
            break
    return found, statistics.median(seconds)


def row(systems, size, groups, policy):
    placet, *others = [system.measure(size, groups, policy) for system in systems]
    timeout = systems[0].arguments.timeout
    if isinstance(placet, str):
        raise SystemExit(f"placet did not respond for {size} children and {groups} groups ({policy}): {placet}")
    cells = [size, groups, policy, f"{placet[0]:,}", format_time(placet[1])]
    for other in others:
        if isinstance(other, str):
            cells += [other, "" if other == NOT_MEASURED else f"more than {timeout / placet[1]:,.0f}"]
            continue
        # The reader has to know if the compared responses have different numbers of candidates.
        note = "" if other[0] == placet[0] else f" ({other[0]:,} candidates)"
        cells += [format_time(other[1]) + note, f"{other[1] / placet[1]:,.0f}"]
    return "| " + " | ".join(map(str, cells)) + " |"


def format_time(seconds):
    return f"{seconds * 1000:,.1f} ms"


def about(timeout):
    text = (f"Medians of up to {ROUNDS} requests over HTTP, to a fresh service for each row, in one run on "
            f"{readme.machine(f'{os.getloadavg()[0]:.0f} at the start')}. A ratio is OpenStack Placement's time divided by "
            f"placet's. A request was given up after {timeout} s, and larger trees were then not measured.")
    return "\n".join(textwrap.wrap(text, 120, break_on_hyphens=False))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--binary", help="placet's binary, if not that of `cargo build --profile dist`")
    parser.add_argument("--timeout", type=int, default=20, metavar="SECONDS")
    parser.add_argument("--write", action="store_true", help="write the table into docs/speed.md")
    parser.add_argument("sizes", nargs="*", type=int, default=[4, 8, 16, 32], metavar="SIZE")
    arguments = parser.parse_args()
    arguments.binary = arguments.binary or TARGET / "dist/placet"
    systems = [System("placet", False, arguments), System("upstream", False, arguments),
               System("upstream", True, arguments)]
    lines = [*about(arguments.timeout).splitlines(), "", *HEAD.splitlines()]
    print("\n".join(lines), flush=True)
    for policy in ("isolate", "none"):
        for size in arguments.sizes:
            for groups in (size, size + 1):
                lines.append(row(systems, size, groups, policy))
                print(lines[-1], flush=True)
    if arguments.write:
        readme.write(SPEED, BEGIN, END, "\n".join(lines))


if __name__ == "__main__":
    main()
