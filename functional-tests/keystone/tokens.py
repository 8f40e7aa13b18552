"""Tokens in every state, service tokens, and forged identity headers: the answers are OpenStack Placement's."""

import contextlib
import time

from functional_tests.keystone import set_ups
from functional_tests.keystone.services import SHORT_SECONDS, Pair, bearer
from functional_tests.lib.keystone import DOMAIN
FORGED = {"x-roles": "admin,service", "x-role": "admin", "x-user-id": "forged", "x-user": "forged",
          "x-project-id": "forged", "x-identity-status": "Confirmed", "x-service-identity-status": "Confirmed",
          "x-service-roles": "service", "x-service-user-id": "forged", "x-is-admin-project": "True",
          "openstack-system-scope": "all", "x-domain-id": "default", "x-user-domain-id": "default"}


class Tokens:
    """Tokens by their state. Those that Keystone must refuse were good when it gave them."""

    def __init__(self, cloud):
        self.cloud = cloud
        self.good = self.new("holder", "member", "admin")
        self.reader = self.new("onlooker", "reader")
        self.service = self.new("helper", "service")
        self.member = self.new("assistant", "member")

    def new(self, name, *roles):
        """A token of a new user of the project `lab`."""
        self.cloud.user(name, "lab", *roles)
        return self.cloud.token(self.cloud.auth(name, "lab"))[0]

    def short(self, keystone, *names):
        """A token of each user that expires soon."""
        return [self.cloud.token(self.cloud.auth(name, "lab"), keystone)[0] for name in names]

    def foreign(self):
        with self.cloud.keystone.with_other_keys():
            return self.cloud.token(self.cloud.auth("holder", "lab"))[0]

    def refused(self):
        """Tokens that Keystone refuses, by the reason."""
        cloud, rest = self.cloud, self.cloud.rest
        revoked = self.new("revoker", "admin")
        assert rest("DELETE", "/v3/auth/tokens", headers={"x-subject-token": revoked}).status == 204
        disabled = self.new("disabled", "admin")
        cloud.set_enabled("disabled", False)
        deleted = self.new("deleted", "admin")
        rest.must("DELETE", f"/v3/users/{cloud.users['deleted']}")
        changed = self.new("changer", "admin")
        rest.must("PATCH", f"/v3/users/{cloud.users['changer']}", {"user": {"password": cloud.passwords["holder"]}})
        demoted = self.new("demoted", "admin")
        rest.must("DELETE", f"/v3/projects/{cloud.projects['lab']}/users/{cloud.users['demoted']}/roles/"
                            f"{cloud.roles['admin']}")
        project = rest.must("POST", "/v3/projects", {"project": {"name": "closed", "domain_id": DOMAIN["id"]}})
        cloud.projects["closed"] = project.json["project"]["id"]
        cloud.user("tenant", "closed", "admin")
        closed, _ = cloud.token(cloud.auth("tenant", "closed"))
        rest.must("PATCH", f"/v3/projects/{cloud.projects['closed']}", {"project": {"enabled": False}})
        return {"revoked": revoked, "a disabled user's": disabled, "a deleted user's": deleted,
                "issued before a new password": changed, "without its role": demoted, "a disabled project's": closed}


def garbage(good):
    """Texts that are not tokens, or not any more."""
    return {
        "a word": "garbage", "empty": "", "a blank": " ", "8,000 letters": "x" * 8000, "umlauts": "töken",
        "more than Latin-1": "token→".encode().decode("latin-1"), "a path": "../../v3/users", "a query": "a?b=c&d",
        "escaped": "%00%0d%0aX-Roles:admin", "a quote": "\"'<b>", "cut": good[:-1], "continued": good + "A",
        "changed": good[:60] + ("A" if good[60] != "A" else "B") + good[61:], "in another case": good.swapcase(),
        "twice": f"{good},{good}", "after a scheme": f"Bearer {good}"}


def cases(tokens, short):
    """Headers by what is sent."""
    good, reader, service, member = tokens.good, tokens.reader, tokens.service, tokens.member
    expired, expired_service = tokens.short(short, "holder", "helper")
    since = time.monotonic()
    foreign, refused = tokens.foreign(), tokens.refused()
    time.sleep(max(0, SHORT_SECONDS + 1.1 - (time.monotonic() - since)))
    found = {"no token": {}, "a good token": bearer(good), "a good token between blanks": bearer(f"  {good} "),
             "a good token as X-Storage-Token": {"x-storage-token": good}, "a reader's token": bearer(reader),
             "an expired token": bearer(expired), "a foreign token": bearer(foreign)}
    found |= {f"a token, {name}": bearer(token) for name, token in (refused | garbage(good)).items()}
    services = {"a service's": service, "a member's": member, "an expired": expired_service, "a foreign": foreign,
                "a revoked": refused["revoked"], "garbage": "garbage", "an empty": ""}
    for user, token in (("an expired token", expired), ("a reader's token", reader), ("a good token", good),
                        ("garbage", "garbage"), ("a revoked token", refused["revoked"])):
        found |= {f"{user} with {name} service token": bearer(token, each) for name, each in services.items()}
    found["a service token alone"] = {"x-service-token": service}
    # After it was let pass with a service's token.
    found["the expired token again, alone"] = bearer(expired)
    found |= {"forged headers alone": FORGED, "forged headers with a reader's token": bearer(reader, **FORGED),
              "forged headers with garbage": bearer("garbage", **FORGED),
              "forged headers with underscores": bearer(reader, **{k.replace("-", "_"): v for k, v in FORGED.items()}),
              "forged headers, a reader's and a member's token": bearer(reader, member, **FORGED)}
    found |= {f"a reader's token with {name}": bearer(reader, **{name: value}) for name, value in FORGED.items()}
    return found


def request_lines(tokens):
    """Requests beside GET of the providers: by their name the method, the path and headers."""
    good = bearer(tokens.good)
    return {
        "the root with garbage": ("GET", "/", bearer("garbage")), "the root without a token": ("GET", "/", {}),
        "an unknown path without a token": ("GET", "/nothing", {}), "an unknown path": ("GET", "/nothing", good),
        "a wrong method without a token": ("PATCH", "/traits", {}), "a wrong method": ("PATCH", "/traits", good),
        "a wrong version without a token": ("GET", "/traits", {"openstack-api-version": "placement 9.9"}),
        "a wrong version": ("GET", "/traits", good | {"openstack-api-version": "placement 9.9"}),
        "HTML without a token": ("GET", "/traits", {"accept": "text/html"}),
        "HTML with garbage": ("GET", "/traits", bearer("garbage", accept="text/html")),
        "HEAD without a token": ("HEAD", "/traits", {}), "OPTIONS without a token": ("OPTIONS", "/traits", {}),
    }


def sane(tests, pair, sent, where):
    """Without these statuses the states would not be what their names say."""
    wanted = {"no token": 401, "a good token": 200, "a reader's token": 403, "an expired token": 401,
              "a foreign token": 401, "a token, revoked": 401, "a token, a disabled user's": 401,
              "a token, a deleted user's": 401, "a token, a disabled project's": 401, "a token, cut": 401}
    # The roles of services are `service` in the one set-up, and `member` in the other.
    for name, status in (("a service's", 401 if where else 200), ("a member's", 200 if where else 401)):
        wanted[f"an expired token with {name} service token"] = status
    tests.equal(f"tokens are in the states of their names{where}", wanted,
                {name: pair.statuses(sent[name])[0] for name in wanted})


def run(tests, context):
    cloud = context.cloud
    tokens = Tokens(cloud)
    sent, lines = cases(tokens, context.short), request_lines(tokens)
    default = set_ups.options(cloud)
    other = {**default, "keystone_authtoken": {k: v for k, v in default["keystone_authtoken"].items()
                                               if k not in ("www_authenticate_uri", "service_type")}}
    other["keystone_authtoken"] |= {"service_token_roles_required": "false", "service_token_roles": "member,other",
                                    "delay_auth_decision": "true", "interface": "public", "region_name": "RegionOne"}
    with contextlib.ExitStack() as stack:
        pairs = {"": stack.enter_context(Pair(context, default)),
                 " (decided late, any service token)": stack.enter_context(Pair(context, other))}
        for where, pair in pairs.items():
            for name, headers in sent.items():
                # Once more, because a cache may answer differently.
                for again in ("", ", again"):
                    tests.equal(f"{name}{again}{where}", *pair.answers(headers))
            sane(tests, pair, sent, where)
            for name, (method, path, headers) in lines.items():
                tests.equal(f"{name}{where}", *pair.answers(headers, path, method))
