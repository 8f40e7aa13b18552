"""A process deletes a class or a trait while a second process gives the same to a provider. One of the two requests is
refused, and no row names a deleted class or trait.
"""

import threading

from functional_tests.lib.rest import Rest

HOST = "00000000-0000-4000-8000-0000000000aa"
ORPHANS = {
    "inventories": "SELECT COUNT(*) FROM inventories WHERE resource_class_id NOT IN (SELECT id FROM resource_classes)",
    "traits": "SELECT COUNT(*) FROM resource_provider_traits WHERE trait_id NOT IN (SELECT id FROM traits)",
}


def both(*calls):
    """The answers of concurrent calls."""
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


def give_and_delete(giver, deleter, name, give, granted, take_back):
    """Deletes a name while a host gets it; returns whether the host got it. `granted` is the status if it did."""
    giver.must("PUT", name)
    given, deleted = both(lambda: giver(*give), lambda: deleter("DELETE", name))
    assert (given.status, deleted.status) in ((granted, 409), (400, 204)), f"{name}: {given}, {deleted}"
    if given.status != granted:
        return False
    giver.must("DELETE", take_back)
    deleter.must("DELETE", name)
    return True


def give_and_delete_class(giver, deleter, name):
    inventories = f"/resource_providers/{HOST}/inventories"
    give = "POST", inventories, {"resource_class": name, "total": 5}
    return give_and_delete(giver, deleter, f"/resource_classes/{name}", give, 201, f"{inventories}/{name}")


def give_and_delete_trait(giver, deleter, name):
    traits = f"/resource_providers/{HOST}/traits"
    generation = giver.must("GET", f"/resource_providers/{HOST}").json["generation"]
    give = "PUT", traits, {"traits": [name], "resource_provider_generation": generation}
    return give_and_delete(giver, deleter, f"/traits/{name}", give, 200, traits)


def race(chance, ports, database, rounds):
    rests = [Rest(port) for port in ports]
    rests[0].must("POST", "/resource_providers", {"name": "going", "uuid": HOST})
    given = 0
    try:
        for number in range(rounds):
            giver, deleter = chance.sample(rests, 2)
            given += give_and_delete_class(giver, deleter, f"CUSTOM_GOING_{number}")
            given += give_and_delete_trait(giver, deleter, f"CUSTOM_GOING_{number}")
    finally:
        for what, sql in ORPHANS.items():
            count = database.query(sql)[0][0]
            assert count == 0, f"{count} {what} name a deleted class or trait"
    print(f"        {given} times given, {2 * rounds - given} times deleted", flush=True)
