"""`/v1/workloads`. What is left: a `Workload` by uuid."""

from functional_tests.cross_process import reads, writes


class Workload:
    """It wants what no host of this suite has. So all of its replicas are pending, but for a consumer that it
    adopted.
    """

    def __init__(self, generation, count, adopted):
        self.generation, self.count, self.adopted = generation, count, adopted


def _placed(state, workload):
    """How many replicas have a place."""
    return int(workload.adopted in state.consumers)


def _held(state, workload):
    """The providers, without the pool, of which the adopted consumer has classes."""
    consumer = state.consumers.get(workload.adopted)
    held = consumer.holds.items() if consumer else ()
    return [(state.providers[uuid], classes) for uuid, classes in held if uuid in state.providers]


def _misplaced(state, workload):
    """How many hosts the adopted consumer has where its role may not be. On the pool alone it breaks one condition."""
    hosts = {provider.root.uuid for provider, _ in _held(state, workload)}
    return max(1, len(hosts)) if _placed(state, workload) else 0


def _overused(state, workload):
    """How many classes, which are used above the capacity of their provider, the adopted consumer has some of."""
    return sum(state.room(provider, name) < 0 for provider, classes in _held(state, workload) for name in classes)


def _replicas(state, identity, count, adopted, method="PUT"):
    known = state.nouns["workloads"].get(identity)
    role = {"name": "member", "count": count, "query": {"resources": "VCPU:1", "where": "NoSuchProperty == true"}}
    body = {"generation": known.generation if known else None, "name": identity, "atomic": False, "roles": [role], "rules": [],
            "project_id": state.project, "user_id": state.project}
    if method == "PATCH":
        body = {name: body[name] for name in ("generation", "atomic", "roles")}
    if adopted and not known:
        body["adopt"] = [{"consumer": adopted}]

    def done():
        is_same = known is not None and known.count == count
        state.nouns["workloads"][identity] = Workload((known.generation if known else 0) + (not is_same), count, adopted)
    return writes.Write(method, f"/v1/workloads/{identity}", body, done, [("workload", identity)])


@writes.kind("PUT /v1/workloads/{workload_uuid}")
def workload_put(state):
    """A new workload, perhaps with a consumer that exists, or another number of replicas. With a consumer it stays
    at two.
    """
    workloads = state.nouns["workloads"]
    identity = writes.one_of(state, workloads) if len(workloads) >= writes.MAX_NAMES else state.new_uuid()
    known = workloads.get(identity)
    taken = {workload.adopted for workload in workloads.values()}
    adopted = known.adopted if known else writes.one_of(state, [None, *(c for c in state.consumers if c not in taken)])
    return _replicas(state, identity, 2 if adopted else state.chance.randint(0, 3), adopted)


@writes.kind("PATCH /v1/workloads/{workload_uuid}")
def workload_patched(state):
    """Another number of replicas. The name, the owner and the rules stay. With a consumer the number stays at two."""
    identity = writes.one_of(state, state.nouns["workloads"])
    adopted = identity and state.nouns["workloads"][identity].adopted
    return identity and _replicas(state, identity, 2 if adopted else state.chance.randint(0, 3), adopted, "PATCH")


@writes.kind("DELETE /v1/workloads/{workload_uuid}")
def workload_deleted(state):
    identity = writes.one_of(state, state.nouns["workloads"])

    def done():
        del state.nouns["workloads"][identity]
    return identity and writes.Write("DELETE", f"/v1/workloads/{identity}", None, done, [("workload", identity)])


@reads.kind("GET /v1/workloads/{workload_uuid}", "workload")
def workload_shown(state, ask, thing):
    known = state.nouns["workloads"].get(thing[1])
    shown = ask(f"/v1/workloads/{thing[1]}", 200 if known else 404)
    if known:
        placed = _placed(state, known)
        ask.expect((known.generation, known.count - placed, placed),
                   (shown["generation"], shown["pending"], shown["placed"]), "the workload")


@reads.kind("GET /v1/violations", "workload")
def violations_listed(state, ask, thing):
    """A consumer that a workload adopted stands where the workload's role may not be, on each of its hosts. It may
    share the use of a provider above the capacity.
    """
    shown = ask(f"/v1/violations?workload={thing[1]}")["violations"]
    known = state.nouns["workloads"].get(thing[1])
    overused = [it for it in shown if it["code"] == "placet.no_room"]
    ask.expect(_misplaced(state, known) if known else 0, len(shown) - len(overused), "the violations")
    hard = [it for it in overused if it["level"] == "hard"]
    ask.expect(_overused(state, known) if known else 0, len(hard), "the classes above their capacity")


@reads.kind("GET /v1/workloads", "workload")
def workloads_listed(state, ask, thing):
    shown = ask(f"/v1/workloads?name={thing[1]}")["workloads"]
    known = state.nouns["workloads"].get(thing[1])
    ask.expect([(thing[1], known.generation)] if known else [], [(it["uuid"], it["generation"]) for it in shown], "the list")
