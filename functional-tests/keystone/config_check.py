"""`config check --keystone` gets a token with the configured credentials, and has Keystone validate it."""

import subprocess

from functional_tests.keystone import set_ups
from functional_tests.lib import live, ports
from functional_tests.lib.patience import HANG_SECONDS


def checked(context, options):
    """The exit code and the output."""
    folder = context.folder / "config-check"
    folder.mkdir(exist_ok=True)
    options = options | {"placet": {"bind": "127.0.0.1:0"}}
    path = live.write_config(folder, options)
    done = subprocess.run(
        [str(live.placet_binary(context.binary)), "--config-file", str(path), "config", "check", "--keystone"],
        capture_output=True, text=True, timeout=HANG_SECONDS, env=live.clean_environment(), check=False)
    return done.returncode, done.stdout


def run(tests, context):
    if context.server != "placet":
        return
    cloud = context.cloud
    cloud.user("powerless", "lab", "reader")
    (closed,) = ports.free_ports(1)
    powerless = {"username": "powerless", "password": cloud.passwords["powerless"], "project_name": "lab"}
    for name, given, code, said in (
            ("the right credentials", {}, 0, "0 errors"),
            ("a wrong password", {"password": "wrong-word"}, 2, "gives the service no token (401"),
            ("a project that does not exist", {"project_name": "nowhere"}, 2, "gives the service no token (401"),
            ("a domain that does not exist", {"project_domain_name": "nowhere"}, 2, "gives the service no token"),
            ("a user in no project", {"project_name": "shop"}, 2, "gives the service no token (401"),
            ("a Keystone that is not there", {"auth_url": f"http://127.0.0.1:{closed}/v3"}, 2, "cannot be reached"),
            ("a user with another role", powerless, 1, "has the roles [reader]")):
        status, printed = checked(context, set_ups.options(cloud, **given))
        tests.equal(f"found C3: config check --keystone with {name} exits with {code}", (code, True),
                    (status, said in printed) if said in printed else (status, printed))
        tests.equal(f"found C3: {name}: no password is printed", False,
                    "wrong-word" in printed or cloud.passwords[set_ups.SERVICE_USER] in printed)
    status, printed = checked(context, {"api": {"auth_strategy": "noauth2"}})
    tests.equal("found C3: config check --keystone without Keystone is a note", (0, True),
                (status, "note: auth_strategy is not keystone" in printed))
