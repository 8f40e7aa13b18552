"""`/v1/domains/{dimension}/{path}`. What is left: the aggregate of each rack of a dimension that only one worker uses.

A host in several of the aggregates counts in the first rack by name.
"""

from functional_tests.cross_process import reads, writes


def _dimension(state):
    return f"dimension-{state.number}"


def _domain(state, method):
    path = f"rack{state.chance.randrange(3)}"
    known = state.nouns["domains"].get(path)
    if method == "PATCH" and known is None:
        return None
    generation, aggregate = known[0] if known else None, state.chance.choice(state.aggregates)

    def done():
        is_same = known is not None and known[1] == aggregate
        state.nouns["domains"][path] = ((generation or 0) + (not is_same), aggregate)
    body = {"generation": generation, "aggregate": aggregate}
    return writes.Write(method, f"/v1/domains/{_dimension(state)}/{path}", body, done, [("domain", path)])


@writes.kind("PUT /v1/domains/{dimension}/{path}")
def domain_set(state):
    return _domain(state, "PUT")


@writes.kind("PATCH /v1/domains/{dimension}/{path}")
def domain_patched(state):
    return _domain(state, "PATCH")


@writes.kind("DELETE /v1/domains/{dimension}/{path}")
def domain_deleted(state):
    path = writes.one_of(state, sorted(state.nouns["domains"]))

    def done():
        del state.nouns["domains"][path]
    return path and writes.Write("DELETE", f"/v1/domains/{_dimension(state)}/{path}", None, done, [("domain", path)])


@reads.kind("GET /v1/domains/{dimension}/{path}", "domain")
def domain_shown(state, ask, thing):
    known = state.nouns["domains"].get(thing[1])
    shown = ask(f"/v1/domains/{_dimension(state)}/{thing[1]}", 200 if known else 404)
    if known:
        ask.expect(known, (shown["generation"], shown["aggregate"]), "its domain")


def _members(state):
    """The number of hosts in each rack."""
    racks = state.nouns["domains"]
    members = dict.fromkeys(racks, 0)
    for host in state.roots:
        own = sorted(path for path, (_, aggregate) in racks.items() if aggregate in host.aggregates)
        if own:
            members[own[0]] += 1
    return members


@reads.kind("GET /v1/domains", "domain")
def racks_listed(state, ask, thing):
    shown = ask(f"/v1/domains?dimension={_dimension(state)}")["domains"]
    ask.expect(_members(state), {it["path"]: it["hosts"] for it in shown}, "its racks")


@reads.kind("GET /v1/domains", "provider")
def racks_of_hosts_listed(state, ask, provider):
    racks_listed(state, ask, provider)
