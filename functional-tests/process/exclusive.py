"""An embedded database belongs to one serving process."""

import contextlib
import os
import shlex
import sqlite3
import subprocess

from functional_tests.lib import live
from functional_tests.lib.patience import HANG_SECONDS, eventually
from functional_tests.process.cases import Skip, case, check, equal, folder
from functional_tests.process.configuration import names
from functional_tests.process.placet_process import Placet, binary, environment, refused, run

PROVIDERS = 20


def database_option(path):
    return {"OS_PLACEMENT_DATABASE__CONNECTION": f"sqlite:///{path}"}


def is_refused_under(name, here):
    line = refused(here, "--config-file", here / "placement.conf", "--bind", "127.0.0.1:0", extra=database_option(name),
                   is_mistake=False)
    names(line, "another placet", str(name.resolve()))


@case("a second placet on the same file is refused in one line, and the first one keeps serving")
def a_second_one():
    with folder() as here, Placet(here, {}) as first:
        is_refused_under(first.database, here)
        first.alive()
        first.rest.must("POST", "/resource_providers", {"name": "still"})


@case("a second placet is also refused if it opens the same file by a symbolic link")
def an_alias():
    with folder() as here, Placet(here, {}) as first:
        (here / "alias.sqlite").symlink_to(first.database)
        is_refused_under(here / "alias.sqlite", here)
        first.alive()


def keeps_every_row(placet):
    """Writes beside another program that writes, and stops. Every row of both is in the file, which is whole."""
    with contextlib.closing(sqlite3.connect(placet.database, isolation_level=None, timeout=HANG_SECONDS)) as other:
        for number in range(PROVIDERS):
            placet.rest.must("POST", "/resource_providers", {"name": f"provider {number}"})
            other.execute("INSERT INTO traits (name) VALUES (?)", [f"CUSTOM_{number}"])
    placet.stop()
    with contextlib.closing(sqlite3.connect(placet.database)) as file:
        equal(file.execute("SELECT COUNT(*) FROM resource_providers").fetchone()[0], PROVIDERS)
        equal(file.execute("SELECT COUNT(*) FROM traits WHERE name LIKE 'CUSTOM_%'").fetchone()[0], PROVIDERS)
        equal(file.execute("PRAGMA integrity_check").fetchone()[0], "ok")


@case("hostile_05: a second placet is refused if it opens the same file by a hard link, and by a command too")
def a_hard_link():
    with folder() as here, folder() as elsewhere, Placet(here, {}) as first:
        link = elsewhere / "link.sqlite"
        os.link(first.database, link)
        is_refused_under(link, here)
        backup, other = here / "backup.sqlite", here / "other.sqlite"
        equal(run(here, "db", "backup", backup, extra=database_option(first.database)).code, 0)
        names(refused(here, "db", "restore", backup, extra=database_option(link)), "another placet")
        names(refused(here, "db", "restore", link, extra=database_option(other)), "placet serves it")
        keeps_every_row(first)


@case("hostile_05: a second placet is refused if it opens the same file by a bind mount, as a second container does")
def a_bind_mount():
    with folder() as here, folder() as elsewhere, Placet(here, {}) as first:
        target = elsewhere / "bound.sqlite"
        target.touch()
        mount = f"mount --bind {shlex.quote(str(first.database))} {shlex.quote(str(target))}"
        unshared = ["unshare", "--mount", "sh", "-c"]
        if subprocess.run([*unshared, mount], check=False, capture_output=True, timeout=HANG_SECONDS).returncode:
            raise Skip("a bind mount in a namespace of its own needs root")
        start = f'{mount} && exec "$0" "$@"'
        command = [*unshared, start, binary(), "--config-file", str(here / "placement.conf"), "--bind", "127.0.0.1:0"]
        second = subprocess.run(command, check=False, capture_output=True, text=True, timeout=HANG_SECONDS, cwd=here,
                                env=environment(here, database_option(target)), stdin=subprocess.DEVNULL)
        equal(second.returncode, 1, second)
        names(second.stderr, "another placet", str(target))
        keeps_every_row(first)


@case("hostile_05: a placet whose lock file was removed is still the only one, and keeps every row")
def a_removed_lock_file():
    with folder() as here, Placet(here, {}) as first:
        (here / "placet.sqlite-placet-lock").unlink()
        for _ in range(2):
            is_refused_under(first.database, here)
        keeps_every_row(first)


@case("hostile_05: after a SIGKILL the file is served under its other name, once its log is there")
def another_name_after_a_kill():
    with folder() as here, folder() as elsewhere:
        with Placet(here, {}) as first:
            first.rest.must("POST", "/resource_providers", {"name": "kept"})
            os.link(first.database, elsewhere / "placet.sqlite")
            first.kill()
        (here / "placet.sqlite-wal").rename(elsewhere / "placet.sqlite-wal")
        with Placet(elsewhere, {}) as second:
            equal([each["name"] for each in second.rest("GET", "/resource_providers").json["resource_providers"]], ["kept"])
            is_refused_under(first.database, here)
            second.stop()


@case("once a placet has ended, by SIGTERM or by SIGKILL, the next one serves immediately")
def one_after_another():
    with folder() as here:
        for number, end in enumerate([Placet.stop, Placet.kill, Placet.kill, Placet.stop]):
            with Placet(here, {}) as placet:
                placet.alive()
                placet.rest.must("POST", "/resource_providers", {"name": f"of start {number}"})
                end(placet)
        connection = sqlite3.connect(placet.database)
        equal(connection.execute("SELECT COUNT(*) FROM resource_providers").fetchone()[0], 4)
        connection.close()


@case("`db version`, `db sync` and `config show` work while a placet serves")
def commands_beside():
    with folder() as here, Placet(here, {}) as placet:
        expected = {("db", "version"): "placet", ("db", "sync"): "nothing to do", ("config", "show"): "[api]"}
        for arguments, word in expected.items():
            ended = run(here, "--config-file", here / "placement.conf", *arguments)
            equal(ended.code, 0, ended)
            names(ended.out, word)
        placet.alive()


@case("of four processes that start simultaneously without a database, one serves and the others are refused")
def a_race():
    with folder() as here:
        path = live.write_config(here, {}, here / "placet.sqlite")
        command = [binary(), "--config-file", str(path), "--bind", "127.0.0.1:0"]
        started = [subprocess.Popen(command, cwd=here, env=environment(here), stdin=subprocess.DEVNULL,
                                    stdout=subprocess.PIPE, stderr=subprocess.PIPE) for _ in range(4)]
        try:
            eventually("all but one end", lambda: sum(p.poll() is None for p in started) <= 1)
            serving = [p for p in started if p.poll() is None]
            equal(len(serving), 1, "serving processes")
            for process in started:
                if process not in serving:
                    equal(process.returncode, 1)
                    names(process.stderr.read().decode(), "another placet")
            check(b"listens on" in serving[0].stdout.readline(), "no greeting")
        finally:
            for process in started:
                if process.poll() is None:
                    process.kill()
                process.communicate(timeout=HANG_SECONDS)
