"""Tests placet as a program: the start, refused configurations, the address, the limits and the stop.

    python -m functional_tests.operations.run [--binary PATH]
"""

import contextlib
import json
import os
import pathlib
import signal
import socket
import sqlite3
import subprocess
import tempfile
import time

from functional_tests.lib import command_line, live, ports
from functional_tests.lib.patience import HANG_SECONDS
from functional_tests.lib.rest import Rest
from functional_tests.lib.test_counts import TestCounts

UUID = "f0000000-0000-4000-8000-000000000001"
ETC = pathlib.Path("/etc/placement/placement.conf")


def run(binary, folder, *arguments):
    """Runs a placet that has to end by itself within 30 s."""
    return subprocess.run([str(live.placet_binary(binary)), *arguments], cwd=folder, text=True,
                          capture_output=True, timeout=HANG_SECONDS, check=False,
                          env=live.clean_environment())


def starting(binary, folder, text, *arguments):
    """Starts a placet that must refuse this configuration; returns its error output."""
    config = pathlib.Path(folder, "refused.conf")
    config.write_text(text)
    try:
        done = run(binary, folder, "--config-file", str(config), *arguments)
    except subprocess.TimeoutExpired as error:
        raise AssertionError("placet started") from error
    assert done.returncode != 0, f"exit 0: {done.stdout}{done.stderr}"
    assert "panicked" not in done.stderr, done.stderr
    return done.stderr


def contains(text, *words):
    missing = [word for word in words if word.lower() not in text.lower()]
    assert not missing, f"no {missing} in: {text}"


def no_configuration(binary, folder):
    """Without a configuration placet makes a database in the working directory, and uses noauth2."""
    port = ports.free_port()
    with open(pathlib.Path(folder, "out"), "wb") as out:
        process = subprocess.Popen(
            [str(live.placet_binary(binary)), "--bind", f"127.0.0.1:{port}"], cwd=folder,
            stdout=out, stderr=out, stdin=subprocess.DEVNULL, env=live.clean_environment())
    try:
        deadline = time.monotonic() + HANG_SECONDS
        while time.monotonic() < deadline and process.poll() is None:
            with contextlib.suppress(OSError):
                answer = Rest(port)("GET", "/resource_providers")
                break
            time.sleep(0.05)
        else:
            raise AssertionError(pathlib.Path(folder, "out").read_text())
        assert answer.status == 200, answer
        files = [p.name for p in pathlib.Path(folder).glob("*.sqlite")]
        assert len(files) == 1, files
        contains(pathlib.Path(folder, "out").read_text(), str(port), files[0], "curl")
    finally:
        process.terminate()
        code = process.wait(HANG_SECONDS)
    assert code == 0, f"ended with {code} on SIGTERM"


def refusals(tests, binary, folder):
    memory = "[placement_database]\nconnection = sqlite:////{0}/x.sqlite\nsync_on_startup = true\n"
    memory = memory.format(folder.lstrip("/"))
    noauth = memory + "[api]\nauth_strategy = noauth2\n"
    tests.step("keystone, the default with a configuration, refuses to start without its section",
               lambda: contains(starting(binary, folder, memory), "keystone"))
    tests.step("noauth2 on an address that is not loopback is refused", lambda: contains(
        starting(binary, folder, noauth, "--bind", f"0.0.0.0:{ports.free_port()}"),
        "allow_noauth2_anywhere"))
    tests.step("an unknown option of [placet] is refused, and the nearest is named",
               lambda: contains(starting(
                   binary, folder, noauth + "[placet]\nurl_prefx = /x\n"), "url_prefx",
                   "url_prefix"))
    tests.step("an invalid value is refused with its file and option", lambda: contains(
        starting(binary, folder, noauth + "[placet]\nmax_body_size = much\n"),
        "max_body_size", "refused.conf"))
    tests.step("a missing configuration file is refused",
               lambda: contains(run(binary, folder, "--config-file", "no-such.conf").stderr,
                                "no-such.conf"))


def database_commands(binary, folder):
    path = pathlib.Path(folder, "made.sqlite")
    config = live.write_config(pathlib.Path(folder), database=path)
    synced = run(binary, folder, "--config-file", str(config), "db", "sync")
    assert synced.returncode == 0, synced.stderr
    with sqlite3.connect(path) as db:
        head = db.execute("SELECT version_num FROM alembic_version").fetchone()[0]
    version = run(binary, folder, "--config-file", str(config), "db", "version")
    assert version.returncode == 0, version.stderr
    contains(version.stdout, head)
    again = run(binary, folder, "--config-file", str(config), "db", "sync")
    assert again.returncode == 0, again.stderr


def links(rest, path, headers=None):
    """Creates a provider through the prefix `path`; returns its location and its links."""
    made = rest("POST", f"{path}/resource_providers", {"name": "linked"}, headers=headers)
    assert made.status == 200, made
    hrefs = [link["href"] for link in made.json["links"]]
    rest.must("DELETE", f"{path}/resource_providers/{made.json['uuid']}")
    return made.headers["location"], hrefs


def prefix(binary):
    with live.Service("placet", {"placet": {"url_prefix": "/placement"}}, binary) as service:
        rest = Rest(service.port)
        for root in ("/placement", "/placement/"):
            assert rest("GET", root).json["versions"][0]["max_version"] == "1.39", root
        location, hrefs = links(rest, "/placement")
        assert "/placement/resource_providers/" in location, location
        assert all(href.startswith("/placement/resource_providers/") for href in hrefs), hrefs


def forwarded(binary, trusted):
    options = {"oslo_middleware": {"enable_proxy_headers_parsing": str(trusted).lower()}}
    with live.Service("placet", options, binary) as service:
        location, hrefs = links(Rest(service.port), "", {"x-forwarded-prefix": "/cloud"})
    wanted = "/cloud/resource_providers/" if trusted else "/resource_providers/"
    assert all(href.startswith(wanted) for href in hrefs), hrefs
    assert ("/cloud/" in location) == trusted, location


def body_limit(binary):
    with live.Service("placet", {"placet": {"max_body_size": "1000"}}, binary) as service:
        rest = Rest(service.port)
        fits = rest("POST", "/resource_providers", {"name": "fits"})
        assert fits.status == 200, fits
        large = json.dumps({"name": "x" * 2000}).encode()
        refused = rest("POST", "/resource_providers", large)
        assert refused.status == 413, refused
        assert refused.json["errors"][0]["status"] == 413, refused
        assert rest("GET", "/resource_providers").status == 200


def graceful_stop(binary):
    """After SIGTERM a half-sent request is answered, a new connection is refused, and the exit code is 0."""
    with live.Service("placet", {}, binary) as service:
        body = json.dumps({"name": "late"}).encode()
        head = (f"POST /resource_providers HTTP/1.1\r\nhost: 127.0.0.1\r\nx-auth-token: admin\r\n"
                f"openstack-api-version: placement 1.39\r\ncontent-type: application/json\r\n"
                f"content-length: {len(body)}\r\nconnection: close\r\n\r\n").encode()
        with socket.create_connection(("127.0.0.1", service.port), timeout=HANG_SECONDS) as wire:
            wire.sendall(head + body[:5])
            time.sleep(0.3)
            os.kill(service.process.pid, signal.SIGTERM)
            time.sleep(0.5)
            wire.sendall(body[5:])
            answer = b""
            while chunk := wire.recv(65536):
                answer += chunk
        assert answer.startswith(b"HTTP/1.1 200"), answer[:300] or service.log_end()
        assert service.process.wait(HANG_SECONDS) == 0, service.log_end()
        with contextlib.suppress(ConnectionRefusedError):
            socket.create_connection(("127.0.0.1", service.port), timeout=1).close()
            raise AssertionError("placet still accepts connections")


def request_log(binary):
    """The log has one line for a request, with its own id, the caller's id, the path, the version and the status."""
    with live.Service("placet", {}, binary) as service:
        given = f"req-{UUID}"
        answer = Rest(service.port, version="1.17")(
            "GET", f"/resource_providers/{UUID}", headers={"x-openstack-request-id": given})
        own = answer.headers["x-openstack-request-id"]
        deadline = time.monotonic() + HANG_SECONDS
        lines = []
        while not lines and time.monotonic() < deadline:
            lines = [line for line in service.log().splitlines() if own in line and "GET" in line]
            time.sleep(0.05)
        assert len(lines) == 1, service.log_end()
        contains(lines[0], given, f"/resource_providers/{UUID}", "404", "1.17")


def main():
    parser = command_line.parser(__doc__, "--binary")
    binary = parser.parse_args().binary
    tests = TestCounts()
    with tempfile.TemporaryDirectory(prefix="placet-test-") as folder:
        name = "no configuration: an embedded database, noauth2, and a first curl"
        if ETC.exists():
            tests.skip(name, f"this machine has {ETC}")
        else:
            tests.step(name, no_configuration, binary, folder)
        refusals(tests, binary, folder)
        tests.step("db sync and db version", database_commands, binary, folder)
    tests.step("[placet] url_prefix", prefix, binary)
    for trusted in (True, False):
        word = "is used if enabled" if trusted else "is ignored by default"
        tests.step(f"X-Forwarded-Prefix {word}", forwarded, binary, trusted)
    tests.step("a body above max_body_size is refused", body_limit, binary)
    tests.step("SIGTERM lets a request finish", graceful_stop, binary)
    tests.step("the log has a line for each request", request_log, binary)
    tests.finish()


if __name__ == "__main__":
    main()
