"""A class, or a trait, that one process deletes while another gives it to a provider: one of both is refused, and nothing
is left that has what is not there."""

import threading

from rest import Rest

HOST = "00000000-0000-4000-8000-0000000000aa"
ORPHANS = {
    "inventories": "SELECT COUNT(*) FROM inventories WHERE resource_class_id NOT IN (SELECT id FROM resource_classes)",
    "traits": "SELECT COUNT(*) FROM resource_provider_traits WHERE trait_id NOT IN (SELECT id FROM traits)",
}


def both(*calls):
    """Their answers, asked at the same time."""
    answers, start = {}, threading.Barrier(len(calls))

    def client(number, call):
        start.wait()
        answers[number] = call()

    threads = [threading.Thread(target=client, args=it, daemon=True) for it in enumerate(calls)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    return [answers[number] for number in range(len(calls))]


def class_goes(giver, deleter, name):
    giver.must("PUT", f"/resource_classes/{name}")
    given, deleted = both(
        lambda: giver("POST", f"/resource_providers/{HOST}/inventories", {"resource_class": name, "total": 5}),
        lambda: deleter("DELETE", f"/resource_classes/{name}"))
    assert (given.status, deleted.status) in ((201, 409), (400, 204)), f"{name}: {given}, {deleted}"
    if given.status == 201:
        giver.must("DELETE", f"/resource_providers/{HOST}/inventories/{name}")
        deleter.must("DELETE", f"/resource_classes/{name}")
    return given.status


def trait_goes(giver, deleter, name):
    giver.must("PUT", f"/traits/{name}")
    generation = giver.must("GET", f"/resource_providers/{HOST}").json["generation"]
    given, deleted = both(
        lambda: giver("PUT", f"/resource_providers/{HOST}/traits", {
            "traits": [name], "resource_provider_generation": generation}),
        lambda: deleter("DELETE", f"/traits/{name}"))
    assert (given.status, deleted.status) in ((200, 409), (400, 204)), f"{name}: {given}, {deleted}"
    if given.status == 200:
        giver.must("DELETE", f"/resource_providers/{HOST}/traits")
        deleter.must("DELETE", f"/traits/{name}")
    return given.status


def race(chance, ports, database, rounds):
    rests = [Rest(port) for port in ports]
    rests[0].must("POST", "/resource_providers", {"name": "going", "uuid": HOST})
    given = 0
    try:
        for number in range(rounds):
            giver, deleter = chance.sample(rests, 2)
            given += class_goes(giver, deleter, f"CUSTOM_GOING_{number}") == 201
            given += trait_goes(giver, deleter, f"CUSTOM_GOING_{number}") == 200
    finally:
        for what, sql in ORPHANS.items():
            count = database.query(sql)[0][0]
            assert count == 0, f"{count} {what} of what is not there"
    print(f"        {given} times given, {2 * rounds - given} times deleted", flush=True)
