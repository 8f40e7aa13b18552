"""Clients that get their tokens with a password or a credential, and find the service in Keystone's catalogue.

keystoneauth's session, openstacksdk, the `openstack` command with osc-placement; nova's report client and neutron-lib's
placement client (nova_client.py).
"""

import json
import pathlib
import subprocess
import sys

import openstack
from keystoneauth1 import exceptions, identity, session

from functional_tests.keystone import set_ups
from functional_tests.keystone.services import Traced
from functional_tests.lib import live
from functional_tests.lib.keystone import REGION

HOST = "d0000000-0000-4000-8000-000000000001"
SERVER = "d0000000-0000-4000-8000-0000000000c1"
OPERATOR, READER = "operator", "visitor"
CLIENT_SECONDS = 600


def plugin(cloud, name):
    return identity.v3.Password(
        cloud.keystone.url, username=name, password=cloud.passwords[name], user_domain_id="default",
        project_name="lab", project_domain_id="default")


def with_keystoneauth(tests, cloud):
    """Sessions of keystoneauth, which get a token by themselves."""
    where = {"endpoint_filter": {"service_type": "placement", "interface": "public", "region_name": REGION},
             "headers": {"openstack-api-version": "placement 1.39"}}
    admin = session.Session(plugin(cloud, OPERATOR))
    made = admin.post("/resource_providers", json={"name": "keystoneauth", "uuid": HOST}, **where)
    tests.equal("keystoneauth: a provider is made", 200, made.status_code)
    cloud.secrets.add(admin.get_token())
    admin.delete("/auth/tokens", endpoint_filter={"service_type": "identity", "interface": "public"},
                 headers={"x-subject-token": admin.get_token()})
    shown = admin.get(f"/resource_providers/{HOST}", **where)
    tests.equal("keystoneauth: a session whose token was revoked", HOST, shown.json()["uuid"])
    cloud.secrets.add(admin.get_token())
    admin.delete(f"/resource_providers/{HOST}", **where)
    try:
        session.Session(plugin(cloud, READER)).get("/resource_providers", **where)
    except exceptions.Forbidden:
        tests.ok("keystoneauth: a reader is refused")
    else:
        tests.fail("keystoneauth: a reader is refused")


def with_sdk(tests, cloud):
    """openstacksdk with a password, and with an application credential."""
    given = cloud.credential(OPERATOR, "lab")["identity"]["application_credential"]
    ways = {
        "a password": {"auth": {"username": OPERATOR, "password": cloud.passwords[OPERATOR], "project_name": "lab",
                                "user_domain_id": "default", "project_domain_id": "default"}},
        "an application credential": {"auth_type": "v3applicationcredential", "auth": {
            "application_credential_id": given["id"], "application_credential_secret": given["secret"]}},
    }
    for name, settings in ways.items():
        settings["auth"]["auth_url"] = cloud.keystone.url
        with openstack.connect(
                load_yaml_config=False, load_envvars=False, region_name=REGION, **settings) as connection:
            connection.placement.default_microversion = "1.39"
            connection.placement.create_resource_provider(name="sdk", id=HOST)
            found = [provider.name for provider in connection.placement.resource_providers()]
            connection.placement.delete_resource_provider(HOST)
            cloud.secrets.add(connection.session.get_token())
        tests.equal(f"openstacksdk with {name}", ["sdk"], found)


def with_command(tests, cloud):
    """The `openstack` command, with variables of the environment as an operator has them."""
    def run(user, *command):
        environment = live.clean_environment() | {
            "OS_AUTH_URL": cloud.keystone.url, "OS_USERNAME": user, "OS_PASSWORD": cloud.passwords[user],
            "OS_PROJECT_NAME": "lab", "OS_USER_DOMAIN_ID": "default", "OS_PROJECT_DOMAIN_ID": "default",
            "OS_IDENTITY_API_VERSION": "3", "OS_REGION_NAME": REGION, "OS_PLACEMENT_API_VERSION": "1.39"}
        client = pathlib.Path(sys.executable).parent / "openstack"
        return subprocess.run([str(client), *command], capture_output=True, text=True, timeout=CLIENT_SECONDS,
                              env=environment, check=False)

    made = run(OPERATOR, "resource", "provider", "create", "cli", "--uuid", HOST, "-f", "json")
    tests.equal("openstack resource provider create", "cli",
                json.loads(made.stdout)["name"] if made.stdout else made.stderr)
    listed = run(OPERATOR, "resource", "provider", "list", "-f", "json")
    tests.equal("openstack resource provider list", [HOST],
                [row["uuid"] for row in json.loads(listed.stdout or "[]")] or listed.stderr)
    refused = run(READER, "resource", "provider", "list")
    tests.equal("openstack resource provider list, of a reader", (1, True),
                (refused.returncode, "403" in refused.stderr))
    deleted = run(OPERATOR, "resource", "provider", "delete", HOST)
    tests.equal("openstack resource provider delete", 0, deleted.returncode)


def with_nova(tests, cloud, folder):
    """nova's report client and neutron-lib's client, as Nova's and Neutron's configuration describe a cloud."""
    cloud.user("compute", "service", *("admin", "service"))
    path = folder / "nova.conf"
    path.write_text("\n".join([
        "[placement]", f"auth_url = {cloud.keystone.url}", "auth_type = password", "username = compute",
        f"password = {cloud.passwords['compute']}", "user_domain_name = Default", "project_name = service",
        "project_domain_name = Default", f"region_name = {REGION}", ""]))
    python = cloud.keystone.venv / "bin/python"
    program = pathlib.Path(__file__).with_name("nova_client.py")
    # -P: without the program's folder in the path, whose numbers.py would hide the standard library's.
    done = subprocess.run([str(python), "-P", str(program), str(path), HOST, SERVER, cloud.projects["lab"]],
                          capture_output=True, text=True, timeout=CLIENT_SECONDS,
                          env=live.clean_environment(), check=False)
    for line in done.stdout.splitlines():
        if line.startswith("step "):
            tests.ok(line.removeprefix("step "))
    if done.returncode:
        tests.fail("nova's report client and neutron-lib's client", f"{done.stdout}\n{done.stderr[-3000:]}")


def with_all(tests, cloud, folder, port):
    """All of them with the service on this port."""
    cloud.user(OPERATOR, "lab", "admin")
    cloud.user(READER, "lab", "reader")
    cloud.publish("placement", f"http://127.0.0.1:{port}")
    tests.step("keystoneauth: no call raises", with_keystoneauth, tests, cloud)
    tests.step("openstacksdk: no call raises", with_sdk, tests, cloud)
    tests.step("the openstack command: no call raises", with_command, tests, cloud)
    tests.step("nova and neutron-lib: no call raises", with_nova, tests, cloud, folder)


def run(tests, context):
    with Traced(context.logs, context.server, set_ups.options(context.cloud), context.binary) as service:
        with_all(tests, context.cloud, context.folder, service.port)
