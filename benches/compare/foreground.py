"""A client that searches and claims as fast as possible, beside requests of a second client."""

import multiprocessing
import statistics
import time
import uuid

from functional_tests.lib.rest import KeptRest

SEARCH = "/allocation_candidates?resources=VCPU:1,MEMORY_MB:1024&limit=10"
FIGURES = ("searches a second", "search p50", "search p99", "claim p50", "claim p99")
SEARCHES_A_CLAIM = 20


def measured(service, seconds, beside=None):
    """The figures of the client. `beside(port, stop)` runs in a process of its own, until `stop` is set."""
    stop = multiprocessing.Event()
    process = beside and multiprocessing.Process(target=beside, args=(service.port, stop), daemon=True)
    if process:
        process.start()
    rest, searches, claims, end = KeptRest(service.port), [], [], time.monotonic() + seconds
    while time.monotonic() < end:
        searches += [timed(lambda: rest.must("GET", SEARCH)) for _ in range(SEARCHES_A_CLAIM)]
        claims.append(timed(lambda: claim_and_release(rest)))
    stop.set()
    if process:
        process.join()
    return [len(searches) / seconds, *quantiles(searches), *quantiles(claims)]


def timed(work):
    begin = time.perf_counter()
    work()
    return time.perf_counter() - begin


def claim_and_release(rest):
    consumer = str(uuid.uuid4())
    call = {"consumers": [{"uuid": consumer, "project_id": "p", "user_id": "u", "query": "resources=VCPU:1"}]}
    rest.must("POST", "/v1/claims", call)
    rest.must("DELETE", f"/allocations/{consumer}")


def quantiles(times):
    """The median and the 99th percentile in microseconds."""
    return statistics.median(times) * 1e6, statistics.quantiles(times, n=100)[98] * 1e6


def print_ratios(names, rounds):
    """Prints the medians of both sides, and the median of the ratios. A round has the figures of both sides."""
    print(f"| figure | {names[0]} | {names[1]} | ratio |\n|---|---|---|---|")
    for at, figure in enumerate(FIGURES):
        first, second = (statistics.median(found[side][at] for found in rounds) for side in (0, 1))
        ratio = statistics.median(found[1][at] / found[0][at] for found in rounds)
        print(f"| {figure} | {first:,.0f} | {second:,.0f} | {ratio:.2f} |")
