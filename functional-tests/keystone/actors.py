"""The users of a Keystone with every kind of role, scope and token, each with the headers of its requests."""

import dataclasses
import itertools
import secrets

from functional_tests.lib.keystone import DOMAIN, REGION, application_credential, password

SERVICE_USER = "placement"
# The service that validates tokens, as in a cloud: roles `admin` and `service` in the project `service`.
SERVICE_ROLES = ("admin", "service")
LISTING = [{"service": "placement", "method": "GET", "path": "/resource_providers"},
           {"service": "placement", "method": "GET", "path": "/resource_providers/*"},
           {"service": "placement", "method": "PUT", "path": "/resource_providers/{uuid}/traits"},
           {"service": "placement", "method": "GET", "path": "/allocations/**"},
           {"service": "compute", "method": "GET", "path": "/usages"}]


@dataclasses.dataclass
class Actor:
    name: str
    headers: dict
    roles: tuple = ()
    user_id: str | None = None
    project_id: str | None = None


class Cloud:
    """Domains, projects, users and their roles in a Keystone. `secrets` has every password and token that it made."""

    def __init__(self, keystone):
        self.keystone, self.rest = keystone, keystone.admin()
        self.secrets, self.users, self.passwords = {self.rest.token}, {}, {}
        self.numbers = itertools.count(1)
        self.roles = {role["name"]: role["id"] for role in self.rest.must("GET", "/v3/roles").json["roles"]}
        self.roles["auditor"] = self._create("roles", "role", {"name": "auditor"})
        self.other_domain = {"id": self._create("domains", "domain", {"name": "other-domain"})}
        self.projects = {name: self._create("projects", "project", {"name": name, "domain_id": domain["id"]})
                         for name, domain in (("service", DOMAIN), ("lab", DOMAIN), ("shop", DOMAIN),
                                              ("far", self.other_domain))}
        self.services = {kind: self._create("services", "service", {"type": kind, "name": kind})
                         for kind in ("identity", "placement", "compute")}
        self.endpoints = {}
        self.user(SERVICE_USER, "service", *SERVICE_ROLES)

    def publish(self, kind, url):
        """Sets a service's URL in the catalogue, in all interfaces."""
        for interface in ("public", "internal", "admin"):
            body = {"endpoint": {"url": url}}
            if known := self.endpoints.get((kind, interface)):
                self.rest.must("PATCH", f"/v3/endpoints/{known}", body)
                continue
            body["endpoint"] |= {"interface": interface, "region_id": REGION, "service_id": self.services[kind]}
            made = self.rest.must("POST", "/v3/endpoints", body).json
            self.endpoints[kind, interface] = made["endpoint"]["id"]

    def region(self, name, url):
        """Makes a region with a Keystone at this URL."""
        self.rest.must("POST", "/v3/regions", {"region": {"id": name}})
        self._create("endpoints", "endpoint", {
            "url": url, "interface": "internal", "region_id": name, "service_id": self.services["identity"]})

    def user(self, name, project=None, *roles, domain=DOMAIN):
        """Makes a user with roles in a project; returns the user's id."""
        self.passwords[name] = f"password-of-{name}-{secrets.token_hex(8)}"
        self.secrets.add(self.passwords[name])
        self.users[name] = self._create("users", "user", {
            "name": name, "domain_id": domain["id"], "password": self.passwords[name]})
        for role in roles:
            self.grant(name, f"projects/{self.projects[project]}", role)
        return self.users[name]

    def grant(self, name, place, role):
        """Gives a user a role in `projects/ID`, `domains/ID` or `system`."""
        self.rest.must("PUT", f"/v3/{place}/users/{self.users[name]}/roles/{self.roles[role]}")

    def auth(self, name, scope=None, domain=DOMAIN):
        """The body of the user's request for a token. `scope` is a project's name or a scope of Keystone's API."""
        if isinstance(scope, str):
            scope = {"project": {"id": self.projects[scope]}}
        return password(name, self.passwords[name], scope, domain)

    def token(self, auth, keystone=None):
        """A token, with what Keystone says of it."""
        token, body = (keystone or self.keystone).token(auth)
        self.secrets.add(token)
        return token, body

    def actor(self, name, auth, **headers):
        """An actor with a new token."""
        token, body = self.token(auth)
        return Actor(name, {"x-auth-token": token} | headers, tuple(role["name"] for role in body.get("roles", ())),
                     body["user"]["id"], body.get("project", {}).get("id"))

    def credential(self, name, project, rules=None):
        """An application credential of a user, as the body of a request for a token."""
        token, _ = self.token(self.auth(name, project))
        secret = secrets.token_hex(16)
        self.secrets.add(secret)
        wanted = {"name": f"credential-{next(self.numbers)}", "secret": secret}
        wanted |= {} if rules is None else {"access_rules": rules}
        made = self.keystone.rest(token).must(
            "POST", f"/v3/users/{self.users[name]}/application_credentials", {"application_credential": wanted}).json
        return application_credential(made["application_credential"]["id"], secret)

    def trust(self, trustor, trustee, project, role):
        """The scope of a trust."""
        token, _ = self.token(self.auth(trustor, project))
        made = self.keystone.rest(token).must("POST", "/v3/OS-TRUST/trusts", {"trust": {
            "trustor_user_id": self.users[trustor], "trustee_user_id": self.users[trustee], "impersonation": False,
            "project_id": self.projects[project], "roles": [{"name": role}]}}).json
        return {"OS-TRUST:trust": {"id": made["trust"]["id"]}}

    def set_enabled(self, name, enabled):
        self.rest.must("PATCH", f"/v3/users/{self.users[name]}", {"user": {"enabled": enabled}})

    def _create(self, path, noun, body):
        return self.rest.must("POST", f"/v3/{path}", {noun: body}).json[noun]["id"]


def populate(cloud):
    """Makes the users, and returns the actors. Tokens that Keystone refuses are last."""
    for name, project, roles, domain in (
            ("chief", "lab", ["admin"], DOMAIN), ("manager", "lab", ["manager"], DOMAIN),
            ("member", "lab", ["member"], DOMAIN), ("reader", "lab", ["reader"], DOMAIN),
            ("neighbour", "shop", ["reader", "member"], DOMAIN), ("auditor", "lab", ["auditor"], DOMAIN),
            ("far-chief", "far", ["admin"], cloud.other_domain), ("far-reader", "far", ["reader"], cloud.other_domain),
            ("nova", "service", ["service"], DOMAIN), ("nova-admin", "service", ["admin", "service"], DOMAIN),
            ("guest", "lab", ["member"], DOMAIN), ("leaver", "lab", ["admin"], DOMAIN)):
        cloud.user(name, project, *roles, domain=domain)
    for name in "domain-chief", "domain-reader", "system-chief", "system-reader":
        cloud.user(name)
        place = "system" if name.startswith("system") else f"domains/{DOMAIN['id']}"
        cloud.grant(name, place, "admin" if name.endswith("chief") else "reader")
    # The first token of a user writes its row. Two services that ask for it at once lock each other out in SQLite.
    cloud.token(cloud.auth(SERVICE_USER, "service"))
    other, domain, system = cloud.other_domain, {"domain": DOMAIN}, {"system": {"all": True}}
    nova, _ = cloud.token(cloud.auth("nova", "service"))
    member, _ = cloud.token(cloud.auth("member", "lab"))
    actors = [
        cloud.actor("admin", cloud.auth("chief", "lab")),
        cloud.actor("manager", cloud.auth("manager", "lab")),
        cloud.actor("member", cloud.auth("member", "lab")),
        cloud.actor("reader", cloud.auth("reader", "lab")),
        cloud.actor("reader of another project", cloud.auth("neighbour", "shop")),
        cloud.actor("role of the cloud's own", cloud.auth("auditor", "lab")),
        cloud.actor("admin of another domain", cloud.auth("far-chief", "far", other)),
        cloud.actor("reader of another domain", cloud.auth("far-reader", "far", other)),
        cloud.actor("service", cloud.auth("nova", "service")),
        cloud.actor("service and admin", cloud.auth("nova-admin", "service")),
        cloud.actor("domain admin", cloud.auth("domain-chief", domain)),
        cloud.actor("domain reader", cloud.auth("domain-reader", domain)),
        cloud.actor("system admin", cloud.auth("system-chief", system)),
        cloud.actor("system reader", cloud.auth("system-reader", system)),
        cloud.actor("unscoped", cloud.auth("chief")),
        cloud.actor("trustee of a reader", cloud.auth("guest", cloud.trust("reader", "guest", "lab", "reader"))),
        cloud.actor("credential", cloud.credential("chief", "lab")),
        cloud.actor("credential with rules", cloud.credential("chief", "lab", LISTING)),
        cloud.actor("credential with rules, by a service", cloud.credential("chief", "lab", LISTING),
                    **{"x-service-token": nova}),
        cloud.actor("credential without a rule", cloud.credential("chief", "lab", [])),
        cloud.actor("reader by a service", cloud.auth("reader", "lab"), **{"x-service-token": nova}),
        cloud.actor("system admin by a service", cloud.auth("system-chief", system), **{"x-service-token": nova}),
        cloud.actor("reader by a member as a service", cloud.auth("reader", "lab"), **{"x-service-token": member}),
        cloud.actor("disabled", cloud.auth("leaver", "lab")),
        Actor("without a token", {}),
    ]
    cloud.set_enabled("leaver", False)
    return actors
