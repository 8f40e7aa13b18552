"""Creates providers, inventories, traits, aggregates and claims in a live service over its API."""

import uuid

from functional_tests.lib.rest import Rest


def new_uuid():
    return str(uuid.uuid4())


class TopologyBuilder:
    """Creates data in one service. `environ` has the names and uuids that the tests use."""

    def __init__(self, port):
        self.rest = Rest(port, version="1.39")
        self.environ = {}
        self.known = set()

    def uuids(self, *names):
        """Generates a uuid for each of these names of the environment; returns the uuids."""
        for name in names:
            self.environ[name] = new_uuid()
        return [self.environ[name] for name in names]

    def provider(self, name, env=None, parent=None, aggregates=(), traits=(), inventories=None,
                 uuid=None):
        """Creates a provider with its aggregates, traits and inventories; returns its uuid."""
        own = uuid or new_uuid()
        body = {"name": name, "uuid": own}
        if parent:
            body["parent_provider_uuid"] = parent
        self.rest.must("POST", "/resource_providers", body)
        if env:
            self.environ[env] = own
        self.fill(own, aggregates, traits, inventories)
        return own

    def fill(self, provider, aggregates=(), traits=(), inventories=None):
        """Sets aggregates (at 1.1, which moves no generation), inventories one by one, and traits."""
        path = f"/resource_providers/{provider}"
        if aggregates:
            self.rest.must("PUT", f"{path}/aggregates", list(aggregates), "1.1")
        for resource_class, how in (inventories or {}).items():
            self._ensure("resource_classes", resource_class)
            how = dict(how) if isinstance(how, dict) else {"total": how}
            how.setdefault("max_unit", how["total"])
            how["resource_class"] = resource_class
            how["resource_provider_generation"] = self._generation(path)
            self.rest.must("POST", f"{path}/inventories", how)
        if traits:
            for trait in traits:
                self._ensure("traits", trait)
            self.rest.must("PUT", f"{path}/traits", {
                "traits": list(traits),
                "resource_provider_generation": self._generation(path)})

    def claim(self, provider, resources, project, user, consumer=None):
        """Claims for a consumer without a type; returns the consumer."""
        consumer = consumer or new_uuid()
        body = {"allocations": {provider: {"resources": resources}},
                "project_id": project, "user_id": user}
        self.rest.must("PUT", f"/allocations/{consumer}", body, "1.12")
        return consumer

    def _generation(self, path):
        return self.rest.must("GET", path).json["generation"]

    def _ensure(self, kind, name):
        if name.startswith("CUSTOM_") and name not in self.known:
            self.rest.must("PUT", f"/{kind}/{name}")
            self.known.add(name)
