"""Policy set-ups of the matrix, and placement.conf with Keystone."""

import json

from functional_tests.keystone.actors import SERVICE_USER
from functional_tests.lib.patience import SERVICE_SECONDS

PASSWORD_OPTIONS = {
    "auth_type": "password", "username": SERVICE_USER, "user_domain_name": "Default", "project_name": "service",
    "project_domain_name": "Default"}


def options(cloud, keystone=None, **more):
    """placement.conf for a service that validates tokens with a Keystone. `more` are of [keystone_authtoken]."""
    url = (keystone or cloud.keystone).url
    authtoken = PASSWORD_OPTIONS | {
        "auth_url": url, "www_authenticate_uri": url.removesuffix("/v3"), "password": cloud.passwords[SERVICE_USER],
        "service_type": "placement", "http_connect_timeout": str(SERVICE_SECONDS), "http_request_max_retries": "0"}
    return {"DEFAULT": {"debug": "false"}, "api": {"auth_strategy": "keystone"}, "keystone_authtoken": authtoken | more}


def custom_rules(actors):
    """Rules about roles, projects, users and services."""
    member, manager = actors["member"], actors["manager"]
    return {
        "admin_api": "role:admin or role:manager",
        "placement:resource_providers:list": "role:reader",
        "placement:resource_providers:show": "rule:admin_api or service_roles:service",
        "placement:resource_providers:create": f"user_id:{member.user_id}",
        "placement:resource_providers:inventories:list": f"project_id:{member.project_id} and not role:admin",
        "placement:resource_providers:inventories:update": "role:admin and user_domain_id:default",
        "placement:resource_providers:aggregates:list": "project_domain_id:default",
        "placement:resource_providers:traits:list": f"service_user_id:{actors['service'].user_id} or role:auditor",
        "placement:resource_providers:usages": f"service_project_id:{actors['service'].project_id}",
        "placement:resource_classes:list": "@",
        "placement:resource_classes:show": "!",
        "placement:traits:list": f"user_id:{manager.user_id} or (role:member and not role:manager)",
        "placement:usages": "role:reader and project_id:%(project_id)s",
        "placement:allocations:list": "user_id:%(user_id)s",
        "placement:allocation_candidates:list": "role:service or role:SERVICE",
    }


def scoped_rules(cloud):
    """Rules about systems and domains."""
    other = cloud.other_domain["id"]
    return {
        "admin_or_service_api": "system_scope:all or role:service",
        "placement:resource_providers:list": "system_scope:all and role:reader",
        "placement:resource_providers:show": "domain_id:default",
        "placement:resource_providers:create": "role:admin and domain_id:default",
        "placement:resource_providers:inventories:list": f"project_domain_id:{other} or user_domain_id:{other}",
        "placement:resource_providers:traits:list": "is_admin_project:True and role:admin",
        "placement:resource_classes:list": "not system_scope:all and not domain_id:default",
        "placement:traits:list": "role:admin and system_scope:all or role:reader and domain_id:default",
        "placement:usages": "system_scope:all or project_id:%(project_id)s",
    }


def all_of(cloud, actors):
    """Each set-up by its name: options and files."""
    base = options(cloud)
    old = {"enforce_new_defaults": "false", "enforce_scope": "false"}
    custom = {"policy_file": "{folder}/policy.yaml"}
    files = [{"policy.yaml": json.dumps(rules)} for rules in (custom_rules(actors), scoped_rules(cloud))]
    return {
        "defaults": (base, {}),
        "older defaults, without scopes": (base | {"oslo_policy": old}, {}),
        "a policy file": (base | {"oslo_policy": custom}, files[0]),
        "a policy file of scopes": (base | {"oslo_policy": custom | {"enforce_scope": "false"}}, files[1]),
    }
