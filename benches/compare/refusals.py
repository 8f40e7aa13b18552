"""Measures what refused claims cost the granted ones.

    python -m benches.compare.refusals [--engine E]… [--rounds N] [--seconds S] [--binary PATH] [--generator PATH]

32 clients claim on 200 hosts that never fill, and with a given probability on a full host, which refuses. Rounds with
each share of refusals alternate. The ratio is the number of requests per second divided by that without refusals of the
same round. It is also the number of granted claims per second, divided by (1 - share) times that without refusals. The
ratio of CPU time is that of placet and the database server together, for each request, without refusals to with them.
On a busy machine it varies less.

`./tox.sh bench --group refusals` measures the same.
"""

import statistics

from benches.compare import roomy_cloud
from benches.compare.roomy_cloud import RoomyCloud

SHARES = (0.0, 0.01, 0.1, 0.5)
ROUNDS, ROUND_SECONDS = 7, 1.2
GRANTED, REFUSED = "204", "409"


def records(engine, generator, binary=None, rounds=ROUNDS, seconds=ROUND_SECONDS):
    """One record for each share of refusals, with the results of its rounds."""
    results = {share: [] for share in SHARES}
    with RoomyCloud(engine, generator, binary) as cloud:
        for number in range(rounds):
            # Each round begins with another share, because tables grow and servers write back all the time.
            turn = number % len(SHARES)
            for share in SHARES[turn:] + SHARES[:turn]:
                results[share].append(checked(cloud.load_with_cpu(refused=share, seconds=seconds), share))
    return [{"engine": engine.kind, "share": share, "rounds": found} for share, found in results.items()]


def checked(result, share):
    """The result of a round, if claims were refused for the expected reason, about as often as expected."""
    counts = {outcome.split()[0]: count for outcome, count in result["outcomes"].items()}
    requests = sum(counts.values())
    assert set(counts) <= {GRANTED, REFUSED}, f"unexpected outcomes: {result['outcomes']}"
    assert abs(counts.get(REFUSED, 0) / requests - share) < 0.05, f"{share:.0%} should be refused: {counts}"
    return result | {"requests_per_second": requests / result["seconds"]}


def ratios(record, without, key):
    """The median over the rounds of the record's value divided by that without refusals."""
    pairs = zip(record["rounds"], without["rounds"], strict=True)
    return statistics.median(with_refusals[key] / plain[key] for with_refusals, plain in pairs)


def table(found):
    """The lines of a table."""
    if not found:
        return
    yield "\n#### Refused claims: 32 clients, 200 hosts with room and a full one\n"
    yield "| engine | refused | granted | ratio | p50 | p99 | CPU of placet and server | ratio of CPU |\n|" + "---|" * 8
    plain = {record["engine"]: record for record in found if record["share"] == 0}
    for record in found:
        without = plain[record["engine"]]
        median = {key: statistics.median(it[key] for it in record["rounds"]) for key in (
            "rate", "p50_us", "p99_us", "cpu_us")}
        yield (f"| {record['engine']} | {record['share']:.0%} | {median['rate']:,.0f}/s "
               f"| {ratios(record, without, 'requests_per_second'):.2f} "
               f"| {median['p50_us'] / 1000:.1f} ms | {median['p99_us'] / 1000:.1f} ms "
               f"| {median['cpu_us']:.0f} µs | {1 / ratios(record, without, 'cpu_us'):.2f} |")


if __name__ == "__main__":
    roomy_cloud.main(__doc__, records, table, ROUNDS, ROUND_SECONDS)
