"""TLS to a real MariaDB: what the URL and an option file of MySQL's clients say about certificates holds."""

import contextlib
import pathlib
import shutil
import subprocess
import tempfile

from functional_tests.lib import live
from functional_tests.lib.certificates import Authority, put
from functional_tests.lib.patience import HANG_SECONDS
from functional_tests.lib.servers import mariadb

PASSWORD = "secret"
USERS = {"plain": "NONE", "encrypted": "SSL", "certified": "X509"}


class Tls:
    """A server with a certificate, users that must use TLS, and the files of a client."""

    def __init__(self, binary):
        self.binary = binary
        self.root, self.stranger = Authority("root"), Authority("stranger")
        self.server = mariadb.Server()
        self.files = pathlib.Path(tempfile.mkdtemp(prefix="placet-test-"))

    def __enter__(self):
        with contextlib.ExitStack() as stack:
            stack.callback(shutil.rmtree, self.files, ignore_errors=True)
            stack.callback(self.server.remove)
            self.server.more = {f"ssl-{name}": self.server.folder / f"{name}.pem" for name in ("ca", "cert", "key")}
            self.present(self.root.issue("server"))
            self.server.make().start()
            self.server.create("placement")
            for name, required in USERS.items():
                self.server.database("").run(f"CREATE USER {name}@'%' IDENTIFIED BY '{PASSWORD}' REQUIRE {required}")
                self.server.database("").run(f"GRANT ALL ON *.* TO {name}@'%'")
            put(self.files / "root.crt", self.root.pem)
            put(self.files / "stranger.crt", self.stranger.pem)
            self.root.issue_files(self.files, "client")
            self.stack = stack.pop_all()
        return self

    def __exit__(self, *_):
        self.stack.close()

    def present(self, pair):
        """The server has this certificate and key from its next start, or from FLUSH SSL on."""
        for name, pem in zip(("ca", "cert", "key"), (self.root.pem, *pair), strict=True):
            path = put(self.server.folder / f"{name}.pem", pem)
            if self.server.owner:
                shutil.chown(path, self.server.owner["user"], self.server.owner["group"])

    def options(self, text):
        """The path of an option file."""
        path = self.files / "my.cnf"
        path.write_text(text.replace("FILES", str(self.files)))
        return path

    def check(self, user, parameters, option_file=None, host="127.0.0.1", driver="+pymysql"):
        """Whether `config check --database` connects, and what it prints."""
        parameters = parameters.replace("FILES", str(self.files))
        if option_file:
            parameters += f"&read_default_file={self.options(option_file)}"
        url = f"mysql{driver}://{user}:{PASSWORD}@{host}:{self.server.port}/placement?{parameters.lstrip('&')}"
        path = live.write_config(self.files, {"placement_database": {"connection": url}, "placet": {"bind": "127.0.0.1:0"}})
        done = subprocess.run(
            [str(live.placet_binary(self.binary)), "--config-file", str(path), "config", "check", "--database"],
            capture_output=True, text=True, timeout=HANG_SECONDS, env=live.clean_environment(), check=False)
        return done.returncode != 2, done.stdout

    def connects(self, *given, **more):
        connected, said = self.check(*given, **more)
        assert connected, said

    def refuses(self, word, *given, **more):
        connected, said = self.check(*given, **more)
        assert not connected, said
        assert word in said, said

    def option_file(self):
        self.connects("plain", "charset=utf8")
        self.refuses("Access denied", "encrypted", "charset=utf8")
        self.connects("encrypted", "", "[client]\nssl-ca = FILES/root.crt\n")
        self.refuses("certificate", "encrypted", "", "[client]\nssl-ca = FILES/stranger.crt\n")
        # An authority that is not the server's is not passed over by a user who needs no TLS.
        self.refuses("certificate", "plain", "", "[client]\nssl-ca = FILES/stranger.crt\n")
        self.refuses("Access denied", "encrypted", "", "[other]\nssl-ca = FILES/root.crt\n")
        self.connects("encrypted", "read_default_group=other", "[other]\nssl-ca = FILES/root.crt\n")
        self.refuses("Access denied", "certified", "", "[client]\nssl-ca = FILES/root.crt\n")
        keys = "ssl-cert = FILES/client.crt\nssl_key = 'FILES/client.key'\n"
        self.connects("certified", "", f"[client]\nssl-ca = FILES/root.crt\n{keys}")
        included = self.files / "included.cnf"
        included.write_text(f"[client]\n{keys}".replace("FILES", str(self.files)))
        self.connects("certified", "", f"!include {included}\n[client]\nssl-ca = FILES/root.crt\n")

    def parameters(self):
        self.connects("encrypted", "ssl_ca=FILES/root.crt")
        self.connects("encrypted", "ssl_ca=FILES/root.crt", host="localhost")
        self.connects("certified", "ssl_ca=FILES/root.crt&ssl_cert=FILES/client.crt&ssl_key=FILES/client.key")
        self.refuses("ssl_ca", "encrypted", "ssl_cas=FILES/root.crt")

    def names(self):
        """A certificate of another host, signed by an authority that is trusted."""
        for host in "127.0.0.1", "localhost":
            self.connects("encrypted", "ssl_ca=FILES/root.crt&ssl_verify_identity=true", host=host, driver="")
        self.present(self.root.issue("other", hosts=("db.example.org", "10.0.0.1")))
        self.server.database("").run("FLUSH SSL")
        for parameters, driver in (("ssl_ca=FILES/root.crt", "+pymysql"), ("ssl_verify_identity=1&ssl_ca=FILES/root.crt", "")):
            self.refuses("TLS/SSL error", "encrypted", parameters, driver=driver)
        self.refuses("TLS/SSL error", "encrypted", "", "[client]\nssl-ca = FILES/root.crt\n")
        self.connects("encrypted", "ssl_ca=FILES/root.crt&ssl_check_hostname=false")
        self.connects("encrypted", "ssl_ca=FILES/root.crt", driver="+mysqldb")
