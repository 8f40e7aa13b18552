"""Measures what requests with a thousand consumers cost plain claims.

    python -m benches.compare.claims_together [--engine E]… [--rounds N] [--seconds S] [--binary PATH]
                                              [--generator PATH]

32 clients claim for one consumer at a time, alternately without and beside one client that sends requests with 1,000
new consumers, one after the other: claims of known hosts by POST /allocations, or a gang with one query by POST
/v1/claims. The ratio is that of the 99th percentiles of the plain claims, the median over the rounds.

`./tox.sh bench --group claims-together` measures the same.
"""

import concurrent.futures
import statistics

from benches.compare import roomy_cloud
from benches.compare.roomy_cloud import RoomyCloud

ROUNDS, ROUND_SECONDS = 7, 2.0
# The options of the load generator for each kind of large request.
LARGE = {
    "POST /allocations": {"scenario": "claims-together"},
    "POST /v1/claims": {"scenario": "one-call", "consumers": 1000},
}
GRANTED = ({"200"}, {"204"})


def records(engine, generator, binary=None, rounds=ROUNDS, seconds=ROUND_SECONDS):
    """A record for each kind of large request."""
    with RoomyCloud(engine, generator, binary) as cloud, concurrent.futures.ThreadPoolExecutor(1) as large:
        return [record(cloud, large, kind, rounds, seconds) for kind in LARGE]


def record(cloud, large, kind, rounds, seconds):
    """The results of each round: plain claims alone, plain claims beside large requests, and these."""
    found = {"alone": [], "beside": [], "together": []}
    for _ in range(rounds):
        found["alone"].append(checked(cloud.load(seconds=seconds)))
        together = large.submit(cloud.load, clients=1, seconds=seconds, **LARGE[kind])
        found["beside"].append(checked(cloud.load(seconds=seconds)))
        found["together"].append(checked(together.result()))
    return {"engine": cloud.engine.kind, "large": kind, **found}


def checked(result):
    assert set(result["outcomes"]) in GRANTED, f"unexpected outcomes: {result['outcomes']}"
    return result


def ratio(found, key):
    pairs = zip(found["beside"], found["alone"], strict=True)
    return statistics.median(beside[key] / alone[key] for beside, alone in pairs)


def table(found):
    """The lines of a table."""
    if not found:
        return
    yield "\n#### Plain claims of 32 clients, alone and beside requests of 1,000 consumers\n"
    yield ("| engine | large requests | alone | p50 | p99 | beside | p50 | p99 | ratio of p99 | large requests a second | p50 |"
           "\n|" + "---|" * 11)
    for each in found:
        cells = [each["engine"], each["large"]]
        for name in ("alone", "beside"):
            rate, p50, p99 = (statistics.median(it[key] for it in each[name]) for key in ("rate", "p50_us", "p99_us"))
            cells += [f"{rate:,.0f}/s", f"{p50 / 1000:.1f} ms", f"{p99 / 1000:.1f} ms"]
        rate, p50 = (statistics.median(it[key] for it in each["together"]) for key in ("rate", "p50_us"))
        cells += [f"{ratio(each, 'p99_us'):.1f}", f"{rate:.1f}/s", f"{p50 / 1000:.0f} ms"]
        yield f"| {' | '.join(cells)} |"


if __name__ == "__main__":
    roomy_cloud.main(__doc__, records, table, ROUNDS, ROUND_SECONDS)
