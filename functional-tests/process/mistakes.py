"""Typing mistakes in the configuration: `config check`, the warnings of a start, and variables that would be
dangerous.
"""

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
              "role:NAME", "placement:usagess", "note: policy: placet:workloads:show follows placement:usages",
              "0 errors, 5 warnings, 7 notes\n")
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
              "workers = four", "queue_size = 0: must be between 1 and", "max_allocation_candidates = many", "5 errors",
              "note: files, addresses, TLS, tokens, the log and the policy are checked once every value fits")
        path = conf(here, SERVABLE.format(here=here) + f"[oslo_policy]\npolicy_file = {here}/pol.yaml\n"
                    "[placet]\nbind = 0.0.0.0:1\nslave_routes = GET /nothing\n")
        names(checked(here, path, code=2), "asks a policy server", "0.0.0.0:1")


@case("a start with several mistakes names one of them, the number of others, and the command that shows them all")
def several_mistakes():
    with folder() as here:
        path = conf(here, "[placet]\nworkers = four\nbnid = x\nqueue_size = 0\n")
        line = refused(here, "--config-file", path)
        names(line, "bnid", f"`{binary()} --config-file {path} config check` shows this and 2 more errors")
        path = conf(here, "[placet]\nbind = 127.0.0.1:0\n[placement_database]\nslave_connection = x\n")
        names(refused(here, "--config-file", path), "auth_url", "config check` shows this and 2 more errors")
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


KEYSTONE = ("[keystone_authtoken]\nauth_url = http://127.0.0.1:1\nauth_type = password\nusername = u\npassword = p\n"
            "user_domain_name = Default\nproject_name = service\nproject_domain_name = Default\n")


@case("`config check` finds whatever a start refuses, and makes no file")
def the_same_refusals():
    with folder() as here:
        (here / "empty").touch()
        (here / "text.pem").write_text("no certificate\n")
        noauth2 = "[placet]\nbind = 127.0.0.1:0\n[api]\nauth_strategy = noauth2\n"
        database = f"[placement_database]\nconnection = sqlite:///{here}/placet.sqlite\nsync_on_startup = true\n"
        served, keystone = noauth2 + database, database + KEYSTONE
        for text, *words in [
            (keystone + f"cafile = {here}/none.pem\n", f"[keystone_authtoken] cafile = {here}/none.pem", "No such file"),
            (keystone + f"cafile = {here}/text.pem\n", f"[keystone_authtoken] cafile = {here}/text.pem"),
            (keystone + f"certfile = {here}/none.pem\n", f"certfile = {here}/none.pem", "No such file"),
            (keystone + f"certfile = {here}/text.pem\nkeyfile = {here}/none.key\n", f"keyfile = {here}/none.key"),
            (served + f"[DEFAULT]\nlog_file = {here}/none/x.log\n", f"cannot write the log to {here}/none/x.log"),
            (served + f"[DEFAULT]\nlog_file = {here}\n", f"cannot write the log to {here}: "),
            (served + f"[DEFAULT]\nlog_dir = {here}/none\n", f"cannot write the log to {here}/none/placet.log"),
            (noauth2 + "[placement_database]\nconnection = postgrsql://u:hunter2@h/d\n", "'postgrsql:…'"),
            (noauth2 + "[placement_database]\nconnection = sqlite://\n", "memory"),
            (served.replace("/placet.sqlite", "/none/placet.sqlite"), f"{here}/none/placet.sqlite", "make its directory"),
            (served.replace("/placet.sqlite", ""), str(here)),
            (served.replace("sync_on_startup = true", ""), "db sync`"),
            (served + f"[placet]\nmetrics_token_file = {here}/none\n", f"metrics_token_file = {here}/none: No such file"),
            (served + f"[placet]\nmetrics_token_file = {here}/empty\n", f"metrics_token_file = {here}/empty: it is empty"),
            (served + "[placet]\nbind = 127.0.0.1:18778\nmetrics_bind = 0.0.0.0:18778\n", "are the same"),
            (served + "[placet]\nmetrics_bind = 192.0.2.1:1\n", "cannot serve on 192.0.2.1:1"),
            (served + "[placet]\nbind = 192.0.2.1:1\nallow_noauth2_anywhere = true\n", "cannot serve on 192.0.2.1:1"),
            (served + "[placet]\nslave_routes = GET /usages\n", "slave_connection is not set"),
            (served + "slave_connection = x\n[placet]\nslave_routes = GET /usages\n", "'x'"),
            (served + "slave_connection = x\n[placet]\nslave_routes = GET /none\n", "GET /none"),
            (served + "[oslo_policy]\npolicy_file = text.pem\n", "text.pem"),
        ]:
            # `refused` demands the same sentence of `config check`.
            line = refused(here, "--config-file", conf(here, text))
            names(line, *words)
            check("hunter2" not in line, line)
        equal(sorted(each.name for each in here.iterdir()), ["empty", "placement.conf", "text.pem"], "files that were made")
        # A log that can be made is no error, and is not made.
        path = conf(here, served + f"[DEFAULT]\nlog_file = {here}/new.log\n")
        equal(checked(here, path, code=0), "0 errors, 0 warnings, 0 notes\n")
        check(not (here / "new.log").exists(), "a check has made the log")


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
