"""A service under comparison: sends requests to the service, and reads the service's tables."""

import http.client
import re
import urllib.parse

from functional_tests.differential.request import CONSUMERS, CUSTOM_CLASSES, CUSTOM_TRAITS, PROVIDERS, Request
from functional_tests.lib.patience import HANG_SECONDS

GENERATION = re.compile(r'"?@(provider|consumer):([^@]*):(-?\d+)@"?')
ANONYMOUS = re.compile(r"@anonymous:([^@]*)@")
PROVIDER = "(SELECT p.uuid FROM resource_providers p WHERE p.id = {})"
CLASS = "(SELECT c.name FROM resource_classes c WHERE c.id = resource_class_id)"
# All that answers are made from, with names instead of ids.
TABLES = {
    "providers": f"SELECT uuid, name, generation, {PROVIDER.format('resource_providers.parent_provider_id')}, "
                 f"{PROVIDER.format('resource_providers.root_provider_id')} FROM resource_providers",
    "inventories": f"SELECT {PROVIDER.format('resource_provider_id')}, {CLASS}, total, reserved, min_unit, max_unit, "
                   "step_size, allocation_ratio FROM inventories",
    "allocations": f"SELECT consumer_id, {PROVIDER.format('resource_provider_id')}, {CLASS}, used FROM allocations",
    "consumers": "SELECT uuid, generation, (SELECT external_id FROM projects WHERE id = project_id), "
                 "(SELECT external_id FROM users WHERE id = user_id), "
                 "(SELECT name FROM consumer_types WHERE id = consumer_type_id) FROM consumers",
    "traits": f"SELECT {PROVIDER.format('resource_provider_id')}, (SELECT name FROM traits WHERE id = trait_id) "
              "FROM resource_provider_traits",
    "aggregates": f"SELECT {PROVIDER.format('resource_provider_id')}, "
                  "(SELECT uuid FROM placement_aggregates WHERE id = aggregate_id) FROM resource_provider_aggregates",
    "names": "SELECT 'class', id, name FROM resource_classes UNION ALL SELECT 'trait', 0, name FROM traits",
}


class Answer:
    def __init__(self, status, headers, text):
        self.status, self.text = status, text
        self.headers = {name.lower(): value for name, value in headers}


class Side:
    def __init__(self, service):
        self.kind, self.port = service.kind, service.port
        self.tables = service.database.connect()
        self.folds_case = service.database.engine == "mariadb"

    def send(self, request):
        """Sends a request. In the answer, names that both sides have replace the uuids that the service generated."""
        # Only the role `service` may reshape.
        headers = {"x-auth-token": "admin", "x-roles": "admin,service", "accept": "application/json"}
        if request.version is not None:
            headers["openstack-api-version"] = f"placement {request.version}"
        body = None
        if request.body is not None:
            headers["content-type"] = "application/json"
            body = GENERATION.sub(self.generation, request.body).encode("utf-8", "surrogatepass")
        headers |= request.headers
        path = ANONYMOUS.sub(self.anonymous, request.path)
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=HANG_SECONDS)
        try:
            connection.putrequest(request.method, urllib.parse.quote(path, safe="/%?&=:,@!{}+~()*;'$#|"),
                                  skip_accept_encoding=True)
            for name, value in headers.items():
                if value is not None:
                    connection.putheader(name, value.encode("latin-1"))
            if body is not None:
                connection.putheader("content-length", str(len(body)))
            connection.endheaders(body)
            response = connection.getresponse()
            answer = Answer(response.status, response.getheaders(), response.read().decode("utf-8", "replace"))
        finally:
            connection.close()
        return self.renamed(answer)

    def generation(self, match):
        noun, uuid, less = match.groups()
        table = "resource_providers" if noun == "provider" else "consumers"
        rows = self.tables.execute(f"SELECT generation FROM {table} WHERE uuid = ?", [uuid]).fetchall()
        if not rows:
            return "0" if noun == "provider" else "null" if less == "0" else less
        return str(rows[0][0] - int(less))

    def anonymous(self, match):
        rows = self.tables.execute("SELECT uuid FROM resource_providers WHERE name = ?", [match[1]]).fetchall()
        return rows[0][0] if rows else "00000000-0000-4000-8000-000000000000"

    def unnamed(self):
        marks = ",".join("?" * len(PROVIDERS))
        rows = self.tables.execute(
            f"SELECT uuid, name FROM resource_providers WHERE uuid NOT IN ({marks})", PROVIDERS).fetchall()
        return [(uuid, f"the one named {name}") for uuid, name in rows]

    def renamed(self, answer):
        for uuid, name in self.unnamed():
            answer.text = answer.text.replace(uuid, name)
            answer.headers = {key: value.replace(uuid, name) for key, value in answer.headers.items()}
        return answer

    def state(self):
        """The sorted rows of every table."""
        known = dict(self.unnamed())
        return {name: sorted(repr(tuple(known.get(cell, cell) for cell in row)) for row in self.tables.execute(query))
                for name, query in TABLES.items()}

    def forget_empty_consumers(self):
        """Deletes the consumers that have no allocations (docs/differences.md), and returns their uuids."""
        query = "FROM consumers WHERE uuid NOT IN (SELECT consumer_id FROM allocations)"
        uuids = [row[0] for row in self.tables.execute(f"SELECT uuid {query}")]
        if uuids:
            self.tables.execute(f"DELETE {query}")
        return uuids

    def clear(self):
        """Deletes everything that a run created."""
        # OpenStack Placement keeps these (docs/differences.md), and no path names them.
        self.tables.execute("DELETE FROM allocations WHERE length(consumer_id) > 36")
        consumers = {row[0] for row in self.tables.execute("SELECT consumer_id FROM allocations")} | set(CONSUMERS)
        for consumer in consumers:
            self.send(Request("DELETE", f"/allocations/{consumer}", version="1.39"))
        while uuids := [row[0] for row in self.tables.execute(
                "SELECT uuid FROM resource_providers WHERE id NOT IN "
                "(SELECT parent_provider_id FROM resource_providers WHERE parent_provider_id IS NOT NULL)")]:
            for uuid in uuids:
                answer = self.send(Request("DELETE", f"/resource_providers/{uuid}", version="1.39"))
                if answer.status != 204:
                    raise RuntimeError(f"{self.kind} does not delete {uuid}: {answer.status} {answer.text}")
        for path, names in (("resource_classes", CUSTOM_CLASSES), ("traits", CUSTOM_TRAITS)):
            for name in self.named(path):
                self.send(Request("DELETE", f"/{path}/{name}", version="1.39"))
        self.forget_empty_consumers()
        # OpenStack Placement keeps the users and projects of a refused request. MariaDB finds them by any spelling.
        for table in ("users", "projects"):
            self.tables.execute(f"DELETE FROM {table}")

    def named(self, table):
        return [row[0] for row in self.tables.execute(f"SELECT name FROM {table} WHERE name LIKE 'CUSTOM%'")]
