"""Measures what requests with a thousand consumers cost plain claims.

    python -m benches.compare.claims_together [--engine E]… [--rounds N] [--seconds S] [--binary PATH] [--generator PATH]

32 clients claim for one consumer at a time, alternately without and beside one client that sends POST /allocations with
the claims of 1,000 new consumers, one request after the other. The ratio is that of the 99th percentiles of the plain
claims, the median over the rounds.

`./tox.sh bench --group claims-together` measures the same.
"""

import concurrent.futures
import statistics

from benches.compare import roomy_cloud
from benches.compare.roomy_cloud import RoomyCloud

ROUNDS, ROUND_SECONDS = 7, 2.0
GRANTED = "204"


def records(engine, generator, binary=None, rounds=ROUNDS, seconds=ROUND_SECONDS):
    """One record with the results of each round: plain claims alone, plain claims beside large requests, and these."""
    found = {"alone": [], "beside": [], "together": []}
    with RoomyCloud(engine, generator, binary) as cloud, concurrent.futures.ThreadPoolExecutor(1) as large:
        for _ in range(rounds):
            found["alone"].append(checked(cloud.load(seconds=seconds)))
            together = large.submit(cloud.load, scenario="claims-together", clients=1, seconds=seconds)
            found["beside"].append(checked(cloud.load(seconds=seconds)))
            found["together"].append(checked(together.result()))
    return [{"engine": engine.kind, **found}]


def checked(result):
    assert set(result["outcomes"]) == {GRANTED}, f"unexpected outcomes: {result['outcomes']}"
    return result


def ratio(found, key):
    pairs = zip(found["beside"], found["alone"], strict=True)
    return statistics.median(beside[key] / alone[key] for beside, alone in pairs)


def table(found):
    """The lines of a table."""
    if not found:
        return
    yield "\n#### Plain claims of 32 clients, alone and beside requests of 1,000 consumers\n"
    yield ("| engine | alone | p50 | p99 | beside | p50 | p99 | ratio of p99 | large requests | p50 |\n|" + "---|" * 10)
    for each in found:
        cells = [each["engine"]]
        for name in ("alone", "beside"):
            rate, p50, p99 = (statistics.median(it[key] for it in each[name]) for key in ("rate", "p50_us", "p99_us"))
            cells += [f"{rate:,.0f}/s", f"{p50 / 1000:.1f} ms", f"{p99 / 1000:.1f} ms"]
        rate, p50 = (statistics.median(it[key] for it in each["together"]) for key in ("rate", "p50_us"))
        cells += [f"{ratio(each, 'p99_us'):.1f}", f"{rate:.1f}/s", f"{p50 / 1000:.0f} ms"]
        yield f"| {' | '.join(cells)} |"


if __name__ == "__main__":
    roomy_cloud.main(__doc__, records, table, ROUNDS, ROUND_SECONDS)
