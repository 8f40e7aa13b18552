"""An embedded database belongs to one serving process."""

import sqlite3
import subprocess

from functional_tests.lib import live
from functional_tests.lib.patience import HANG_SECONDS, eventually
from functional_tests.process.cases import case, check, equal, folder
from functional_tests.process.configuration import names
from functional_tests.process.placet_process import Placet, binary, environment, refused, run


@case("a second placet on the same file is refused in one line, and the first one keeps serving")
def a_second_one():
    with folder() as here, Placet(here, {}) as first:
        line = refused(here, "--config-file", here / "placement.conf", "--bind", "127.0.0.1:0", is_mistake=False)
        names(line, "another placet", "placet.sqlite")
        first.alive()
        first.rest.must("POST", "/resource_providers", {"name": "still"})


@case("a second placet is also refused if it opens the same file by a symbolic link")
def an_alias():
    with folder() as here, Placet(here, {}) as first:
        (here / "alias.sqlite").symlink_to(first.database)
        extra = {"OS_PLACEMENT_DATABASE__CONNECTION": f"sqlite:///{here}/alias.sqlite"}
        line = refused(here, "--config-file", here / "placement.conf", "--bind", "127.0.0.1:0", extra=extra,
                       is_mistake=False)
        names(line, "another placet")
        first.alive()


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
