"""The sources of configuration, and the refusal of an invalid configuration: in one line, before a file is made."""

from functional_tests.process.cases import case, check, equal, folder
from functional_tests.process.first_run import require_unconfigured_machine
from functional_tests.process.placet_process import Placet, refused, run

NOAUTH = {"OS_API__AUTH_STRATEGY": "noauth2"}
# On a free port: the usual one may be another case's.
SERVABLE = ("[placet]\nbind = 127.0.0.1:0\n[api]\nauth_strategy = noauth2\n"
            "[placement_database]\nconnection = sqlite:///{here}/placet.sqlite\n")


def conf(here, text, name="placement.conf"):
    path = here / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(text)
    return path


def names(line, *words):
    for word in words:
        check(word in line, repr(word), "is not in:", line)


@case("OS_AUTH_URL and other environment variables of clients are not configuration")
def a_client_s_variables():
    require_unconfigured_machine()
    client = {
        "OS_AUTH_URL": "http://127.0.0.1:1/v3", "OS_USERNAME": "admin", "OS_PASSWORD": "secret",
        "OS_PROJECT_NAME": "admin", "OS_CLOUD": "devstack", "OS_PLACEMENT_API_VERSION": "1.39",
        "OS_IDENTITY_API_VERSION": "3", "OS_REGION_NAME": "RegionOne", "OS_PLACEMENT": "x", "OS__": "y",
    }
    with folder() as here, Placet(here, extra=client) as placet:
        placet.alive()
        check("noauth2" in placet.greeting(), placet.greeting())


def defaults_to_keystone(here, *arguments, extra=None):
    """With any configuration keystone is the default: the start is refused, and no database is made."""
    names(refused(here, "--bind", "127.0.0.1:0", *arguments, extra=extra), "keystone", "noauth2", "auth_strategy")
    check(not list(here.glob("*.sqlite*")), "a database was made")


@case("an option's environment variable is configuration: keystone is the default, and the start is refused")
def an_option_s_variable():
    with folder() as here:
        for variable, value in [
            ("OS_PLACEMENT__MAX_ALLOCATION_CANDIDATES", "10"), ("OS_API__AUTH_STRATEGY", "keystone"),
            ("OS_PLACET__WORKERS", "1"), ("OS_DEFAULT__DEBUG", "true"),
            ("OS_PLACEMENT_DATABASE__CONNECTION", f"sqlite:///{here}/x.sqlite"),
        ]:
            defaults_to_keystone(here, extra={variable: value})


@case("--config-file is configuration, even if the file is empty")
def a_config_file():
    with folder() as here:
        defaults_to_keystone(here, "--config-file", conf(here, ""))


@case("OS_PLACEMENT_CONFIG_DIR is configuration, and must hold a placement.conf")
def a_config_dir():
    with folder() as here:
        defaults_to_keystone(here, extra={"OS_PLACEMENT_CONFIG_DIR": str(conf(here, "", "etc/placement.conf").parent)})
        (here / "none").mkdir()
        line = refused(here, extra={"OS_PLACEMENT_CONFIG_DIR": str(here / "none")})
        names(line, "none/placement.conf")


@case("OS_API__AUTH_STRATEGY = noauth2 alone is refused: the database must be configured too")
def no_connection():
    with folder() as here:
        names(refused(here, extra=NOAUTH), "[placement_database] connection")


@case("later files override earlier ones, the environment overrides files, and the command line overrides all")
def precedence():
    with folder() as here:
        first = conf(here, "[placet]\nbind = 127.0.0.1:1\nworkers = 1\nqueue_size = 1\n" + SERVABLE.format(here=here), "1.conf")
        second = conf(here, "[placet]\nbind = 127.0.0.1:2\nworkers = 2\n", "2.conf")
        shown = run(here, "--config-file", first, "config", "show", "--config-file", second, "--bind", "127.0.0.1:9",
                    extra={"OS_PLACET__WORKERS": "3", "OS_PLACET__BIND": "127.0.0.1:3"})
        # --config-file on both sides of the subcommand: both are read.
        equal(shown.code, 0, shown)
        names(shown.out, "bind = 127.0.0.1:9\n", "workers = 3\n", "queue_size = 1\n")
        shown = run(here, "--config-file", first, "--config-file", second, "config", "show")
        names(shown.out, "bind = 127.0.0.1:2\n", "workers = 2\n", "queue_size = 1\n")
        names(shown.out, f"# from {second}:2", f"# from {first}:4")


@case("noauth2 beyond loopback is refused without allow_noauth2_anywhere, and causes a warning with it")
def noauth2_anywhere():
    database = "[placement_database]\nconnection = sqlite:///{here}/placet.sqlite\nsync_on_startup = true\n"
    with folder() as here:
        path = conf(here, "[api]\nauth_strategy = noauth2\n" + database.format(here=here))
        for address in ("0.0.0.0:0", "[::]:0", "192.0.2.1:0"):
            line = refused(here, "--config-file", path, "--bind", address)
            names(line, address.rpartition(":")[0], "allow_noauth2_anywhere", "loopback")
        require_unconfigured_machine()
        names(refused(here, "--bind", "0.0.0.0:0"), "allow_noauth2_anywhere")
        with Placet(here, {"placet": {"allow_noauth2_anywhere": "true"}}, bind="0.0.0.0:0") as placet:
            placet.stop()
            warned = [line for line in placet.log().splitlines() if " WARN " in line]
            check(any("noauth2" in line and "0.0.0.0" in line for line in warned), placet.log())


@case("an unknown option of [placet] is refused with its file and line, and with the most similar name")
def a_typing_mistake():
    with folder() as here:
        path = conf(here, "[placet]\n\nqueue_sice = 5\n")
        names(refused(here, "--config-file", path), "queue_sice", "queue_size", f"{path}:3")
        names(refused(here, extra={"OS_PLACET__BNID": "x"}), "bind", "OS_PLACET__BNID")
        # Unknown options of other sections are ignored, as oslo.config does, with a warning.
        path = conf(here, SERVABLE.format(here=here) + "[api]\nauth_stategy = 5\n")
        shown = run(here, "--config-file", path, "config", "show")
        equal(shown.code, 0, shown)
        names(shown.err, "[api] auth_stategy is not an option", "did you mean auth_strategy?")


@case("an invalid value is refused with the option's name, its file and line, and the valid values")
def bad_values():
    with folder() as here:
        for option, value, word in [
            ("queue_size", "many", "number"), ("queue_size", "0", "1"), ("queue_size", "-1", "low"),
            ("commit_timeout", "1e3", "number"), ("commit_timeout", "99999999999999999999", "high"),
            ("max_body_size", "1.5", "number"), ("workers", "-2", "low"), ("shutdown_timeout", "1 day", "number"),
            ("bind", "127.0.0.1", "ADDRESS:PORT"), ("bind", "127.0.0.1:99999", "ADDRESS:PORT"),
            ("url_prefix", "placement", "path"), ("strict_step_size", "maybe", "true"),
        ]:
            line = refused(here, "--config-file", conf(here, f"[placet]\n{option} = {value}\n"))
            names(line, f"[placet] {option} = {value}", word, "placement.conf:2")
        names(refused(here, extra={"OS_PLACET__WORKERS": "x"}), "workers", "OS_PLACET__WORKERS")
        names(refused(here, "--bind", "nowhere"), "bind", "nowhere", "command line")


@case("a configuration that cannot be read is refused with its file and line")
def unreadable():
    with folder() as here:
        names(refused(here, "--config-file", here / "none.conf"), "none.conf", "does not exist")
        names(refused(here, "--config-file", conf(here, "[placet\nbind = x\n")), "placement.conf:1")
        names(refused(here, "--config-file", conf(here, "bind = x\n")), "placement.conf:1", "section")
        (here / "latin.conf").write_bytes(b"[DEFAULT]\nlog_file = caf\xe9\n")
        names(refused(here, "--config-file", here / "latin.conf"), "latin.conf", "UTF-8")


@case("a URL of an unsupported database is refused in one line without its password")
def other_databases():
    with folder() as here:
        for url in ("oracle://root:hunter2@db/x", "mysql+pymysql//root:hunter2@db/x", "oracle://db/x?password=hunter2"):
            path = conf(here, f"[api]\nauth_strategy = noauth2\n[placement_database]\nconnection = {url}\n")
            line = refused(here, "--config-file", path)
            check("hunter2" not in line, line)
            names(line, "sqlite:///")


@case("a start whose database server is unreachable fails after max_retries in one line without the password")
def unreachable_servers():
    with folder() as here:
        for scheme in ("mysql+pymysql", "postgresql+psycopg2"):
            url = f"{scheme}://root:hunter2@127.0.0.1:1/placement"
            path = conf(here, "[api]\nauth_strategy = noauth2\n[placement_database]\n"
                              f"connection = {url}\nmax_retries = 0\n")
            line = refused(here, "--config-file", path)
            check("hunter2" not in line, line)
            names(line, "127.0.0.1:1/placement")
