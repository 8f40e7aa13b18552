"""placet's package, its tarball and `./tox.sh` on a new machine: a minimal Debian 12 with Rust, Python and git alone.

    python -m functional_tests.fresh.run [--binary PATH] [--package FILE] [--tarball FILE] [--base FOLDER]
                                         [--stage STAGE]

Needs root, and Debian's debootstrap. The machine is a folder that debootstrap fills, entered by chroot in namespaces of
its own. The folder shares the network, the toolchain of Rust and the settings of apt, pip and cargo with the real
machine. An ordinary user must learn about missing parts in one line, before anything is built. Root must have the parts
installed. `--stage` also runs a stage of `./tox.sh` there: `lint` compiles everything, `all` tests everything. `--base`
is a folder from an earlier debootstrap. Without arguments the package and the tarball are made of the binary.
"""

import contextlib
import os
import pathlib
import shutil
import subprocess
import tempfile
import time

from functional_tests.fresh import installed
from functional_tests.lib import command_line, live
from functional_tests.lib.root import ROOT
from functional_tests.lib.servers import machine
from functional_tests.lib.test_counts import TestCounts

SUITE, MIRROR = "bookworm", "http://deb.debian.org/debian"
PACKAGES = "git,python3,ca-certificates"
USER = "tester"
PLACE = "/src/placet"
# Found out before anything is compiled or downloaded.
SOON_SECONDS = 20
# What placet's tests need beyond these three.
PACKAGES_OF_LINT = ["build-essential", "pkg-config", "libmariadb-dev", "python3-venv"]
PACKAGES_OF_SERVERS = ["postgresql", "pgbouncer", "mariadb-server", "galera-4", "rsync"]
PACKAGES_OF_TOOLS = ["haproxy", "strace", "systemd", "dpkg-dev", "logrotate", "prometheus", "curl", "man-db", "nodejs"]
# How this machine reaches package registries, and checks their certificates.
SHARED = ["etc/resolv.conf", "etc/hosts", "etc/ssl", "etc/pip.conf", "etc/apt/apt.conf.d", "etc/apt/sources.list",
          "etc/apt/sources.list.d", "usr/share/keyrings", "usr/local/share/ca-certificates"]


class Machine:
    """The new machine, with a clone of the repository. Removed at the end."""

    def __init__(self, base):
        self.base = base

    def __enter__(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="placet-fresh-"))
        self.root = self.folder / "root"
        try:
            self._make()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        # What is mounted is so only in the namespaces of commands that have ended.
        shutil.rmtree(self.folder, ignore_errors=True)

    def _make(self):
        if self.base:
            run("cp", "-a", self.base, self.root)
        else:
            run(machine.program("debootstrap", "debootstrap"), "--variant=minbase", f"--include={PACKAGES}", SUITE,
                self.root, MIRROR)
        for name in SHARED:
            copy(pathlib.Path("/", name), self.root / name)
        cargo = pathlib.Path(os.environ.get("CARGO_HOME", pathlib.Path.home() / ".cargo"))
        for name in ("bin", "config.toml", "config"):
            copy(cargo / name, self.root / "opt/cargo" / name)
        (self.root / "opt/rustup").mkdir(parents=True, exist_ok=True)
        run("git", "clone", "--quiet", ROOT, self.root / PLACE[1:])
        self("root", f"useradd --create-home --home-dir /{USER} {USER}; chown -R {USER} {PLACE} /opt/cargo", must=True)

    @property
    def path(self):
        """The root, as functional_tests.packaging.private_root calls it."""
        return self.root

    @contextlib.contextmanager
    def copied(self):
        """Another machine, which is as this one is at the moment."""
        other = Machine(self.base)
        other.folder = pathlib.Path(tempfile.mkdtemp(prefix="placet-fresh-"))
        other.root = other.folder / "root"
        try:
            run("cp", "-a", self.root, other.root)
            yield other
        finally:
            other.__exit__()

    def entered(self, user, folder, command, has_rust=True, alone=False):
        """The command that runs a command in a folder of the machine, and its environment. `alone`: with a network that
        has nothing but its loopback, so that every port is free."""
        rustup = os.environ.get("RUSTUP_HOME", str(pathlib.Path.home() / ".rustup"))
        path = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
        home = "/root" if user == "root" else f"/{USER}"
        passed = {k: v for k, v in os.environ.items() if k.endswith(("_CA_BUNDLE", "CERT_FILE", "CAINFO"))
                  or k.startswith(("PIP_", "http_", "https_", "HTTP_", "HTTPS_"))}
        environment = {**passed, "PATH": f"/opt/cargo/bin:{path}" if has_rust else path, "HOME": home,
                       "CARGO_HOME": "/opt/cargo", "RUSTUP_HOME": "/opt/rustup", "LANG": "C.UTF-8",
                       "DEBIAN_FRONTEND": "noninteractive"}
        # The root is a mount point, so that tests can make mount namespaces of their own in it.
        inner = (f"{machine.program('ip', 'iproute2')} link set lo up && " if alone else "") + 'mount --bind "$0" "$0" && ' \
                f'mount --bind {rustup} "$0/opt/rustup" && mount -t proc proc "$0/proc" && mount --bind /dev "$0/dev" && ' \
                'exec chroot "$0" setpriv --reuid "$1" --regid "$1" --clear-groups sh -c "cd $2 && $3"'
        namespaces = ["unshare", "--mount", "--pid", "--fork", "--kill-child", *(["--net"] if alone else [])]
        return [*namespaces, "sh", "-c", inner, str(self.root), user, folder, command], environment

    def __call__(self, user, command, has_rust=True, must=False, folder=None, seconds=3600):
        """Runs a command in the folder of the clone; returns its exit code and its output."""
        words, environment = self.entered(user, folder or (PLACE if not must else "/"), command, has_rust)
        done = subprocess.run(
            words, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
            timeout=seconds)
        if must and done.returncode:
            raise RuntimeError(f"{command}: {done.stdout}")
        return done.returncode, done.stdout


def run(*command):
    done = subprocess.run([*map(str, command)], stdin=subprocess.DEVNULL, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"{command[0]} ended with {done.returncode}: {(done.stdout + done.stderr)[-2000:]}")


def copy(source, target):
    """Copies a file, or what is in a folder, over what is there."""
    if source.is_dir():
        target.mkdir(parents=True, exist_ok=True)
        run("cp", "-a", "--remove-destination", f"{source}/.", target)
    elif source.exists():
        target.parent.mkdir(parents=True, exist_ok=True)
        run("cp", "--dereference", "--remove-destination", source, target)


def lacks(answer, names):
    """One line names all of `names`, and nothing else has begun."""
    code, output, took = answer
    lines = [line for line in output.splitlines() if "this machine lacks" in line]
    assert len(lines) == 1, output
    assert code != 0, f"it ended with {code}"
    assert took < SOON_SECONDS, f"it took {took:.0f} s"
    for name in names:
        assert name in lines[0], f"{name} is not in: {lines[0]}"
    begun = [line for line in output.splitlines() if line.startswith("== ") and line not in lines]
    assert not begun, f"it began with {begun}"


def timed(new, user, command, **options):
    began = time.monotonic()
    code, output = new(user, command, **options)
    return code, output, time.monotonic() - began


def check(tests, new, options):
    everything = PACKAGES_OF_LINT + PACKAGES_OF_SERVERS + PACKAGES_OF_TOOLS
    tests.step("an ordinary user learns at once what `./tox.sh` lacks",
               lambda: lacks(timed(new, USER, "./tox.sh"), everything))
    tests.step("an ordinary user learns what `./tox.sh functional` lacks",
               lambda: lacks(timed(new, USER, "./tox.sh functional"), PACKAGES_OF_LINT + PACKAGES_OF_TOOLS))
    tests.step("an ordinary user learns what `./tox.sh lint` lacks",
               lambda: lacks(timed(new, USER, "./tox.sh lint"), PACKAGES_OF_LINT))
    tests.step("without Rust the same line says where it comes from",
               lambda: lacks(timed(new, USER, "./tox.sh lint", has_rust=False), ["https://rustup.rs"]))
    installed.check(tests, new, options)
    tests.step("root has everything installed before the stages begin", installs, new)
    tests.step("then an ordinary user lacks nothing", satisfied, new)
    if options.stage:
        tests.step(f"`./tox.sh {options.stage}` passes", passes, new, options.stage)


def installs(new):
    code, output, took = timed(new, "root", "./tox.sh prerequisites")
    print(f"installing took {took:.0f} s", flush=True)
    assert code == 0 and "installing Debian's" in output and "1 passed, 0 failed" in output, output[-3000:]


def satisfied(new):
    code, output, took = timed(new, USER, "./tox.sh prerequisites")
    assert code == 0 and "installing" not in output and took < SOON_SECONDS, output


def passes(new, stage):
    # git reads a repository of another user only if told to.
    code, output, took = timed(new, "root", f"chown -R root {PLACE} && ./tox.sh {stage}", seconds=7200)
    print(f"./tox.sh {stage} took {took:.0f} s: {output.splitlines()[-1]}", flush=True)
    assert code == 0, output[-9000:]


def main():
    parser = command_line.parser(__doc__, "--binary")
    parser.add_argument("--package", type=pathlib.Path)
    parser.add_argument("--tarball", type=pathlib.Path)
    parser.add_argument("--base", type=pathlib.Path)
    parser.add_argument("--stage")
    options = parser.parse_args()
    options.binary = live.placet_binary(options.binary)
    tests = TestCounts()
    if os.geteuid() != 0:
        tests.skip("a new machine", "chroot needs root")
    else:
        with Machine(options.base) as new:
            check(tests, new, options)
    tests.finish()


if __name__ == "__main__":
    main()
