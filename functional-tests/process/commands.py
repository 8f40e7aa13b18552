"""The subcommands `db sync`, `db version`, `config show` and `config options`, and their help."""

import os
import re
import subprocess

from functional_tests.lib import live
from functional_tests.lib.patience import HANG_SECONDS
from functional_tests.process.cases import case, check, equal, folder
from functional_tests.process.configuration import conf, names
from functional_tests.process.placet_process import Placet, binary, environment, refused, run

HEAD = "a082b8bb98d0"


def unsynced(here):
    """A configuration whose database does not exist."""
    options = {"placement_database": {"sync_on_startup": "false"}, "placet": {"bind": "127.0.0.1:0"}}
    return live.write_config(here, options, here / "placet.sqlite")


@case("a start on a configured database that does not exist is refused with a command that mends it as it is pasted")
def not_synced():
    with folder() as here:
        path = unsynced(here)
        wanted = f"`{binary()} --config-file {path} db sync`"
        for at in (here, here.parent):
            relative = os.path.relpath(path, at)
            line = refused(at, "--config-file", relative, "--bind", "127.0.0.1:0")
            names(line, wanted, f"there is no database at {here}/placet.sqlite")
        equal([each.name for each in here.iterdir()], [path.name], "files that a refused start made")
        (here / "placet.sqlite").touch()
        names(refused(here, "--config-file", path, "--bind", "127.0.0.1:0"), wanted)
        pasted = subprocess.run(
            re.search("`(.*?)`", line)[1], shell=True, cwd="/", env=environment(here), capture_output=True, text=True,
            timeout=HANG_SECONDS, check=False)
        equal(pasted.returncode, 0, pasted)
        names(pasted.stdout, f"{here}/placet.sqlite: ", "created")
        with Placet(here, arguments=["--config-file", path]) as placet:
            placet.alive()


@case("`db sync` makes the database and says so, a second one finds nothing to do, and placet serves it")
def db_sync():
    with folder() as here:
        path = unsynced(here)
        first, second = (run(here, "--config-file", path, "db", "sync") for _ in range(2))
        equal((first.code, second.code), (0, 0), first, second)
        names(first.out, "created")
        names(second.out, "nothing to do")
        with Placet(here, arguments=["--config-file", path]) as placet:
            placet.alive()
            check("created and upgraded" not in placet.greeting(), placet.greeting())


@case("`db sync` needs neither an auth strategy nor any other configuration")
def db_sync_alone():
    with folder() as here:
        path = conf(here, f"[placement_database]\nconnection = sqlite:///{here}/other.sqlite\n")
        equal(run(here, "db", "sync", "--config-file", path).code, 0)
        equal(run(here, "db", "sync").code, 0)
        check((here / "other.sqlite").exists() and (here / "placet.sqlite").exists(), "no file")


@case("sync_on_startup makes the database at start")
def sync_on_startup():
    with folder() as here, Placet(here, {"placement_database": {"sync_on_startup": "true"}}) as placet:
        placet.alive()
        check(placet.database.exists(), "no file")


@case("`db version` prints both schema revisions, or None if there is no database, and makes no file")
def db_version():
    with folder() as here:
        before = run(here, "db", "version")
        equal((before.code, before.out), (0, "None\nplacet None\n"), before)
        names(before.err, f"placet: there is no database at {here}/placet.sqlite: run `")
        equal(list(here.iterdir()), [])
        equal(run(here, "db", "sync").code, 0)
        after = run(here, "db", "version")
        equal(after.code, 0, after)
        check(re.fullmatch(HEAD + r"\nplacet \d\S*\n", after.out), after)


@case("a file that is not a database is refused and stays the same, byte for byte")
def foreign_file():
    with folder() as here:
        path = unsynced(here)
        (here / "placet.sqlite").write_bytes(b"This is a letter to my grandmother. " * 100)
        letter = (here / "placet.sqlite").read_bytes()
        for arguments in (["db", "sync"], ["db", "version"], ["serve", "--bind", "127.0.0.1:0"]):
            names(refused(here, "--config-file", path, *arguments), "placet")
        equal((here / "placet.sqlite").read_bytes(), letter)


@case("`config show` prints the whole effective configuration, in a form that placet reads")
def config_show():
    with folder() as here:
        shown = run(here, "config", "show")
        equal(shown.code, 0, shown)
        for line in ("[api]", "auth_strategy = noauth2", "bind = 127.0.0.1:8778", "max_body_size = 33554432",
                     "connection = sqlite:///placet.sqlite"):
            check(line in shown.out.splitlines(), repr(line), "is not in:", shown.out)
        again = run(here, "--config-file", conf(here, shown.out), "config", "show")
        plain = [[x for x in s.out.splitlines() if not x.startswith("#")] for s in (shown, again)]
        equal(plain[1], plain[0])


@case("`config options` reads no configuration, and its sample, when uncommented, sets the defaults")
def config_options():
    with folder() as here:
        broken = conf(here, "[placet\n")
        sample = run(here, "--config-file", broken, "config", "options")
        equal((sample.code, sample.err), (0, ""), sample)
        for line in ("[api]", "#auth_strategy = keystone", "[placet]", "#commit_timeout = 10"):
            check(line in sample.out.splitlines(), repr(line), "is not in:", sample.out)
        uncommented = re.sub(r"(?m)^#(?=\S+ = .)", "", sample.out)
        shown = [run(here, "--config-file", conf(here, text), "config", "show").out for text in ("", uncommented)]
        equal(*[[line for line in text.splitlines() if not line.startswith("#")] for text in shown])
        table = run(here, "config", "options", "placet", "--format", "markdown").out
        names(table, "### [placet]", "| `commit_timeout` | `10` | 1 to 600 seconds |")
        check("### [api]" not in table, table)
        ended = run(here, "config", "options", "nova")
        equal(ended.code, 2, ended)
        names(ended.err, "placement_database")


@case("`config show` and a start with log_options show no secret")
def secrets():
    url = "postgresql+psycopg2://placet:hunter2@db/placement?password=hunter3"
    with folder() as here:
        path = conf(here, f"[api]\nauth_strategy = noauth2\n[placement_database]\nconnection = {url}\n"
                          f"slave_connection = {url}\n[keystone_authtoken]\npassword = hunter4\nmemcache_secret_key = hunter5\n")
        shown = run(here, "--config-file", path, "config", "show")
        equal(shown.code, 0, shown)
        check("hunter" not in shown.out + shown.err, shown)
        names(shown.out, "postgresql+psycopg2://placet:***@db/placement")
        options = {"DEFAULT": {"debug": "true", "log_options": "true"}, "keystone_authtoken": {"password": "hunter6"}}
        with Placet(here, options) as placet:
            placet.stop()
            names(placet.log(), "auth_strategy = noauth2")
            check("hunter6" not in placet.log(), placet.log())


@case("an option that placet does not use is accepted with one warning that says what replaces it")
def unused_options():
    with folder() as here, Placet(here, {"DEFAULT": {"use_syslog": "true"}}) as placet:
        placet.stop()
        warned = [line for line in placet.log().splitlines() if "use_syslog" in line]
        equal(len(warned), 1, placet.log())
        names(warned[0], " WARN ", "not used")


@case("--help of every command exits with 0 and explains the usage")
def helps():
    with folder() as here:
        for arguments in ([], ["serve"], ["db"], ["db", "sync"], ["db", "version"], ["config"], ["config", "show"],
                          ["config", "check"], ["config", "options"]):
            for flag in ("--help", "-h"):
                output = run(here, *arguments, flag)
                equal((output.code, output.err), (0, ""), arguments)
                names(output.out, "Usage: placet " + " ".join(arguments))
        output = run(here, "--help").out
        names(output, "placement.conf", "OS_PLACEMENT_CONFIG_DIR", "OS_<SECTION>__<OPTION>", "--config-file",
              "[placet]", "RUST_LOG", "Examples:", "db sync", "curl", "8778", "Exit codes")
        version = run(here, "--version").out
        check(re.fullmatch(
            r"placet \d+\.\d+\.\d+\ndatabases: SQLite 3\.\d+\.\d+, .*PostgreSQL.*MariaDB.*\n(.*\n)*commit: .+\n", version), version)
        equal(list(here.iterdir()), [], "files that --help made")


@case("a command whose output cannot be written says so and fails, and one whose reader has gone ends quietly")
def unwritten_output():
    with folder() as here:
        path = unsynced(here)
        tokens = here / "tokens"
        create = ["token", "create", "--file", tokens, "--user", "u", "--project", "p", "--role", "r", "--expires", "1d"]
        commands = [["--version"], ["config", "check"], ["config", "show"], ["config", "options"], ["policy", "list"],
                    ["openapi"], ["completions", "bash"], ["db", "sync"], ["db", "version"], create]
        closed, pipe = os.pipe()
        os.close(closed)
        with open("/dev/full", "w") as full, os.fdopen(pipe, "w") as gone:
            for command in commands:
                for out, code in ((full, 1), (gone, 1 if command is create else 0)):
                    ended = subprocess.run(
                        [binary(), "--config-file", path, *map(str, command)], cwd=here, env=environment(here), stdout=out,
                        stderr=subprocess.PIPE, text=True, timeout=HANG_SECONDS, check=False)
                    equal(ended.returncode, code, command, ended.stderr)
                    equal("cannot write to stdout" in ended.stderr, code == 1, command, ended.stderr)
        listed = run(here, "token", "list", "--file", tokens)
        equal((listed.code, len(listed.out.splitlines())), (0, 4), "a token that was not shown was kept", listed.out)


@case("an invalid command line exits with 2 and names what is valid")
def bad_arguments():
    with folder() as here:
        for line, word in [("sreve", "serve"), ("db", "sync"), ("--bnid x", "--bind"), ("db x", "help")]:
            ended = run(here, *line.split())
            equal(ended.code, 2, ended)
            names(ended.err, word)
