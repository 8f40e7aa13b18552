"""`/v1/limits`. What is left: the generation and the normal limit of each class. No limit keeps a claim out."""

from functional_tests.cross_process import reads, writes


def _limit(state, method):
    name = writes.one_of(state, (c for c in state.classes if c.startswith("CUSTOM")))
    known = state.nouns["limits"].get(name)
    generation = known[0] if known else None
    normal = state.chance.choice((None, {"buffer": "0"}))

    def done():
        is_same = known is not None and known[1] == normal
        state.nouns["limits"][name] = ((generation or 0) + (not is_same), normal)
    body = {"generation": generation, "normal": normal}
    return name and writes.Write(method, f"/v1/limits/{name}", body, done, [("class", name)])


@writes.kind("PUT /v1/limits/{class}")
def limit_set(state):
    return _limit(state, "PUT")


@writes.kind("PATCH /v1/limits/{class}")
def limit_patched(state):
    return _limit(state, "PATCH")


@reads.kind("GET /v1/limits/{class}", "class")
def limit_shown(state, ask, thing):
    shown = ask(f"/v1/limits/{thing[1]}", 200 if thing[1] in state.classes else 404)
    if thing[1] in state.classes:
        ask.expect(state.nouns["limits"].get(thing[1], (None, None)), (shown["generation"], shown["normal"]), "its limit")


@reads.kind("GET /v1/limits", "class")
def limits_listed(state, ask, thing):
    shown = {it["resource_class"]: (it["generation"], it["normal"]) for it in ask("/v1/limits")["limits"]}
    own = {name: limit for name, limit in shown.items() if f"_{state.number}_" in name}
    ask.expect(state.nouns["limits"], own, "its own limits")
