"""The package and the tarball on a new machine: installed by docs/install.md, with README's tour for each.

Each has a copy of the machine without the libraries of the previous. The tour runs in a network of its own, so on the
port of the page.
"""

import pathlib
import re
import shutil
import tempfile
import types

from functional_tests.documents.page import INDENT, commands
from functional_tests.documents.run import STARTS, TOUR
from functional_tests.documents.run import check as check_command
from functional_tests.documents.shell import Shell
from functional_tests.lib.root import ROOT
from functional_tests.lib.test_counts import Skipped
from functional_tests.packaging import artifacts
from functional_tests.packaging.private_root import unit_command

GUIDE = ROOT / "docs/install.md"
# Where both files are in the machine.
PLACE = "/tmp/release"
# The service of the tour.
SERVICE = types.SimpleNamespace(port=8778)
READY = ("curl --silent --show-error --fail --retry 60 --retry-connrefused --retry-delay 1 "
         f"http://127.0.0.1:{SERVICE.port}/health/ready")
# A chroot has no systemd.
NEEDS_SYSTEMD = ("systemctl", "journalctl")
# What a user of the machine has to have, for `api` of the tour, and what the unit's StateDirectory makes.
CURL = "apt-get update && apt-get install curl"
STATE = "install -d -m 750 -o placet -g placet /var/lib/placet"


def section(title):
    """The commands of a section of the guide, one a line, without those that need systemd."""
    text = re.search(rf"^## {title}$(.*?)^## ", GUIDE.read_text(), re.MULTILINE | re.DOTALL)[1]
    found = re.findall(rf"^{INDENT}([$#]) (.*)$", text, re.MULTILINE)
    return [(prompt, command) for prompt, command in found if not command.startswith(NEEDS_SYSTEMD)]


def prepare(new, file):
    """Copies the file into the machine, in which apt-get asks nothing."""
    (new.root / PLACE[1:]).mkdir(parents=True)
    shutil.copy(file, new.root / PLACE[1:])
    (new.root / PLACE[1:]).chmod(0o777)
    (new.root / "etc/apt/apt.conf.d/90-yes").write_text('APT::Get::Assume-Yes "true";\n')
    must(new, "root", CURL)


def must(new, user, command, folder=PLACE):
    code, output = new(user, command, has_rust=False, folder=folder)
    assert code == 0, f"{command}: {code}\n{output[-3000:]}"
    return output


def tour(new, user, folder, start, after=()):
    """README's tour in the folder, by a service that `start` starts, and then other commands."""
    words, environment = new.entered(user, folder, "exec bash", has_rust=False, alone=True)
    with Shell("/", environment, words) as shell:
        shell.run(f"{start} >/tmp/placet.log 2>&1 &")
        printed, status = shell.run(READY)
        assert status == 0, printed + shell.run("cat /tmp/placet.log")[0]
        done = 0
        for command in commands((ROOT / TOUR).read_text()):
            if command.text not in STARTS:
                check_command(shell, command, SERVICE)
                done += 1
        assert done > 5, f"the tour has {done} commands"
        for command in after:
            printed, status = shell.run(command)
            assert status == 0, f"{command}: {status}: {printed}"
    print(f"        {done} commands of the tour", flush=True)


def package(new, file):
    prepare(new, file)
    (_, install), *others = section("Debian package")
    must(new, "root", install)
    start = f"runuser -u placet -- {' '.join(unit_command(new))}"
    tour(new, "root", "/usr/share/doc/placet", start, [command for _, command in others])
    said = must(new, "root", "apt-get purge placet && test ! -e /usr/bin/placet && ls /var/lib/placet")
    assert "placet.sqlite" in said, said


def tarball(new, file):
    prepare(new, file)
    steps = section("Tarball")
    libraries, unpack, start = steps[:3]
    assert [prompt for prompt, _ in steps] == ["#", "$", "$", *"#" * len(steps[3:])] and len(steps) > 7, steps
    must(new, "root", libraries[1])
    top = must(new, "tester", f"{unpack[1]} && pwd").strip()
    tour(new, "tester", top, start[1])
    for _, command in steps[3:]:
        must(new, "root", command, top)
    must(new, "root", STATE)
    start = f"runuser -u placet -- {' '.join(unit_command(new, 'etc/systemd/system/placet.service'))}"
    tour(new, "root", top, start, ["test -s /var/lib/placet/placet.sqlite"])


def on_a_copy(new, test, make, given, binary):
    with tempfile.TemporaryDirectory() as folder, new.copied() as other:
        if not given and not binary.exists():
            raise Skipped("needs a binary: --binary, or cargo build")
        test(other, given or make(binary, pathlib.Path(folder)))


def check(tests, new, options):
    tests.step("the package is installed as docs/install.md says, README's tour works with it, and it is purged",
               on_a_copy, new, package, artifacts.package, options.package, options.binary)
    tests.step("the tarball is unpacked as docs/install.md says, and README's tour works with it and with its unit's command",
               on_a_copy, new, tarball, artifacts.tarball, options.tarball, options.binary)
