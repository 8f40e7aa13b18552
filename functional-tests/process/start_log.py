"""The log of a start: what starts, why a start fails, and a start whose stderr cannot be written."""

import os
import subprocess

from functional_tests.lib import live
from functional_tests.lib.patience import HANG_SECONDS
from functional_tests.process.cases import case, check, equal, folder
from functional_tests.process.placet_process import Placet, binary, environment, run

SECRET = "hidden-word"


def configured(here, options, connection=None):
    """The command line of a service that logs to a file of the folder, and the file."""
    config = live.write_config(here, {"DEFAULT": {"log_file": str(here / "placet.log")}, **options}, here / "placet.sqlite")
    extra = {"OS_PLACEMENT_DATABASE__CONNECTION": connection} if connection else {}
    return ["--config-file", str(config), "--bind", "127.0.0.1:0"], extra, here / "placet.log"


def fails_in_both(here, words, options, connection=None):
    """A start fails, and stderr and the log give the same reason."""
    arguments, extra, log = configured(here, options, connection)
    ended = run(here, *arguments, extra=extra)
    equal(ended.code, 1, ended)
    reason = ended.line.removeprefix("placet: ")
    check(words in reason, reason)
    errors = [line for line in log.read_text().splitlines() if " ERROR " in line]
    equal(len(errors), 1, "errors in the log", log.read_text())
    check(errors[0].endswith(f"] {reason}"), "the log has", errors[0], "and stderr", reason)
    check(SECRET not in log.read_text(), "the log has a password")


@case("found_n8_failed_start: the reason is on stderr and in the log")
def failed_start():
    # Without a server, without tables, with values that do not fit, with a name that is unknown, on an address in use.
    with folder() as here:
        database = f"postgresql://placet:{SECRET}@127.0.0.1:1/placet"
        fails_in_both(here, "cannot open the database", {"placement_database": {"max_retries": "0"}}, database)
    with folder() as here:
        fails_in_both(here, "there is no database", {"placement_database": {"sync_on_startup": "false"}})
    with folder() as here:
        fails_in_both(here, "max_body_size", {"placet": {"max_body_size": "many"}})
    with folder() as here:
        fails_in_both(here, "max_bodysize", {"placet": {"max_bodysize": "1"}})
    with folder() as here:
        fails_in_both(here, "auth_url is not set", {"api": {"auth_strategy": "keystone"}})
    with folder() as here, folder() as other, Placet(other, {}) as placet:
        fails_in_both(here, "Address already in use", {"placet": {"metrics_bind": f"127.0.0.1:{placet.port}"}})


@case("found_n8_first_lines: the first lines of the log say the version, what is built in, the database and auth_strategy")
def first_lines():
    with folder() as here:
        arguments, extra, log = configured(here, {})
        version, built_in, commit = run(here, "--version").out.splitlines()
        with Placet(here, arguments=arguments, bind=None, extra=extra) as placet:
            placet.stop()
        first, second = log.read_text().splitlines()[:2]
        for part in (version, built_in, commit):
            check(part in first, repr(part), "is not in", first)
        for part in (str(here / "placet.sqlite"), "auth_strategy: noauth2"):
            check(part in second, repr(part), "is not in", second)
        equal(placet.log(), "", "stderr of a service with a log file")


@case("found_n8_stderr: with stderr on a full disk, closed, or a closed pipe, commands end with their codes and serve")
def unwritable_stderr():
    with folder() as here, open("/dev/full", "wb") as full:
        reader, closed_pipe = os.pipe()
        os.close(reader)
        warned = live.write_config(here, {"api": {"unknown_option": "1"}}, here / "missing.sqlite")
        mistake = {"OS_PLACET__MAX_BODY_SIZE": "many"}
        for stream in ({"stderr": full}, {"stderr": closed_pipe}, {"preexec_fn": lambda: os.close(2)}):
            def code(*arguments, extra=None):
                done = subprocess.run(
                    [binary(), *arguments], cwd=here, env=environment(here, extra), timeout=HANG_SECONDS, check=False,
                    stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, **stream)
                return done.returncode

            equal(code(extra=mistake), 1, f"a start with a mistake and {stream}")
            equal(code("--config-file", str(warned), "config", "show"), 0, f"config show with {stream}")
            equal(code("--config-file", str(warned), "db", "version"), 0, f"db version with {stream}")
            equal(code("status", "upgrade", "check", extra=mistake), 1, f"upgrade check with {stream}")
            with Placet(here, {}, **stream) as placet:
                equal(placet.rest("GET", "/resource_providers").status, 200)
                placet.stop()
        os.close(closed_pipe)
