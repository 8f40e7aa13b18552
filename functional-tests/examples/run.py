"""The schedulers and the agent of examples/: the output equals the stored allocations and leases.

    python -m functional_tests.examples.run [--engine ENGINE] [--binary PATH] [--seed SEED]

Both schedulers run as processes, on demo clouds of their own making. Their output is replayed against the inventories:
each workload must be placed exactly if it fits, at the best place by its rank, and a gang as a whole or not at all.
"""

import collections
import random
import re
import subprocess
import sys

from functional_tests.examples.broken_proxy import BrokenProxy
from functional_tests.lib import command_line, engines, live
from functional_tests.lib.patience import HANG_SECONDS
from functional_tests.lib.rest import Rest
from functional_tests.lib.root import ROOT
from functional_tests.lib.test_counts import TestCounts

SCRIPTS = {"scheduler": ROOT / "examples/scheduler.py", "nova-style": ROOT / "examples/nova-style.py"}
MOST_LINES = 100  # of scheduler.py, which has to stay a script that is read at once
LINE = re.compile(r"(placed|refused) (\d+) (\w+) ([0-9a-f-]{36}): (?:(\S+) on ([0-9a-f-]{36})|(.*))")
SUMMARY = re.compile(r"(\d+) placed, (\d+) refused, (\d+) requests(?:, \d+ conflicts)?")
AMOUNTS = {"small": {"VCPU": 1, "MEMORY_MB": 2048}, "medium": {"VCPU": 2, "MEMORY_MB": 8192},
           "large": {"VCPU": 6, "MEMORY_MB": 16384}}
NO_ROOM = ["placet.no_candidate", "placet.no_room"]
HOST = "4e8e5957-649f-477b-9e5b-f1f75b21c03c"
STORED = """
SELECT a.consumer_id, p.uuid, c.name, a.used FROM allocations a
JOIN resource_providers p ON p.id = a.resource_provider_id JOIN resource_classes c ON c.id = a.resource_class_id"""
TOTALS = """
SELECT p.uuid, c.name, i.total FROM inventories i
JOIN resource_providers p ON p.id = i.resource_provider_id JOIN resource_classes c ON c.id = i.resource_class_id"""

Outcome = collections.namedtuple("Outcome", "workload size consumer provider amounts reasons")


class Run:
    """One process of a script."""

    def __init__(self, script, port, *arguments):
        command = [sys.executable, str(SCRIPTS[script]), "--url", f"http://127.0.0.1:{port}", *map(str, arguments)]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                        env=live.clean_environment())

    def outcomes(self):
        """What it printed, one outcome for each consumer."""
        output, errors = self.process.communicate(timeout=HANG_SECONDS)
        assert self.process.returncode == 0, f"exit {self.process.returncode}: {errors}"
        *lines, last = output.splitlines()
        outcomes = [outcome(line) for line in lines]
        placed, refused, self.requests = map(int, SUMMARY.fullmatch(last).groups())
        counts = collections.Counter(bool(it.provider) for it in outcomes)
        assert (placed, refused) == (counts[True], counts[False]), f"{last}\n{output}"
        return outcomes


def outcome(line):
    """A line of the output. Its first word and its content must agree."""
    word, workload, size, consumer, amounts, provider, reasons = LINE.fullmatch(line).groups()
    assert (word == "placed") == bool(provider), line
    pairs = (it.split(":") for it in (amounts or "").split(",") if it)
    return Outcome(int(workload), size, consumer, provider, {name: int(amount) for name, amount in pairs}, reasons)


class Cloud:
    """What is free, at first as stored, and then as the replayed outcomes leave it."""

    def __init__(self, database):
        self.totals, self.free = collections.defaultdict(dict), collections.defaultdict(dict)
        for provider, name, total in database.query(TOTALS):
            self.totals[provider][name] = self.free[provider][name] = total
        for _, provider, name, used in database.query(STORED):
            self.free[provider][name] -= used

    def places(self, amounts):
        """How many equal consumers fit."""
        return sum(self.places_on(provider, amounts) for provider in self.free)

    def places_on(self, provider, amounts):
        return max(0, min(self.free[provider].get(name, 0) // amount for name, amount in amounts.items()))

    def greatest_share(self, provider, amounts):
        """Of a provider's classes, the greatest share that is used after a claim."""
        total, free = self.totals[provider], self.free[provider]
        return max((total[name] - free[name] + amount) / total[name] for name, amount in amounts.items())

    def take(self, provider, amounts):
        for name, amount in amounts.items():
            self.free[provider][name] -= amount
            assert self.free[provider][name] >= 0, f"{provider} is over capacity in {name}"


def by_workload(outcomes):
    grouped = collections.defaultdict(list)
    for each in outcomes:
        grouped[each.workload].append(each)
    return grouped.values()


def check_stored(database, outcomes):
    """Asserts that the allocations are exactly the printed ones, of the sizes that they should have."""
    printed = {(it.consumer, it.provider, name, amount) for it in outcomes for name, amount in it.amounts.items()}
    stored = {tuple(row) for row in database.query(STORED)}
    assert printed == stored, f"printed alone: {printed - stored}\nstored alone: {stored - printed}"
    for it in outcomes:
        assert not it.provider or it.amounts == AMOUNTS[it.size], it
    over = {provider: free for provider, free in Cloud(database).free.items() if min(free.values()) < 0}
    assert not over, f"over capacity: {over}"


def check_gangs(outcomes):
    for gang in by_workload(outcomes):
        assert len({bool(it.provider) for it in gang}) == 1, f"a part of a gang was placed: {gang}"


def replay(cloud, outcomes, best):
    """Asserts that each workload is placed exactly if it fits, each consumer where `best` of the shares says."""
    for gang in by_workload(outcomes):
        amounts = AMOUNTS[gang[0].size]
        fits = cloud.places(amounts) >= len(gang)
        for it in gang:
            assert bool(it.provider) == fits, f"it fits: {fits}, but {it}"
            if fits:
                shares = {provider: cloud.greatest_share(provider, amounts)
                          for provider in cloud.free if cloud.places_on(provider, amounts)}
                assert shares[it.provider] == best(shares.values()), f"not the best by rank of {shares}: {it}"
                cloud.take(it.provider, amounts)


def codes(outcomes):
    """The codes in the reasons of the refused consumers, each list once."""
    return sorted({tuple(re.findall(r"(placet\.\w+|placement\.\w+):", it.reasons)) for it in outcomes if it.reasons})


def fills(service, script, seed, rank, best):
    """A stream on an empty cloud, and one that fills it: what is printed is stored, and the best by rank."""
    Run(script, service.port, "--demo-cloud", 12, 0).outcomes()
    cloud, options = Cloud(service.database), ("--rank", rank, "--seed", seed)
    assert len(cloud.free) == 12, cloud.free
    first = Run(script, service.port, *options, 8).outcomes()
    replay(cloud, first, best)
    second = Run(script, service.port, *options, 60).outcomes()
    replay(cloud, second, best)
    check_stored(service.database, first + second)
    refused = [it for it in second if not it.provider]
    assert refused and len(refused) < len(second), f"{len(refused)} of {len(second)} were refused"
    check_reasons(script, second)


def check_reasons(script, outcomes):
    """Asserts that each refused workload has a consumer for which there was no room."""
    for gang in by_workload(outcomes):
        refused = [it for it in gang if not it.provider]
        if script == "scheduler" and refused:
            assert tuple(NO_ROOM) in codes(refused), refused
            assert set(codes(refused)) <= {tuple(NO_ROOM), ("placet.other_refused",)}, refused
            assert all("VCPU" in it.reasons or "MEMORY_MB" in it.reasons or "other" in it.reasons for it in refused)
        elif refused:
            assert any(it.reasons.startswith(("No candidate", "Conflict")) for it in refused), refused


def at_once(service, scripts, seed):
    """Several processes fill one cloud. If no script gives anything back, no refused workload fits in the end."""
    Run("scheduler", service.port, "--demo-cloud", 6, 0).outcomes()
    runs = [Run(script, service.port, "--seed", seed + at, 25) for at, script in enumerate(scripts)]
    outcomes = []
    for number, run in enumerate(runs):
        own = run.outcomes()
        check_gangs(own)
        check_reasons(scripts[number], own)
        outcomes += [it._replace(workload=(number, it.workload)) for it in own]
    check_stored(service.database, outcomes)
    cloud = Cloud(service.database)
    refused = [gang for gang in by_workload(outcomes) if not gang[0].provider]
    assert refused, "nothing was refused: the cloud is too large for this test"
    if "nova-style" not in scripts:
        for gang in refused:
            assert cloud.places(AMOUNTS[gang[0].size]) < len(gang), f"refused, but it fits: {gang}"


def create_host(service, inventories):
    rest = Rest(service.port)
    rest.must("POST", "/resource_providers", {"name": "host", "uuid": HOST})
    rest.must("PUT", f"/resource_providers/{HOST}/inventories", {"resource_provider_generation": 0, "inventories": {
        name: {"total": total} for name, total in inventories.items()}})


def seed_of(size, members):
    """A seed whose first workload is this one."""
    for seed in range(1000):
        sizes = random.Random(seed)
        if (sizes.choice(list(AMOUNTS)), sizes.choice((1, 1, 1, 4))) == (size, members):
            return seed
    raise AssertionError("no such seed")


def repeats(service, script, path, faults, count):
    """Refused and lost answers: each consumer is placed once, although the last one leaves no room for another."""
    create_host(service, {name: amount * count for name, amount in AMOUNTS["medium"].items()})
    with BrokenProxy(service.port, path, faults) as proxy:
        run = Run(script, proxy.port, "--seed", seed_of("medium", count), 1)
        outcomes = run.outcomes()
        assert not proxy.faults, f"not met: {proxy.faults}"
    assert len(outcomes) == count and all(it.provider == HOST for it in outcomes), outcomes
    check_stored(service.database, outcomes)


def gang_too_large(service, script):
    """There is room for three of four: nothing is claimed, and what was claimed on the way is given back."""
    create_host(service, {name: amount * 3 for name, amount in AMOUNTS["medium"].items()})
    outcomes = Run(script, service.port, "--seed", seed_of("medium", 4), 1).outcomes()
    assert len(outcomes) == 4 and not any(it.provider for it in outcomes), outcomes
    check_reasons(script, outcomes)
    check_stored(service.database, outcomes)


def reasons_of(service, inventories, expected):
    """What the only host has, and the reason for which a workload has no place there."""
    create_host(service, inventories)
    outcomes = Run("scheduler", service.port, "--seed", seed_of("large", 1), 1).outcomes()
    assert codes(outcomes) == [tuple(expected)], outcomes
    check_stored(service.database, outcomes)
    outcomes = Run("nova-style", service.port, "--seed", seed_of("large", 1), 1).outcomes()
    assert [it.reasons for it in outcomes] == ["No candidate: no reason is known."], outcomes


def refused_token(service, script):
    run = Run(script, service.port, "--token", "demo", 1)
    _, errors = run.process.communicate(timeout=HANG_SECONDS)
    assert run.process.returncode == 1 and ": 403 " in errors, errors


def agent_reports(service):
    """The smallest agent: waits for its host, reports, and goes on after a restart."""
    rest = Rest(service.port)
    command = [sys.executable, str(ROOT / "examples/agent.py"), "--url", f"http://127.0.0.1:{service.port}", HOST]
    for first in ("refused: ", "reported; "):
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=live.clean_environment()) as process:
            line = process.stdout.readline()
            process.kill()
        assert line.startswith(first), line
        if first == "refused: ":
            assert "placement.undefined_code" in line or HOST in line, line
            create_host(service, {"VCPU": 1})
    shown = rest.must("GET", f"/v1/hosts/{HOST}").json
    assert line.split()[-1] == shown["lease_until"] and shown["health"] == "up", (line, shown)
    assert "kernel" in rest.must("GET", f"/v1/providers/{HOST}").json["properties"]


def help_teaches(script):
    done = subprocess.run([sys.executable, str(SCRIPTS[script]), "--help"], capture_output=True, text=True, check=True)
    for word in ("POST /v1/claims", "GET /allocation_candidates", "503", "409", "--demo-cloud", "--token"):
        assert word in done.stdout, f"{word} is not in the help:\n{done.stdout}"


def short(script):
    lines = len(SCRIPTS[script].read_text().splitlines())
    assert lines < MOST_LINES, f"{lines} lines"


def main():
    parser = command_line.parser(__doc__, "--binary", "--engine", "--seed")
    arguments = parser.parse_args()
    tests, seed = TestCounts(), arguments.seed
    print(f"seed {seed}", flush=True)
    with engines.Engine(arguments.engine) as engine:

        def step(name, function, *more):
            with live.Service("placet", binary=arguments.binary, engine=engine) as service:
                tests.step(name, function, service, *more)

        tests.step("scheduler.py is short", short, "scheduler")
        for script, path in (("scheduler", "/v1/claims"), ("nova-style", "/allocations")):
            tests.step(f"{script}: the help teaches", help_teaches, script)
            for rank, best in (("emptiest", min), ("fullest", max)):
                step(f"{script}: fills a cloud, {rank} first", fills, script, seed, rank, best)
            step(f"{script}: a gang that does not fit", gang_too_large, script)
            step(f"{script}: 503 and lost answers", repeats, script, path, ("busy", "cut"), 1)
            if script == "scheduler":
                step(f"{script}: a repetition that is refused too early", repeats, script, path, ("cut", "early"), 1)
            step(f"{script}: lost answers of a gang", repeats, script, path, ("cut", "cut", "busy"), 4)
            step(f"{script}: a token that may not claim", refused_token, script)
        step("agent.py: reports for a host", agent_reports)
        step("four schedulers at once", at_once, ["scheduler"] * 4, seed)
        step("both at once", at_once, ["scheduler", "nova-style"] * 2, seed)
        step("the reason: no room", reasons_of, {"VCPU": 5, "MEMORY_MB": 65536}, NO_ROOM)
        step("the reason: no inventory", reasons_of, {"MEMORY_MB": 65536},
             ["placet.no_candidate", "placet.no_inventory"])
    tests.finish()


if __name__ == "__main__":
    main()
