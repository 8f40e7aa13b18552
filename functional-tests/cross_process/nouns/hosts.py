"""`/v1/hosts`. What is left: the number of reports of each host, and that the host is up."""

from functional_tests.cross_process import reads, writes


@writes.kind("PUT /v1/hosts/{uuid}/report")
def host_reported(state):
    host = writes.one_of(state, state.roots)
    number = state.nouns["hosts"].get(host.uuid, 0) + 1

    def done():
        state.nouns["hosts"][host.uuid] = number
    # Each report says something new, so that it is a command.
    body = {"holder": "agent", "boot": "boot", "number": number,
            "lease": 80_000 + number}
    return writes.Write("PUT", f"/v1/hosts/{host.uuid}/report", body, done, [("host", host.uuid)])


@reads.kind("GET /v1/hosts/{uuid}", "host")
def host_shown(state, ask, thing):
    number = state.nouns["hosts"].get(thing[1])
    shown = ask(f"/v1/hosts/{thing[1]}", 200 if number else 404)
    if number:
        ask.expect(("up", 80_000 + number), (shown["health"], shown["lease"]), "its lease")


@reads.kind("GET /v1/hosts", "host")
def hosts_listed(state, ask, thing):
    own = {host.uuid for host in state.roots}
    shown = {host["uuid"]: host["lease"] - 80_000 for host in ask("/v1/hosts")["hosts"] if host["uuid"] in own}
    ask.expect(state.nouns["hosts"], shown, "its own hosts")
