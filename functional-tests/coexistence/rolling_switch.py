"""A rolling switch: two placets and two OpenStack Placements on one database, with concurrent writes behind a balancer.

Part of the suite run.py, which judges only placet:

- No claim that placet grants exceeds a capacity.
- placet refuses a claim for lack of capacity only if it did not fit at some moment in between.
- placet gives no other answer because of the concurrency.

OpenStack Placement may oversubscribe a provider when retrying a claim (docs/differences.md). placet's log names the
provider, once.
"""

import itertools
import random
import threading
import time
from collections import Counter

from functional_tests.lib.ledger import Ledger
from functional_tests.lib.patience import HANG_SECONDS
from functional_tests.lib.rest import Rest
from functional_tests.lib.usage_bounds import UsageBounds

COMPARISON_INTERVAL_SECONDS = 1  # between placet's comparisons with the tables
SHOWN_SECONDS_MAX = 10 * 2 * COMPARISON_INTERVAL_SECONDS  # ten times what a comparison and its beginning may take
CLIENTS = 16
OWNER = {"project_id": "p", "user_id": "u", "consumer_type": "INSTANCE"}
SUMS = ("SELECT p.uuid, p.generation, COALESCE(SUM(a.used), 0) FROM resource_providers p"
        " LEFT JOIN allocations a ON a.resource_provider_id = p.id GROUP BY p.uuid, p.generation")


def new_uuid(chance):
    return f"{chance.getrandbits(32):08x}-0000-4000-8000-{chance.getrandbits(48):012x}"


class Balancer:
    """Sends each request to the next service. `kind` of the answer is the kind of that service."""

    def __init__(self, services):
        self.services, self.lock = itertools.cycle(services), threading.Lock()

    def __call__(self, method, path, body=None):
        with self.lock:
            service = next(self.services)
        answer = Rest(service.port)(method, path, body)
        answer.kind = service.kind
        return answer

    def until_decided(self, method, path, body=None):
        """Retries as clients do: OpenStack Placement gives up when generations move, and answers 500 on a deadlock."""
        while True:
            answer = self(method, path, body)
            if answer.kind == "placet" or not (answer.status == 500 or answer.code == "placement.concurrent_update"):
                return answer


def is_full(answer):
    return answer.status == 409 and b"would exceed the capacity" in answer.raw


def claim(holds, generation=None):
    """The body of a claim. `holds` has the amounts of VCPU by provider."""
    return {"allocations": {p: {"resources": {"VCPU": n}} for p, n in holds.items()},
            "consumer_generation": generation, **OWNER}


def make_host(rest, provider, total):
    rest.must("POST", "/resource_providers", {"name": provider, "uuid": provider})
    rest.must("PUT", f"/resource_providers/{provider}/inventories", {
        "resource_provider_generation": 0, "inventories": {"VCPU": {"total": total}}})


def print_counts(counts):
    print("        " + ", ".join(f"{what}: {count}" for what, count in sorted(counts.items())), flush=True)


def at_once(workers):
    threads = [threading.Thread(target=worker, daemon=True) for worker in workers]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(HANG_SECONDS)
        assert not thread.is_alive(), f"a client has not ended after {HANG_SECONDS} s"


# --- a race for one host ---

def race(chance, balancer, placets, counts):
    """Sends more concurrent claims for a host than fit on it."""
    host, places, amount = new_uuid(chance), chance.randint(4, CLIENTS - 4), chance.randint(1, 3)
    make_host(Rest(placets[0].port), host, places * amount)
    usage, answers, start = UsageBounds(), {}, threading.Barrier(CLIENTS)

    def client(consumer):
        start.wait()
        write = usage.begin(1, 0)
        answers[consumer] = answer = balancer.until_decided("PUT", f"/allocations/{consumer}", claim({host: amount}))
        usage.end(write)
        answer.write = write
        if answer.status != 204:
            usage.forget(write)

    at_once([lambda it=new_uuid(chance): client(it) for _ in range(CLIENTS)])
    assert len(answers) == CLIENTS, f"{len(answers)} of {CLIENTS} clients were answered"
    for answer in answers.values():
        counts[f"{answer.kind}'s claims answered {answer.status}"] += 1
        if answer.kind == "placet" and answer.status != 204:
            assert is_full(answer), f"placet answered {answer}"
            _, most = usage.bounds("used", answer.write["began"], answer.write["ended"])
            assert most >= places, f"placet refused a claim although at most {most} of {places} places were taken"
    over = judge_grants(placets[0].database, host, places * amount, answers)
    counts["oversubscribed by OpenStack Placement"] += over
    named_once(placets, host, over)


def judge_grants(database, host, capacity, answers):
    """Checks that placet granted nothing beyond the capacity; returns whether it is exceeded.

    Rows get their ids in the order of the grants, because each grant moves the provider's generation. A claim that is
    retried gets new rows.
    """
    used = 0
    for consumer, amount in database.query(
            "SELECT a.consumer_id, a.used FROM allocations a JOIN resource_providers p"
            " ON p.id = a.resource_provider_id WHERE p.uuid = ? ORDER BY a.id", [host]):
        used += amount
        assert answers[consumer].status == 204, f"{consumer} has allocations after {answers[consumer]}"
        assert used <= capacity or answers[consumer].kind == "upstream", (
            f"placet granted {consumer} {amount} when {used - amount} of {capacity} were used")
    return used > capacity


def named_once(placets, host, over):
    """If the host is over capacity, each placet logs it. Later, lines_are_single checks that it does so once."""
    deadline = time.monotonic() + SHOWN_SECONDS_MAX
    line = f"Provider {host} is over capacity"
    while over and not all(line in log(placet) for placet in placets):
        assert time.monotonic() < deadline, f"not every placet logs in time: {line}"
        time.sleep(0.05)
    placets[0].later.append((line, int(over)))


def log(service):
    return (service.folder / "log").read_text(errors="replace")


def lines_are_single(placets):
    """After several rounds of the comparison each line is still in the logs once."""
    time.sleep(3 * COMPARISON_INTERVAL_SECONDS)
    for line, times in placets[0].later:
        for placet in placets:
            assert log(placet).count(line) == times, f"{log(placet).count(line)} times, not {times}: {line}"


# --- claims, releases and updates of inventories ---

class Traffic:
    """Clients that each have consumers of their own. Inventories change, but their capacity does not."""

    HOST_VCPUS = 20

    def __init__(self, chance, balancer, placets, writes):
        self.chance, self.balancer, self.placets = chance, balancer, placets
        self.usages = {new_uuid(chance): UsageBounds() for _ in range(4)}
        self.writes, self.ended = writes // CLIENTS, threading.Event()
        self.counts, self.faults, self.refusals = Counter(), [], []
        for host in self.usages:
            make_host(Rest(placets[0].port), host, self.HOST_VCPUS)

    def run(self):
        watcher = threading.Thread(target=self.watch, daemon=True)
        watcher.start()
        at_once([lambda seed=self.chance.random(): self.client(random.Random(seed)) for _ in range(CLIENTS)])
        self.ended.set()
        watcher.join(60)
        for refusal in self.refusals:
            self.judge(*refusal)
        assert not self.faults, "\n".join(self.faults[:5])
        print_counts(self.counts)
        answered = [self.counts[f"placet's claims answered {status}"] for status in (204, 409)]
        assert all(answered), "placet granted no claim, or refused none"

    def client(self, chance):
        mine = {}  # by consumer: what it holds, and its generation
        try:
            for _ in range(self.writes):
                write = chance.choice((self.claim, self.claim, self.claim, self.replace, self.release, self.resize))
                write(chance, mine)
        except Exception as error:  # the run reports it
            self.faults.append(f"a client ended: {error!r}")

    def count(self, answer, what):
        self.counts[f"{answer.kind}'s {what} answered {answer.status}"] += 1

    def some(self, chance):
        return {host: chance.randint(1, 4) for host in chance.sample(sorted(self.usages), chance.randint(1, 2))}

    def claim(self, chance, mine):
        self.put(mine, new_uuid(chance), {}, self.some(chance), None)

    def replace(self, chance, mine):
        if mine:
            consumer = chance.choice(sorted(mine))
            had, generation = mine.pop(consumer)
            self.put(mine, consumer, had, self.some(chance), generation)

    def put(self, mine, consumer, had, holds, generation):
        more = {host: holds.get(host, 0) - had.get(host, 0) for host in {*had, *holds}}
        writes = {host: self.usages[host].begin(amount, 0) for host, amount in more.items()}
        answer = self.balancer.until_decided("PUT", f"/allocations/{consumer}", claim(holds, generation))
        self.count(answer, "claims")
        for host, write in writes.items():
            self.usages[host].end(write)
        if answer.status == 204:
            mine[consumer] = holds, (generation or 0) + 1
            return
        for host, write in writes.items():
            self.usages[host].forget(write)
        if had:
            mine[consumer] = had, generation
        if answer.kind == "placet":
            self.refusals.append((answer, more, writes))

    def judge(self, answer, more, writes):
        """Judges a refusal by placet. All claims that were granted at the same time have to be known."""
        if not is_full(answer):
            self.faults.append(f"placet answered a claim with {answer}")
        free = {host: self.HOST_VCPUS - self.usages[host].bounds("used", write["began"], write["ended"])[1]
                for host, write in writes.items()}
        if all(free[host] >= amount for host, amount in more.items() if amount > 0):
            self.faults.append(f"placet refused {more} when at least {free} were free: {answer}")

    def release(self, chance, mine):
        if not mine:
            return
        consumer = chance.choice(sorted(mine))
        had, _ = mine.pop(consumer)
        writes = {host: self.usages[host].begin(-amount, 0) for host, amount in had.items()}
        answer = self.balancer.until_decided("DELETE", f"/allocations/{consumer}")
        self.count(answer, "releases")
        # OpenStack Placement may have released it before it answered 500.
        if answer.status != 204 and not (answer.kind == "upstream" and answer.status == 404):
            self.faults.append(f"{answer.kind} answered a release with {answer}")
        for host, write in writes.items():
            self.usages[host].end(write)

    def resize(self, chance, mine):
        """Raises the total and the reserved amount alike: only the generation shows the update."""
        path, more = f"/resource_providers/{chance.choice(sorted(self.usages))}", chance.randint(0, 5)
        seen = self.balancer("GET", path)
        answer = self.balancer("PUT", f"{path}/inventories/VCPU", {
            "resource_provider_generation": seen.json["generation"], "total": self.HOST_VCPUS + more, "reserved": more})
        self.count(answer, "inventories")
        stale = answer.status == 409 and answer.code == "placement.concurrent_update"
        if answer.kind == "placet" and answer.status != 200 and not stale:
            self.faults.append(f"placet answered an inventory with {answer}")

    def watch(self):
        """Checks every 20 ms that no host is over capacity."""
        connection = self.placets[0].database.connect()
        while not self.ended.wait(0.02):
            cursor = connection.execute(SUMS)
            self.faults += [f"{used} of {self.HOST_VCPUS} are used of {host}" for host, _, used in cursor.fetchall()
                            if host in self.usages and used > self.HOST_VCPUS]
        connection.close()


def all_answer_alike(traffic, services):
    """Without writes every service answers what the tables hold. After a round of the comparison candidates do too."""
    rows = {host: (generation, int(used)) for host, generation, used in services[0].database.query(SUMS)}
    for service, host in itertools.product(services, traffic.usages):
        shown = Rest(service.port).must("GET", f"/resource_providers/{host}/usages").json
        shown = shown["resource_provider_generation"], shown["usages"]["VCPU"]
        assert shown == rows[host], f"{service.kind} shows {shown} of {host}, the tables hold {rows[host]}"
    began = time.monotonic()
    expected = {host: rows[host][1] for host in traffic.usages if rows[host][1] < traffic.HOST_VCPUS}
    for placet in (it for it in services if it.kind == "placet"):
        while (shown := in_memory(placet, traffic.usages)) != expected:
            assert time.monotonic() < began + SHOWN_SECONDS_MAX, (
                f"candidates show {shown}, the tables hold {expected}")
            time.sleep(0.02)
    print(f"        all answer alike {time.monotonic() - began:.2f} s after the end")
    # OpenStack Placement may leave the consumer of a claim that it refused.
    faults = [it for it in Ledger(services[0].database).faults() if it[0] not in ("no allocations", "oversubscribed")]
    assert not faults, faults


def in_memory(placet, hosts):
    summaries = Rest(placet.port).must("GET", "/allocation_candidates?resources=VCPU:1").json["provider_summaries"]
    return {host: it["resources"]["VCPU"]["used"] for host, it in summaries.items() if host in hosts}


# --- releases by OpenStack Placement ---

def releases_are_usable(chance, placets, upstreams):
    host, at_once_, seen = new_uuid(chance), [], []
    make_host(Rest(placets[0].port), host, 8)
    for turn in range(4):
        placet, upstream = Rest(placets[turn % 2].port), Rest(upstreams[turn % 2].port)
        ours, theirs = new_uuid(chance), new_uuid(chance)
        upstream.must("PUT", f"/allocations/{theirs}", claim({host: 8}))
        seen += [until(placets, host, False)]
        upstream.must("DELETE", f"/allocations/{theirs}")
        if turn < 2:
            seen += [until(placets, host, True)]
            continue
        began = time.monotonic()
        placet.must("PUT", f"/allocations/{ours}", claim({host: 8}))
        at_once_.append(time.monotonic() - began)
        placet.must("DELETE", f"/allocations/{ours}")
    print(f"        claimed in {1000 * max(at_once_):.0f} ms at most, shown after {max(seen):.2f} s at most")


def until(placets, host, there):
    """Waits until every placet offers the host, or until none does; returns the seconds."""
    began = time.monotonic()
    while any((host in in_memory(placet, [host])) != there for placet in placets):
        assert time.monotonic() < began + SHOWN_SECONDS_MAX, (
            f"{host} is {'not yet' if there else 'still'} offered")
        time.sleep(0.02)
    return time.monotonic() - began


def run(tests, seed, placets, upstreams, careful, rounds, writes):
    """`careful` are OpenStack Placements that retry no claim, and so oversubscribe nothing."""
    chance, counts = random.Random(seed), Counter()
    placets[0].later = []
    for number in range(rounds):
        tests.step(f"race {number} behind one balancer", race, chance, Balancer([*placets, *upstreams]), placets, counts)
    print_counts(counts)
    tests.step("a provider over capacity is logged once", lines_are_single, placets)
    traffic = Traffic(chance, Balancer([*placets, *careful]), placets, writes)
    tests.step("claims, releases and inventories behind one balancer", traffic.run)
    if not tests.failed:
        tests.step("all answer alike", all_answer_alike, traffic, [*placets, *upstreams])
    tests.step("releases are usable", releases_are_usable, chance, placets, upstreams)
