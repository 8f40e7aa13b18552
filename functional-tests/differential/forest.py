"""The forest of a service, read over REST: all providers with their inventories, usages, traits and aggregates."""

import json
from dataclasses import dataclass

from functional_tests.differential.request import SHARING, Request

NAMED = "the one named "


@dataclass
class Provider:
    uuid: str
    parent: str | None
    root: str
    inventories: dict
    used: dict
    traits: set
    aggregates: set

    def gives(self, name, amount):
        """Whether a claim of this amount would be granted, with strict_step_size."""
        it = self.inventories.get(name)
        if it is None:
            return False
        fits = self.used.get(name, 0) + amount <= (it["total"] - it["reserved"]) * it["allocation_ratio"]
        return fits and it["min_unit"] <= amount <= it["max_unit"] and amount % it["step_size"] == 0


class Forest:
    def __init__(self, providers, folds_case=False):
        self.of = {provider.uuid: provider for provider in providers}
        self.folds_case = folds_case  # as MariaDB's usual collations do

    def named(self, uuid):
        """The provider with this uuid, as the database compares it, or None."""
        if uuid is None or not self.folds_case:
            return self.of.get(uuid)
        return next((it for it in self.of.values() if it.uuid.lower() == uuid.lower()), None)

    def roots(self):
        return [it for it in self.of.values() if it.parent is None]

    def tree(self, root):
        return [it for it in self.of.values() if it.root == root]

    def serves(self, provider, root):
        """Whether the provider may serve a tree. It is in the tree, or it shares with a provider of the tree."""
        shares = SHARING in provider.traits and any(provider.aggregates & it.aggregates for it in self.tree(root))
        return provider.root == root or shares

    def above(self, uuid):
        """A provider and its ancestors."""
        while uuid is not None:
            yield uuid
            uuid = self.of[uuid].parent


def read(side):
    def get(path):
        answer = side.send(Request("GET", path, version="1.39"))
        if answer.status != 200:
            raise RuntimeError(f"GET {path}: {answer.status} {answer.text}")
        return json.loads(answer.text)

    def provider(row):
        uuid = row["uuid"]
        # Side.send renamed the uuids that the service generated.
        path = f"/resource_providers/{f'@anonymous:{uuid.removeprefix(NAMED)}@' if uuid.startswith(NAMED) else uuid}"
        return Provider(uuid, row["parent_provider_uuid"], row["root_provider_uuid"],
                        get(f"{path}/inventories")["inventories"], get(f"{path}/usages")["usages"],
                        set(get(f"{path}/traits")["traits"]), set(get(f"{path}/aggregates")["aggregates"]))

    return Forest([provider(row) for row in get("/resource_providers")["resource_providers"]], side.folds_case)
