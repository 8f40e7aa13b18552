"""Sends the same requests to OpenStack Placement and to placet, and compares their answers and tables.

    python -m functional_tests.differential.run [--engine ENGINE] [--server placet|upstream] [--seed N]
                                                [--seconds N | --requests N] [--binary PATH] [-v]
    python -m functional_tests.differential.run --replay FILE [--shrink]

First comes a table of requests about unknown names, on empty and on populated databases (unknown_names.py). Then come
runs of a few hundred random requests. Each run begins with empty services and has a seed of its own. The printed seed
repeats a run: `--seed N --requests 0`.

The tables of both are compared after every request that may have changed them. Allocation candidates are also judged by
an oracle (evidence.py), and every second run is about these. A run with a difference is written to a file, for
`--replay`. `--shrink` looks for the fewest requests that show the difference.
"""

import json
import os
import pathlib
import re
import tempfile
import time
from collections import Counter
from dataclasses import asdict

from functional_tests.differential import (
    comparison_test, generator, judge_test, known_differences, shrink, unknown_names)
from functional_tests.differential.pair import Pair, kind
from functional_tests.differential.request import Request
from functional_tests.differential.side import Side
from functional_tests.lib import command_line, engines, live
from functional_tests.lib.test_counts import TestCounts, difference

REQUESTS_PER_RUN = 400
OPTIONS = {"placet": {"strict_step_size": "true"}}


def signature(request, found):
    """Differences with the same signature most likely have the same cause."""
    return kind(request), tuple(sorted(found)), str(found.get("status")), masked(found)


def masked(found):
    """The details that differ, without uuids, numbers and names."""
    sentences = [error["detail"] for body in found.get("body", ()) if isinstance(body, dict)
                 for error in body.get("errors", ())]
    return re.sub(r"[0-9a-fA-F-]{36}|\d+|'[^']*'|CUSTOM_\w+", "_", " ".join(sentences))[:200]


def report(request, found, status):
    lines = [f"{request.line()} -> {status}"]
    for part, (theirs, ours) in found.items():
        lines += [f"-- {part}", difference(theirs, ours)]
    return "\n".join(lines)


def save(requests, seed):
    path = pathlib.Path(tempfile.gettempdir(), f"placet-differential-{seed}.json")
    path.write_text(json.dumps([asdict(request) for request in requests], indent=1))
    return path


def compare_run(pair, seed, requests, tests, seen, arguments):
    name, sent = f"run {seed}", pair.compared
    failed = False
    for n, found in pair.run(requests):
        failed = True
        request, key = requests[n - 1], signature(requests[n - 1], found)
        seen[key] += 1
        if seen[key] > 1:
            continue
        path = save(requests[:n], f"{seed}-{n}")
        print(f"DIFFERENT  {name}, request {n} (--replay {path})\n{report(request, found, pair.status)}\n", flush=True)
        if arguments.shrink:
            fewest = shrink.shrink(pair, requests[:n], key, signature)
            save(fewest, f"{seed}-{n}")
            print("the fewest requests that show it:", *(f"    {it.line()}" for it in fewest), sep="\n", flush=True)
    if failed:
        tests.fail(name, f"differences after {pair.compared - sent} requests")
    else:
        tests.ok(f"{name}: {pair.compared - sent} requests", show=arguments.verbose)


def runs(arguments):
    """Yields (seed, requests) until the time is over, or until the number of requests is reached."""
    if arguments.replay:
        yield pathlib.Path(arguments.replay).stem, [Request(**it) for it in json.loads(pathlib.Path(arguments.replay).read_text())]
        return
    end, left, seed = time.monotonic() + arguments.seconds, arguments.requests, arguments.seed
    while True:
        yield seed, generator.requests(seed, REQUESTS_PER_RUN)
        seed, left = seed + 1, (left or 0) - REQUESTS_PER_RUN
        if (left <= 0) if arguments.requests is not None else (time.monotonic() > end):
            return


def database(engine):
    """A new database. With utf8mb4 OpenStack Placement's MariaDB driver can send every character, as placet can."""
    made = engine.create()
    if engine.dialect == "mariadb":
        made.url += "?charset=utf8mb4"
    return made


def main():
    parser = command_line.parser(__doc__, "--binary", "--engine")
    full = os.environ.get("PLACET_TEST_SIZE") == "full"
    parser.add_argument("--seed", type=int, default=int(time.time()) * 1000 if full else 1, help="of the first run")
    parser.add_argument("--seconds", type=int, default=600 if full else 120)
    parser.add_argument("--requests", type=int, help="the number of requests, instead of --seconds; 0 for one run")
    parser.add_argument("--replay", metavar="FILE")
    parser.add_argument("--server", choices=("placet", "upstream"), default="placet",
                        help="upstream compares OpenStack Placement with itself, which tests this script")
    parser.add_argument("--shrink", action="store_true")
    parser.add_argument("-v", "--verbose", action="store_true")
    arguments = parser.parse_args()
    print(f"seed {arguments.seed}", flush=True)
    known_differences.check()
    tests, seen = TestCounts(), Counter()
    judge_test.check(tests, arguments.verbose)
    comparison_test.check(tests, arguments.verbose)
    start = time.monotonic()
    with engines.Engine(arguments.engine) as engine, \
            live.Service("upstream", OPTIONS, database=database(engine)) as yardstick, \
            live.Service(arguments.server, OPTIONS, binary=arguments.binary, database=database(engine)) as tested:
        pair = Pair(Side(yardstick), Side(tested), time.monotonic() - start)
        if not arguments.replay:
            # On other engines the short run has only the state of a new database, in which a search finds no provider.
            states = unknown_names.STATES if full or arguments.engine == "sqlite" else unknown_names.STATES[:1]
            unknown_names.check(pair, tests, arguments.verbose, report, states)
        for seed, requests in runs(arguments):
            compare_run(pair, seed, requests, tests, seen, arguments)
    print(f"{pair.compared} requests compared, by status {dict(sorted(pair.statuses.items()))}")
    if arguments.verbose:
        for name, outcomes in sorted(pair.kinds.items(), key=lambda item: -item[1].total()):
            print(f"{outcomes[True]:6} of {outcomes.total():6} succeeded: {name}")
    for what, counts in (("candidates", pair.evidence.judged), ("mutants noticed", pair.evidence.noticed),
                         ("upstream keeps consumers without allocations after", pair.left)):
        print(f"{what}: " + ", ".join(f"{times} {name}" for name, times in counts.most_common()))
    for row, times in pair.meant.items():
        print(f"{times} times, as docs/differences.md says: {row}")
    tests.finish()


if __name__ == "__main__":
    main()
