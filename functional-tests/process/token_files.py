"""Tokens for those without Keystone: `placet token …` and `[placet] token_file`, with real requests."""

import concurrent.futures
import contextlib
import datetime
import os
import re
import signal

from functional_tests.lib import live, ports
from functional_tests.lib.patience import eventually
from functional_tests.lib.rest import Rest
from functional_tests.process.cases import case, check, equal, folder
from functional_tests.process.configuration import names
from functional_tests.process.placet_process import Placet, refused, run

TOKEN = re.compile(r"placet_[0-9a-f]{64}\n")


def config(here, **options):
    return live.write_config(here, {"placet": {"token_file": str(here / "tokens"), **options}}, here / "placet.sqlite")


def create(here, path, *roles, user="alice", project="lab", expires="90d", host=None):
    """A new token, and its id."""
    done = run(here, "--config-file", path, "token", "create", "--user", user, "--project", project, "--expires", expires,
               *[word for role in roles for word in ("--role", role)], *(["--host", host] if host else []))
    equal(done.code, 0, done)
    check(TOKEN.fullmatch(done.out), done)
    return done.out.strip(), re.match(r"token (\w+) was added", done.err)[1]


@contextlib.contextmanager
def serving_an_admin():
    """placet with the token of an admin: the folder, the configuration, placet, the token and its id."""
    with folder() as here:
        path = config(here)
        token, number = create(here, path, "admin")
        with Placet(here, arguments=["--config-file", path]) as placet:
            yield here, path, placet, token, number


def status(placet, token, path="/resource_providers", **headers):
    return placet.rest("GET", path, headers={"x-auth-token": token, **headers}).status


@case("a token is printed once, and the file of mode 0600 has its hash; list shows all but the secret")
def create_and_list():
    with folder() as here:
        path = config(here)
        token, number = create(here, path, "admin", "reader")
        text = (here / "tokens").read_text()
        check(token not in text and token.removeprefix("placet_") not in text, text)
        equal((here / "tokens").stat().st_mode & 0o7777, 0o600)
        listed = run(here, "--config-file", path, "token", "list")
        names(listed.out, number, "alice", "lab", "admin,reader")
        check(token not in listed.out, listed)
        other, _ = create(here, path, "reader")
        check(token != other, "the same token twice")
        line = refused(here, "--config-file", path, "token", "create", "--user", "a b", "--project", "p", "--role", "r",
                       "--expires", "1d")
        names(line, "user", "blank")
        names(refused(here, "token", "list"), "token_file", "--file")
        equal(run(here, "token", "list", "--file", here / "tokens").out, run(here, "--config-file", path, "token", "list").out)


@case("only known tokens are let in, each with its own roles, and headers of the client change nothing")
def roles():
    with folder() as here:
        path = config(here)
        admin, _ = create(here, path, "admin")
        nothing, _ = create(here, path, "no-such-role", user="bob")
        with Placet(here, arguments=["--config-file", path]) as placet:
            equal(status(placet, admin), 200)
            equal(status(placet, nothing), 403)
            for token in ("admin", "admin:admin", "", "placet_" + "0" * 64, admin[:-1], admin + "0", admin.upper()):
                equal(status(placet, token), 401, token)
            equal(placet.rest("GET", "/traits", headers={"x-auth-token": None}).status, 401)
            forged = {"X-Roles": "admin", "X-User-Id": "admin", "X-Is-Admin-Project": "True", "OpenStack-System-Scope": "all",
                      "X-Identity-Status": "Confirmed", "X-Service-Roles": "service,admin"}
            equal(status(placet, nothing, **forged), 403)
            equal(status(placet, "admin", **forged), 401)
            equal(placet.rest("GET", "/", headers={"x-auth-token": None}).status, 200)
            # The refusal of a wrong token is that of a missing one.
            bodies = {placet.rest("GET", "/traits", headers={"x-auth-token": each}).raw for each in (None, "wrong")}
            equal(len(bodies), 1, bodies)
            placet.stop()
            check(admin not in placet.log() and nothing not in placet.log(), "a token is in the log")
            names(placet.log(), "user: alice project: lab", "user: bob project: lab")
            names(placet.greeting(), f"the tokens of {here / 'tokens'}", "$TOKEN")


def report(placet, token, host):
    """The status of a report of a host."""
    body = {"holder": "agent", "boot": "b", "number": 1}
    return placet.rest("PUT", f"/v1/hosts/{host}/report", body, headers={"x-auth-token": token}).status


@case("the token of a host reports for this host alone, and can read and write nothing else")
def of_a_host():
    host, second = (f"77777777-0000-4000-8000-00000000000{number}" for number in (1, 2))
    with serving_an_admin() as (here, path, placet, admin, _):
        for number, uuid in enumerate((host, second)):
            made = placet.rest("POST", "/resource_providers", {"name": f"h{number}", "uuid": uuid}, headers={"x-auth-token": admin})
            equal(made.status, 200, made)
        token, number = create(here, path, host=host.upper())
        names(run(here, "--config-file", path, "token", "list").out, number, host)
        equal(report(placet, token, host), 200)
        equal(report(placet, token, second), 403)
        equal(status(placet, token), 403)
        equal(status(placet, token, f"/v1/hosts/{host}"), 403)
        created = placet.rest("POST", "/resource_providers", {"name": "x"}, headers={"x-auth-token": token})
        equal(created.status, 403, created)
        # The first report has bound the host to the user.
        other, _ = create(here, path, host=host, user="bob")
        equal(report(placet, other, host), 403)
        equal(report(placet, admin, host), 200)
    with folder() as here:
        path = config(here)
        names(refused(here, "--config-file", path, "token", "create", "--user", "u", "--project", "p", "--expires", "1d",
                      "--host", "h1"), "h1", "uuid")
        create(here, path, host=host)
        tokens = here / "tokens"
        tokens.write_text(tokens.read_text().replace(" roles=", " roles=admin"))
        names(run(here, "--config-file", path, "--bind", "127.0.0.1:0", "config", "check").out, "has no roles", "1 error,")


def soon_expired(placet, here, path):
    """Makes a token that is good, and expires after some seconds. On a busy machine there are more of them."""
    for seconds in (3, 30, 300):
        soon = datetime.datetime.now(datetime.UTC) + datetime.timedelta(seconds=seconds)
        token, _ = create(here, path, "admin", expires=soon.isoformat(timespec="seconds"))
        found = status(placet, token)
        # The option has whole seconds.
        if found == 200 or datetime.datetime.now(datetime.UTC) < soon.replace(microsecond=0):
            break
    equal(found, 200)
    return token


@case("a token that is made, revoked or expired while placet serves counts from the next request on")
def changes():
    with serving_an_admin() as (here, path, placet, first, number):
        equal(status(placet, first), 200)
        second = soon_expired(placet, here, path)
        eventually("the token expires", lambda: status(placet, second) == 401)
        names(run(here, "--config-file", path, "token", "list").out, "(expired)")
        names(refused(here, "--config-file", path, "token", "revoke", number, "nope"), "nope", "nothing was revoked")
        equal(status(placet, first), 200)
        equal(run(here, "--config-file", path, "token", "revoke", number).code, 0)
        equal(status(placet, first), 401)


@case("hostile_16: of many tokens, each counts from the request right after it was made, and none after it was revoked")
def at_once():
    with serving_an_admin() as (here, path, placet, first, _):
        for _ in range(10):
            # placet has just looked at the file.
            equal(status(placet, first), 200)
            token, number = create(here, path, "admin")
            equal(status(placet, token), 200)
            equal(run(here, "--config-file", path, "token", "revoke", number).code, 0)
            equal(status(placet, token), 401)


@case("a broken, readable or missing file keeps the tokens in force and logs an error; a start with it is refused")
def broken_files():
    with folder() as here:
        path = config(here)
        line = refused(here, "--config-file", path, "--bind", "127.0.0.1:0")
        names(line, str(here / "tokens"), "token create")
        token, _ = create(here, path, "admin")
        tokens, good = here / "tokens", (here / "tokens").read_text()
        with Placet(here, arguments=["--config-file", path]) as placet:
            for number, (harm, word) in enumerate([
                    (lambda: tokens.write_text(good + "nonsense\n"), "name=value"),
                    (lambda: (tokens.write_text(good), tokens.chmod(0o644)), "chmod 600"),
                    (tokens.unlink, "No such file"),
            ], 1):
                harm()
                eventually(word, lambda word=word: status(placet, token) == 200 and word in placet.log())
                check(placet.log().count("stay in force") >= number, placet.log())
                names(run(here, "--config-file", path, "--bind", "127.0.0.1:0", "config", "check").out, word, "1 error,")
                names(refused(here, "--config-file", path, "--bind", "127.0.0.1:0"), word)
            tokens.write_text("")
            tokens.chmod(0o644)
            errors = placet.log().count("chmod 600")
            eventually("chmod 600", lambda: status(placet, token) == 200 and placet.log().count("chmod 600") > errors)
            # That alone is a change.
            tokens.chmod(0o600)
            eventually("an empty file has no tokens", lambda: status(placet, token) == 401)
            placet.signal(signal.SIGHUP)
            eventually("SIGHUP reads the file", lambda: placet.log().count("was read again: 0 tokens") == 2)
            placet.stop()


@case("concurrent changes of the file lose no token")
def concurrent_changes():
    with folder() as here:
        path = config(here)
        with concurrent.futures.ThreadPoolExecutor(4) as pool:
            made = list(pool.map(lambda _: create(here, path, "admin"), range(12)))
        equal(len((here / "tokens").read_text().splitlines()), 1 + len({token for token, _ in made}))
        equal(sorted(each for each in os.listdir(here) if each.startswith(".")), [])


@case("with a token file placet serves beyond loopback without allow_noauth2_anywhere, and warns of clear text")
def beyond_loopback():
    with folder() as here:
        path = config(here)
        token, _ = create(here, path, "admin")
        with Placet(here, arguments=["--config-file", path], bind="0.0.0.0:0") as placet:
            equal((status(placet, token), status(placet, "admin")), (200, 401))
            placet.stop()
            check(any("clear text" in line and " WARN " in line for line in placet.log().splitlines()), placet.log())


@case("with a token file no client reads the metrics until they have a token or a port of their own")
def metrics():
    with folder() as here:
        admin, _ = create(here, config(here), "admin")
        scraper, own = here / "scraper", ports.free_port()
        scraper.write_text("scraper")
        for options, on_api in (({}, 403), ({"metrics_token_file": scraper}, 401), ({"metrics_bind": f"127.0.0.1:{own}"}, 404)):
            with Placet(here, arguments=["--config-file", config(here, **options)]) as placet:
                equal(status(placet, admin, "/metrics"), on_api, options)
                if "metrics_token_file" in options:
                    equal(status(placet, admin, "/metrics", authorization="Bearer scraper"), 200)
                    equal(status(placet, admin, "/metrics", authorization=f"Bearer {admin}"), 401)
                if "metrics_bind" in options:
                    equal(Rest(own)("GET", "/metrics", headers={"x-auth-token": None}).status, 200)
                placet.stop()
