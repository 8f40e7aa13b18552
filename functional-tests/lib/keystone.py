"""A private Keystone, from PyPI, behind uWSGI on loopback: fernet tokens, an SQLite file, a temporary folder.

The application and uWSGI's HTTP router are two processes. Keystone is stopped and started again by a stop of the
router, because a start of the application takes 2.7 s of processor time.

Keystone has its own virtual environment, `.tox/keystone`, which tox.sh makes of `keystone/requirements.txt`. The first
run makes the tables and the first administrator, and keeps both in the environment as a template (`template.sqlite`).
"""

import base64
import contextlib
import os
import pathlib
import secrets
import shutil
import signal
import subprocess
import tempfile
import time

from functional_tests.lib import live, ports
from functional_tests.lib.patience import HANG_SECONDS, eventually
from functional_tests.lib.rest import Rest
from functional_tests.lib.root import ROOT

ADMIN, ADMIN_PASSWORD = "bootstrap-admin", "bootstrap-password-of-keystone"
REGION = "RegionOne"
DOMAIN = {"id": "default"}
VALIDATIONS = "GET /v3/auth/tokens"
LOGINS = "POST /v3/auth/tokens"
# bcrypt's least rounds: the password of each actor is hashed twice. Without its cache Keystone runs hundreds of
# statements to validate one token. The cache is in memory, which is right for one process.
CONFIG = """
[DEFAULT]
use_stderr = true
[database]
connection = sqlite:///{folder}/keystone.sqlite
[oslo_middleware]
enable_proxy_headers_parsing = true
[token]
expiration = {token_seconds}
[fernet_tokens]
key_repository = {folder}/fernet-keys
[fernet_receipts]
key_repository = {folder}/fernet-keys
[credential]
key_repository = {folder}/credential-keys
[identity]
password_hash_rounds = 4
[cache]
enabled = true
backend = dogpile.cache.memory
"""


class Missing(RuntimeError):
    """The virtual environment is not there; the message says how to make it."""


def virtual_environment():
    """The folder of Keystone's virtual environment."""
    folder = pathlib.Path(os.environ.get("PLACET_KEYSTONE_VENV") or ROOT / ".tox/keystone")
    if not (folder / "bin/keystone-manage").exists():
        raise Missing(f"Keystone is not installed in {folder}: ./tox.sh clients makes it")
    return folder


class Keystone:
    """One Keystone. Use it as a context manager.

    `sibling` is another one, whose tables and keys it shares.
    """

    def __init__(self, token_seconds=3600, sibling=None):
        self.token_seconds, self.sibling = token_seconds, sibling
        self.venv = virtual_environment()
        self.application = self.router = None

    def __enter__(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="placet-test-keystone-"))
        try:
            self._write_config()
            self._write_keys()
            self._make_tables()
            self.port = ports.free_port()
            self.application = self._uwsgi(
                "--socket", "socket", "--module", "keystone.wsgi.api:application", "--virtualenv", str(self.venv),
                "--processes", "1", "--threads", "4", "--enable-threads", "--lazy-apps", "--socket-timeout", "600",
                "--listen", "128", "--buffer-size", "65535", "--add-header", "Connection: keep-alive",
                "--log-format", "%(method) %(uri) %(status)")
            self.start()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        self.stop()
        self._end(self.application)
        shutil.rmtree(self.folder, ignore_errors=True)

    @property
    def url(self):
        return f"http://127.0.0.1:{self.port}/v3"

    @property
    def database(self):
        return (self.sibling or self).folder / "keystone.sqlite"

    def start(self):
        """Starts its router, on the same port as before, and waits until Keystone answers."""
        self.router = self._uwsgi("--http", f"127.0.0.1:{self.port}", "--http-to", "socket", "--http-keepalive",
                                  "--http-timeout", "600", "--http-buffer-size", "65535")

        def sentence():
            return f"Keystone serves; its log ends with:\n{self.log()[-4000:]}"

        def ended():
            return any(process.poll() is not None for process in (self.application, self.router))

        eventually(sentence, lambda: ended() or self._answers())
        if ended():
            raise RuntimeError(f"not true: {sentence()}")

    def stop(self):
        """Ends its router. Then connections are refused."""
        self._end(self.router)
        self.router = None

    def freeze(self):
        """Stops its processes: it accepts connections and does not answer."""
        self._signal(signal.SIGSTOP)

    def thaw(self):
        """Continues its processes, and waits until Keystone has answered the requests that came before."""
        self._signal(signal.SIGCONT)
        eventually("Keystone answers", self._answers)

    @contextlib.contextmanager
    def without_keys(self):
        """Keystone reads its keys for each token that is not in its cache, and answers 500 without them."""
        self.empty_cache()
        keys = self.folder / "fernet-keys"
        away = keys.rename(self.folder / "keys-away")
        try:
            yield
        finally:
            away.rename(keys)

    @contextlib.contextmanager
    def with_other_keys(self):
        """Keystone gives tokens that are foreign to it afterwards."""
        with self.without_keys():
            self._new_keys("fernet-keys")
            try:
                yield
            finally:
                shutil.rmtree(self.folder / "fernet-keys")
        self.empty_cache()

    def empty_cache(self):
        """Keystone empties its cache of tokens when a user is deleted."""
        rest = self.admin()
        made = rest.must("POST", "/v3/users", {"user": {"name": "deleted-at-once", "domain_id": DOMAIN["id"]}}).json
        rest.must("DELETE", f"/v3/users/{made['user']['id']}")

    def log(self):
        return (self.folder / "log").read_text(errors="replace")

    def validations(self):
        """How many tokens it was asked to validate."""
        return self._requests(VALIDATIONS)

    def logins(self):
        """How many tokens it was asked for."""
        return self._requests(LOGINS)

    def _requests(self, start):
        time.sleep(0.2)  # uWSGI writes its line after the answer
        return sum(line.startswith(start) for line in self.log().splitlines())

    def rest(self, token=None):
        return Rest(self.port, token)

    def token(self, auth):
        """A token for the body `auth` of POST /v3/auth/tokens; returns it with what Keystone says of it."""
        answer = self.rest()("POST", "/v3/auth/tokens", {"auth": auth})
        if answer.status != 201:
            raise RuntimeError(f"Keystone gives no token: {answer}")
        return answer.headers["x-subject-token"], answer.json["token"]

    def admin(self):
        """A client with the first administrator's token, in the project `admin`."""
        token, _ = self.token(password(ADMIN, ADMIN_PASSWORD, {"project": {"name": "admin", "domain": DOMAIN}}))
        return self.rest(token)

    def _uwsgi(self, *options):
        """Starts uWSGI with a session of its own, in which its workers or its router are too."""
        environment = live.clean_environment() | {"OS_KEYSTONE_CONFIG_FILES": str(self.folder / "keystone.conf")}
        with open(self.folder / "log", "ab") as log:
            return subprocess.Popen(
                [str(self.venv / "bin/uwsgi"), "--master", "--die-on-term", *options], stdout=log, stderr=log,
                stdin=subprocess.DEVNULL, cwd=self.folder, env=environment, start_new_session=True)

    def _signal(self, number):
        for process in self.application, self.router:
            os.killpg(process.pid, number)

    @staticmethod
    def _end(process):
        if process is None:
            return
        os.killpg(process.pid, signal.SIGCONT)
        process.terminate()
        try:
            process.wait(live.LEFT_SECONDS)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait(HANG_SECONDS)

    def _answers(self):
        try:
            return self.rest()("GET", "/v3").status == 200
        except OSError:
            return False

    def _write_config(self):
        text = CONFIG.format(folder=self.folder, token_seconds=self.token_seconds)
        if self.sibling:
            text = text.replace(f"sqlite:///{self.folder}", f"sqlite:///{self.sibling.folder}")
        (self.folder / "keystone.conf").write_text(text)

    def _write_keys(self):
        for name in ("fernet-keys", "credential-keys"):
            if self.sibling:
                shutil.copytree(self.sibling.folder / name, self.folder / name)
            else:
                self._new_keys(name)

    def _new_keys(self, name):
        (self.folder / name).mkdir(mode=0o700)
        for number in "01":
            path = self.folder / name / number
            path.write_bytes(base64.urlsafe_b64encode(secrets.token_bytes(32)))
            path.chmod(0o600)

    def _make_tables(self):
        if self.sibling:
            return
        template = self.venv / "template.sqlite"
        if not template.exists():
            self._manage("db_sync")
            self._manage("bootstrap", "--bootstrap-username", ADMIN, "--bootstrap-password", ADMIN_PASSWORD,
                         "--bootstrap-region-id", REGION)
            # Another run may do the same: each writes its own file, and the last name wins.
            made = self.venv / f"template.{os.getpid()}"
            shutil.copy(self.database, made)
            made.rename(template)
        shutil.copy(template, self.database)

    def _manage(self, *arguments):
        done = subprocess.run(
            [str(self.venv / "bin/keystone-manage"), "--config-file", str(self.folder / "keystone.conf"), *arguments],
            capture_output=True, text=True, env=live.clean_environment(), check=False)
        if done.returncode:
            raise RuntimeError(f"keystone-manage {arguments[0]} failed:\n{done.stderr[-4000:]}")


def password(name, secret, scope=None, domain=None):
    """The body of a request for a token with a password."""
    user = {"name": name, "password": secret, "domain": domain or DOMAIN}
    return {"identity": {"methods": ["password"], "password": {"user": user}}} | {"scope": scope or "unscoped"}


def application_credential(identifier, secret):
    """The body of a request for a token with an application credential."""
    return {"identity": {"methods": ["application_credential"],
                         "application_credential": {"id": identifier, "secret": secret}}}
