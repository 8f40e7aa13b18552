"""`/v1/types`. What is left: the generation and the properties of each type. No provider has a type."""

from functional_tests.cross_process import reads, writes


def _name(state):
    return f"type-{state.number}-{state.chance.randrange(3)}"


def _type(state, method):
    name = _name(state)
    known = state.nouns["types"].get(name)
    if method == "PATCH" and known is None:
        return None
    generation = known[0] if known else None
    properties = {"Value": state.chance.randrange(3)}

    def done():
        is_same = known is not None and known[1] == properties
        state.nouns["types"][name] = ((generation or 0) + (not is_same), properties)
    body = {"generation": generation, "properties": properties}
    return writes.Write(method, f"/v1/types/{name}", body, done, [("type", name)])


@writes.kind("PUT /v1/types/{name}")
def type_set(state):
    return _type(state, "PUT")


@writes.kind("PATCH /v1/types/{name}")
def type_patched(state):
    return _type(state, "PATCH")


@writes.kind("DELETE /v1/types/{name}")
def type_deleted(state):
    name = _name(state)
    known = state.nouns["types"].get(name)

    def done():
        del state.nouns["types"][name]
    return known and writes.Write("DELETE", f"/v1/types/{name}?generation={known[0]}", None, done, [("type", name)])


@reads.kind("GET /v1/types/{name}", "type")
def type_shown(state, ask, thing):
    known = state.nouns["types"].get(thing[1])
    shown = ask(f"/v1/types/{thing[1]}", 200 if known else 404)
    if known:
        ask.expect(known, (shown["generation"], shown["properties"]), "its type")


@reads.kind("GET /v1/types", "type")
def types_listed(state, ask, thing):
    shown = {it["name"]: (it["generation"], it["properties"]) for it in ask("/v1/types")["types"]}
    own = {name: known for name, known in shown.items() if name.startswith(f"type-{state.number}-")}
    ask.expect(state.nouns["types"], own, "its own types")
