"""Measures what requests with a thousand consumers cost plain claims.

    python -m benches.compare.claims_together [--engine E]… [--rounds N] [--seconds S] [--binary PATH] [--generator PATH]

32 clients claim for one consumer at a time, alternately without and beside one client that sends POST /allocations with
the claims of 1,000 new consumers, one request after the other. The ratio is that of the 99th percentiles of the plain
claims, the median over the rounds.

`./tox.sh bench --group claims-together` measures the same.
"""

import argparse
import concurrent.futures
import statistics

from benches.compare.load_generator import LoadGenerator
from benches.compare.roomy_cloud import RoomyCloud
from functional_tests.lib import engines

ENGINES = ("sqlite", "postgresql", "mariadb")
ROUNDS, ROUND_SECONDS = 7, 2.0
GRANTED = "204"


def record(engine, generator, binary=None, rounds=ROUNDS, seconds=ROUND_SECONDS):
    """The results of each round: of plain claims alone, of plain claims beside the large requests, and of these."""
    found = {"alone": [], "beside": [], "together": []}
    with RoomyCloud(engine, generator, binary) as cloud, concurrent.futures.ThreadPoolExecutor(1) as large:
        for _ in range(rounds):
            found["alone"].append(checked(cloud.load(seconds=seconds)))
            together = large.submit(cloud.load, scenario="claims-together", clients=1, seconds=seconds)
            found["beside"].append(checked(cloud.load(seconds=seconds)))
            found["together"].append(checked(together.result()))
    return {"engine": engine.kind, **found}


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


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--engine", action="append", choices=ENGINES, help="may be repeated (default: all)")
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--seconds", type=float, default=ROUND_SECONDS, help="of each half of a round")
    parser.add_argument("--binary", help="placet's binary, if not that of `cargo build --release`")
    parser.add_argument("--generator", help="the load generator's binary, if not that of `./tox.sh bench`")
    chosen = parser.parse_args()
    found = []
    for kind in chosen.engine or ENGINES:
        with engines.Engine(kind, durable=True) as engine:
            found.append(record(engine, LoadGenerator(chosen.generator), chosen.binary, chosen.rounds, chosen.seconds))
    print(*table(found), sep="\n")


if __name__ == "__main__":
    main()
