"""A first run: no configuration, an empty folder, one command."""

import os
import re
import shlex
import shutil
import socket
import sqlite3
import subprocess

from functional_tests.lib.patience import HANG_SECONDS
from functional_tests.process.cases import Skip, case, check, equal, folder
from functional_tests.process.placet_process import Placet, refused, run

HOST = "4e8e5957-649f-477b-9e5b-f1f75b21c03c"


def require_unconfigured_machine():
    if os.path.exists("/etc/placement"):
        raise Skip("this machine has an /etc/placement")


def is_free(port):
    with socket.socket() as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True


def shell(line):
    """Runs a line in a shell, as if it were pasted, and returns what it printed."""
    if not shutil.which("curl"):
        raise Skip("needs curl")
    line = line.replace("curl ", "curl --silent --show-error --fail --max-time 20 ")
    done = subprocess.run(["bash", "-c", line], capture_output=True, text=True, timeout=HANG_SECONDS)
    check(done.returncode == 0, line, "failed:", done.stderr, done.stdout)
    return done.stdout


@case("in an empty folder placet makes its database, listens on loopback, and prints its address and a first request")
def an_empty_folder():
    require_unconfigured_machine()
    usual = is_free(8778)
    with folder() as here, Placet(here, bind=None if usual else "127.0.0.1:0") as placet:
        equal(placet.port == 8778, usual, "listening on port 8778")
        output = placet.greeting()
        check(f"http://127.0.0.1:{placet.port}" in output, "no address in:", output)
        check(str(here / "placet.sqlite") in output, "no path of the database in:", output)
        check("noauth2" in output, "no auth strategy in:", output)
        placet.alive()
        equal(placet.rest("GET", "/").json["versions"][0]["max_version"], "1.39")
        names = [trait for trait in placet.rest("GET", "/traits").json["traits"]]
        check("HW_CPU_X86_AVX2" in names, "standard traits are missing")
        # It listens on loopback only.
        listening = {line.split()[1] for line in open("/proc/net/tcp") if line.split()[3] == "0A"}
        equal([a for a in listening if a.endswith(f":{placet.port:04X}")], [f"0100007F:{placet.port:04X}"])


@case("the curl command that placet prints works as printed")
def the_first_curl():
    require_unconfigured_machine()
    with folder() as here, Placet(here) as placet:
        found = re.search(r"^.*?(curl .*)$", placet.greeting(), re.M)
        check(found, "no curl in:", placet.greeting())
        check(shlex.split(found[1])[0] == "curl")
        check('"resource_providers"' in shell(found[1]), "the answer is not a list of providers")


@case("the first steps of --help work as written, from an empty service to an allocation candidate")
def the_first_steps():
    require_unconfigured_machine()
    with folder() as here, Placet(here) as placet:
        text = run(here, "--help").out
        steps = text[text.index("First steps:"):text.index("\n\nUsage:")]
        # What is indented is typed: the first command in the first terminal, all others in the second one.
        first, *typed = [line.removeprefix("    ") for line in steps.splitlines() if line.startswith("    ")]
        equal((first, sum(line.startswith("curl") for line in typed)), ("placet", 3), steps)
        script = "set -e\n" + "\n".join(typed).replace("127.0.0.1:8778", f"127.0.0.1:{placet.port}")
        candidates = shell(script)
        check(f'"{HOST}"' in candidates and '"allocation_requests"' in candidates, candidates)


@case("the database is SQLite in WAL mode, with OpenStack's schema at its head")
def the_file():
    require_unconfigured_machine()
    with folder() as here, Placet(here) as placet:
        connection = sqlite3.connect(placet.database)
        equal(connection.execute("PRAGMA journal_mode").fetchone()[0], "wal")
        equal(connection.execute("SELECT version_num FROM alembic_version").fetchall(), [("a082b8bb98d0",)])
        equal(connection.execute("PRAGMA integrity_check").fetchone()[0], "ok")
        connection.close()


@case("a second start on the same file shows what the first one stored, and makes no other file")
def a_second_start():
    require_unconfigured_machine()
    with folder() as here:
        with Placet(here) as placet:
            placet.rest.must("POST", "/resource_providers", {"name": "kept", "uuid": HOST})
            traits = placet.rest("GET", "/traits").json
            placet.stop()
        with Placet(here) as placet:
            equal(placet.rest("GET", f"/resource_providers/{HOST}").json["name"], "kept")
            equal(placet.rest("GET", "/traits").json, traits)
            placet.stop()
        others = {p.name for p in here.iterdir()} - {"out", "log"}
        check(all(name.startswith("placet.sqlite") for name in others), "left behind:", others)


@case("an address in use is refused in one line that names it")
def an_address_in_use():
    with folder() as here, socket.create_server(("127.0.0.1", 0)) as taken:
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        check(address in refused(here, "--bind", address, is_mistake=False), "it does not name", address)


@case("a database file that cannot be made is refused in one line that names it")
def a_folder_instead_of_a_file():
    require_unconfigured_machine()
    with folder() as here:
        (here / "placet.sqlite").mkdir()
        line = refused(here, "--bind", "127.0.0.1:0")
        check("placet.sqlite" in line, line)


@case("placet keeps serving after the reader of its log has gone")
def a_closed_terminal():
    reader, writer = os.pipe()
    with folder() as here, Placet(here, {}, stderr=writer) as placet:
        os.close(writer)
        os.close(reader)
        for _ in range(5):
            placet.alive()
        placet.stop()
