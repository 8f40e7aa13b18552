"""Typing mistakes in the configuration: `config check`, the warnings of a start, and variables that would be dangerous."""

from functional_tests.lib import live
from functional_tests.lib.root import ROOT
from functional_tests.process.cases import case, check, equal, folder
from functional_tests.process.configuration import SERVABLE, conf, names
from functional_tests.process.first_run import require_unconfigured_machine
from functional_tests.process.placet_process import Placet, binary, refused, run


def checked(here, path, *arguments, code, extra=None):
    """The output of `config check`, which must end with `code`."""
    done = run(here, "--config-file", path, "config", "check", *arguments, extra=extra)
    equal(done.code, code, done)
    equal(done.err, "")
    return done.out


@case("`config check` exits with 0 and one line if nothing is wrong, and prints options that are not used as notes")
def nothing_wrong():
    with folder() as here:
        path = conf(here, SERVABLE.format(here=here))
        equal(checked(here, path, code=0), "0 errors, 0 warnings, 0 notes\n")
        path = conf(here, SERVABLE.format(here=here) + "[DEFAULT]\nuse_json = true\n")
        names(checked(here, path, code=0), "note: [DEFAULT] use_json: ", "0 errors, 0 warnings, 1 note\n")
        equal(sorted(each.name for each in here.iterdir()), ["placement.conf"], "files that a check made")


@case("`config check` exits with 1 if placet starts but something is unknown, in files, variables and policy files")
def warnings_alone():
    with folder() as here:
        (here / "pol.yaml").write_text('"placement:usages": "rol:reader"\n"placement:usagess": "@"\n')
        (here / "tokens").touch(0o600)
        path = conf(here, SERVABLE.format(here=here) + f"[oslo_policy]\npolicy_file = {here}/pol.yaml\n"
                    f"[placet]\ntoken_file = {here}/tokens\n[placement]\nmax_alloc = 3\n[foo]\nbar = 1\nx = 2\n")
        out = checked(here, path, code=1, extra={"OS_PLACEMENT_DATABSE__CONNECTION": "sqlite:////x/secret"})
        names(out, "warning: [placement] max_alloc is not an option", f"(from {path}:", "warning: [foo] is no section",
              "OS_PLACEMENT_DATABSE__CONNECTION", "did you mean OS_PLACEMENT_DATABASE__CONNECTION?", "rol:reader",
              "role:NAME", "placement:usagess", "0 errors, 5 warnings, 0 notes\n")
        check("secret" not in out, out)
        equal(run(here, "--config-file", path, "db", "sync").code, 0)
        with Placet(here, arguments=["--config-file", path]) as placet:
            placet.stop()
            warned = [line for line in placet.log().splitlines() if " WARN " in line]
            equal(len([line for line in warned if "[placement]" in line]), 1, warned)
            names("\n".join(warned), "max_alloc is not an option", "[foo] is no section",
                  f"`{binary()} --config-file {path} config check`")


@case("`config check` exits with 2 and reports every error at once")
def all_errors():
    with folder() as here:
        (here / "pol.yaml").write_text('"placement:usages": "http://policy/x"\n')
        path = conf(here, "[placet]\nworkers = four\nqueue_size = 0\nbnid = x\nnonsense\n[placement]\n"
                    f"max_allocation_candidates = many\n[oslo_policy]\npolicy_file = {here}/pol.yaml\n")
        names(checked(here, path, code=2), f"error: {path}:5: ", "bnid is not an option of placet; did you mean bind?",
              "workers = four", "queue_size = 0: must be between 1 and", "max_allocation_candidates = many", "5 errors")
        path = conf(here, SERVABLE.format(here=here) + f"[oslo_policy]\npolicy_file = {here}/pol.yaml\n"
                    "[placet]\nbind = 0.0.0.0:1\nslave_routes = GET /nothing\n")
        names(checked(here, path, code=2), "asks a policy server", "0.0.0.0:1")


@case("a start with several mistakes names one of them, the number of others, and the command that shows them all")
def several_mistakes():
    with folder() as here:
        path = conf(here, "[placet]\nworkers = four\nbnid = x\nqueue_size = 0\n")
        line = refused(here, "--config-file", path)
        names(line, "bnid", f"`{binary()} --config-file {path} config check` shows this and 2 more errors")
        path = conf(here, "[placement_database]\nslave_connection = x\n")
        names(refused(here, "--config-file", path), "auth_url", "config check` shows this and 1 more error")
        path = conf(here, SERVABLE.format(here=here) + "[placet]\nworkers = four\n")
        for line in refused(here, "--config-file", path), refused(here, "--config-file", here / "none.conf"):
            check("config check" not in line, line)


@case("`config show` of a configuration that cannot start shows it, says why, and exits with 2")
def shown_but_unusable():
    with folder() as here:
        path = conf(here, "[placet]\nworkers = 3\n[api]\nauth_strategy = keystone\n")
        shown = run(here, "--config-file", path, "config", "show")
        equal(shown.code, 2, shown)
        names(shown.out, "workers = 3\n", "auth_strategy = keystone\n")
        names(shown.err, "ERROR auth_strategy = keystone: [keystone_authtoken]", "ERROR [placement_database] connection")
        path = conf(here, SERVABLE.format(here=here))
        equal(run(here, "--config-file", path, "config", "show").code, 0)
        path = conf(here, "[placet]\nworkers = four\n")
        equal(run(here, "--config-file", path, "config", "show").code, 1)


@case("a database in a directory that does not exist is refused with what to do")
def no_directory():
    with folder() as here:
        path = conf(here, SERVABLE.format(here=here / "none") + "sync_on_startup = true\n")
        names(refused(here, "--config-file", path), f"{here}/none/placet.sqlite", "make its directory")


@case("`config check --database` connects once, says what the tables lack, and makes no file")
def database():
    with folder() as here:
        path = conf(here, SERVABLE.format(here=here))
        names(checked(here, path, "--database", code=2), f"there is no database at {here}/placet.sqlite",
              f"`{binary()} --config-file {path} db sync`")
        equal([each.name for each in here.iterdir()], [path.name])
        equal(run(here, "--config-file", path, "db", "sync").code, 0)
        equal(checked(here, path, "--database", code=0), "0 errors, 0 warnings, 0 notes\n")
        path = conf(here, "[api]\nauth_strategy = noauth2\n[placement_database]\n"
                    "connection = postgresql://u:hunter2@127.0.0.1:1/p\n")
        out = checked(here, path, "--database", code=2)
        names(out, "error: ")
        check("hunter2" not in out, out)


@case("a mistyped OS_ variable never starts an empty cloud without authentication, and makes no file")
def mistyped_variables():
    require_unconfigured_machine()
    with folder() as here:
        for name in ("OS_PLACEMENT_DATABSE__CONNECTION", "OS_PLACEMENT_DATABASE_CONNECTION", "OS_PLACEMENT_CONFIGDIR",
                     "OS_KEYSTONE_AUTHTOKE__PASSWORD", "OS_FOO__BAR"):
            for command in (["--bind", "127.0.0.1:0"], ["db", "sync"]):
                names(refused(here, *command, extra={name: "hunter2"}), name, "unset the variable")
            check("hunter2" not in refused(here, "--bind", "127.0.0.1:0", extra={name: "hunter2"}), name)
        equal(list(here.iterdir()), [])
        # Beside a configuration a name that no option resembles is a warning, because it may be another program's.
        path = live.write_config(here, {}, here / "placet.sqlite")
        with Placet(here, arguments=["--config-file", path], extra={"OS_FOO__BAR": "hunter2"}) as placet:
            placet.stop()
            names(placet.log(), "OS_FOO__BAR")
            check("hunter2" not in placet.log(), placet.log())


@case("a mistyped OS_ variable beside a file with noauth2 refuses the start, the packaged files' too, and names the one meant")
def mistyped_beside_a_file():
    with folder() as here:
        typed = {"OS_PLACEMENT_DATABSE__CONNECTION": "OS_PLACEMENT_DATABASE__CONNECTION",
                 "OS_PLACEMENT_DATABASE__CONECTION": "OS_PLACEMENT_DATABASE__CONNECTION",
                 "OS_APPI__AUTH_STRATEGY": "OS_API__AUTH_STRATEGY"}
        files = [ROOT / "contrib" / "container" / "placement.conf", ROOT / "contrib" / "debian" / "placement.conf",
                 conf(here, SERVABLE.format(here=here) + "sync_on_startup = true\n")]
        for path in files:
            for name, meant in typed.items():
                extra = {name: "postgresql://u:hunter2@127.0.0.1:1/p"}
                for command in (["--bind", "127.0.0.1:0"], ["db", "sync"]):
                    line = refused(here, "--config-file", path, *command, extra=extra)
                    names(line, name, f"did you mean {meant}?", "correct the name", "unset the variable")
                    check("hunter2" not in line, line)
                names(checked(here, path, code=2, extra=extra), f"error: the environment variable {name}")
        equal([each.name for each in here.iterdir()], ["placement.conf"], "files that a refused start made")
        # Spelled as meant they are used, and variables of clients are ignored.
        extra = {"OS_PLACEMENT_DATABASE__CONNECTION": f"sqlite:///{here}/placet.sqlite", "OS_AUTH_URL": "http://127.0.0.1:1/v3"}
        for path in files:
            with Placet(here, arguments=["--config-file", path], extra=extra) as placet:
                placet.alive()
                names(placet.greeting(), f"{here}/placet.sqlite")


@case("a mistyped OS_ variable is a warning if a file of tokens is set: then nothing is open")
def mistyped_with_tokens():
    with folder() as here:
        (here / "tokens").touch(0o600)
        path = live.write_config(here, {"placet": {"token_file": str(here / "tokens")}}, here / "placet.sqlite")
        with Placet(here, arguments=["--config-file", path], extra={"OS_PLACEMENT_DATABSE__CONNECTION": "hunter2"}) as placet:
            placet.stop()
            names(placet.log(), "OS_PLACEMENT_DATABSE__CONNECTION")
            check("hunter2" not in placet.log(), placet.log())


@case("a mistake in RUST_LOG is reported, and the log goes on at info")
def rust_log():
    for asked in ("nonsense=foo", "inof", "placet=dbug", "other_crate=debug"):
        with folder() as here, Placet(here, {}, extra={"RUST_LOG": asked}) as placet:
            placet.alive()
            placet.stop()
            warned = [line for line in placet.log().splitlines() if "RUST_LOG=" in line]
            equal(len(warned), 1, placet.log())
            names(warned[0], " WARN ", asked)
            names(placet.log(), "placet::access", "serving on")
