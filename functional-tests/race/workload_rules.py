"""The rules of the race of workloads, over answers, and over tables that are read by SQL."""

from collections import Counter

from functional_tests.lib.rest import Rest

REPLICAS = (
    "SELECT r.workload, r.replica, r.consumer_id, r.adopted, p.uuid, a.used FROM placet_replicas r"
    " LEFT JOIN allocations a ON a.consumer_id = r.consumer_id"
    " LEFT JOIN resource_providers p ON p.id = a.resource_provider_id ORDER BY r.workload, r.replica")
HOLDERS = ("SELECT a.consumer_id, p.uuid, a.used FROM allocations a JOIN resource_providers p"
           " ON p.id = a.resource_provider_id")
WORKLOADS = "SELECT uuid, generation FROM placet_workloads"


def broken_by_answer(workload, answer, count, is_atomic):
    """What is wrong with the answer to a PUT: the number of replicas, or a rule that a new replica breaks."""
    before = {it["consumer"] for it in (workload.answer or {"replicas": []})["replicas"] if it["state"] == "placed"}
    placed = [it for it in answer["replicas"] if it["state"] == "placed"]
    new = {it["id"] for it in placed if it["consumer"] not in before and not it["adopted"]}
    found = []
    if answer["placed"] + answer["pending"] != count or answer["placed"] != len(placed):
        found.append(f"of {count} replicas {len(placed)} are placed by the answer {answer}")
    if is_atomic and answer["pending"]:
        found.append(f"an atomic request left replicas without a place: {answer}")
    for violation in answer["violations"]:
        if violation["level"] == "hard" and workload.kind != "default" and new & {*violation["replicas"]}:
            found.append(f"a rule was broken by a placement of {sorted(new)}: {violation} in {answer}")
    return found


class Tables:
    def __init__(self, ledger, round_):
        self.ledger, self.round = ledger, round_
        self.hosts = {host.uuid: host for host in round_.hosts}
        self.workloads = {workload.uuid: workload for workload in round_.workloads()}
        self.generations = dict(ledger.query(WORKLOADS))
        self.replicas = {}  # workload -> rows of its replicas
        for workload, *row in ledger.query(REPLICAS):
            self.replicas.setdefault(workload, []).append(row)

    def faults(self):
        found = [f"in the tables: {fault}" for fault in self.ledger.faults() + self.ledger.gaps()]
        consumers = Counter(consumer for rows in self.replicas.values() for _, consumer, *_ in rows)
        found += [f"consumer {it} is {times} replicas or has {times} places" for it, times in consumers.items() if times > 1]
        for workload in self.workloads.values():
            found += self.not_as_answered(workload) + self.broken(workload)
        return found + self.wrong_holders()

    def not_as_answered(self, workload):
        """Differences between a workload and its last answer. Of a shared one the last change is not known."""
        if workload.is_shared:
            return []
        answer, rows = workload.answer, self.replicas.get(workload.uuid, [])
        if answer is None:
            return [f"workload {workload.uuid} was deleted, and is there: {rows}"] if (
                rows or workload.uuid in self.generations) else []
        found = []
        if self.generations.get(workload.uuid) != answer["generation"]:
            found.append(f"generation {self.generations.get(workload.uuid)} of workload {workload.uuid} after {answer}")
        expected = {it["consumer"]: (it["id"], it["host"]) for it in answer["replicas"]}
        there = {consumer: (replica, host) for replica, consumer, _, host, _ in rows}
        if expected.keys() != there.keys():
            found.append(f"workload {workload.uuid} has the replicas {there}, and not {expected}")
        for consumer, place in expected.items():
            may_be_gone = consumer in self.round.taken_away and there.get(consumer) == (place[0], None)
            if there.get(consumer) != place and not may_be_gone:
                found.append(f"a replica of {workload.uuid} is {there.get(consumer)}, and was answered as {place}")
        return found

    def broken(self, workload):
        """Rules that are broken. Adopted consumers stand where another client placed them."""
        rows = self.replicas.get(workload.uuid, [])
        places = [self.hosts[host] for _, _, adopted, host, _ in rows if host and not adopted]
        found = []

        def at_most_one(what, names):
            found.extend(f"{times} replicas of {workload.uuid} ({workload.kind}) in {what} {name}: {rows}"
                         for name, times in Counter(names).items() if times > 1)
        at_most_one("host", [host.uuid for host in places])
        if workload.kind == "one-each":
            at_most_one("site", [host.site for host in places])
        if workload.kind == "even":
            found += self.uneven(workload, places)
        found += [f"replica {row} of {workload.uuid} has another amount than {workload.amount}"
                  for row in rows if row[3] and not row[2] and row[4] != workload.amount]
        return found

    def uneven(self, workload, places):
        """Sites, racks of one site, and upgrade domains that differ by more than one replica."""
        levels = {"sites": lambda host: host.site, "upgrade domains": lambda host: host.upgrade}
        for site in {host.site for host in self.round.hosts}:
            levels[f"racks of {site}"] = lambda host, site=site: host.rack if host.site == site else None
        found = []
        for level, name_of in levels.items():
            counts = Counter(map(name_of, places))
            every = [counts[name] for name in {*map(name_of, self.round.hosts)} - {None}]
            if max(every) > min(every) + 1:
                found.append(f"a rule was broken by a placement: {level} of {workload.uuid} (even) hold {dict(counts)}")
        return found

    def wrong_holders(self):
        """Consumers on the hosts that are neither replicas nor hold what was answered to a claim."""
        there = {}
        for consumer, host, used in self.ledger.query(HOLDERS):
            if host in self.hosts:
                there.setdefault(consumer, {})[host] = used
        replicas = {consumer for rows in self.replicas.values() for _, consumer, *_ in rows}
        found = [f"{consumer} holds {holds}, and was answered to hold {self.round.held.get(consumer)}" for consumer, holds in there.items()
                 if consumer not in replicas and self.round.held.get(consumer) != holds]
        return found + [f"{consumer} was granted {holds}, and holds {there.get(consumer)}"
                        for consumer, holds in self.round.held.items()
                        if there.get(consumer) != holds and consumer not in self.round.taken_away]


def differing_answers(round_, services):
    """What every process shows of the workloads is the same, and no rule is broken but by adopted consumers."""
    found = []
    for workload in round_.workloads():
        answers = [Rest(service.port)("GET", f"/v1/workloads/{workload.uuid}") for service in services]
        if len({answer.status if answer.status == 404 else answer.raw for answer in answers}) > 1:
            found.append(f"processes show {[str(answer) for answer in answers]}")
        if answers[0].status == 404 or workload.kind == "default":
            continue
        adopted = {it["id"] for it in answers[0].json["replicas"] if it["adopted"]}
        found += [f"{workload.uuid} ({workload.kind}) breaks a rule: {violation}"
                  for violation in answers[0].json["violations"] if not adopted & {*violation["replicas"]}]
    return found
