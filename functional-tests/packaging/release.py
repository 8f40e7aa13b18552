"""contrib/build-release.sh: the files of a build, the commit, and two equal builds."""

import hashlib
import os
import pathlib
import re
import shutil
import tempfile

from functional_tests.lib.root import ROOT
from functional_tests.lib.test_counts import Skipped
from functional_tests.packaging.artifacts import other_placet, run

# Programs in the place of cargo and of a container engine. The first leaves the binary, both write down what they were
# given. The second runs only if it is to.
CARGO = """#!/bin/sh -e
[ "$1" = build ] || exec {cargo} "$@"
echo "$*" >{folder}/build
echo "$PLACET_COMMIT" >{folder}/commit
install -D {binary} "$CARGO_TARGET_DIR/dist/placet"
"""
ENGINE = """#!/bin/sh -e
[ -e {folder}/has-engine ] || exit 1
echo "$*" >>{folder}/engine
[ "$1" != save ] || echo image
"""


def commit():
    """What a build from this folder is to name."""
    modified = run("git", "-C", ROOT, "status", "--porcelain", "--untracked-files=no")
    return run("git", "-C", ROOT, "rev-parse", "HEAD").strip() + ("-modified" if modified else "")


def programs(folder, binary):
    """A search path with both programs in `folder`."""
    for name, text in (("cargo", CARGO), ("podman", ENGINE), ("docker", ENGINE)):
        path = pathlib.Path(folder, name)
        path.write_text(text.format(cargo=shutil.which("cargo"), folder=folder, binary=binary))
        path.chmod(0o755)
    return f"{folder}:{os.environ['PATH']}"


def is_complete(binary):
    """contrib/build-release.sh builds everything, sets the commit that `placet --version` names, and sums up all files.
    `reproducible` looks at real builds."""
    if not (ROOT / ".git").exists():
        raise Skipped("needs the repository")
    with tempfile.TemporaryDirectory() as folder:
        here = pathlib.Path(folder)
        environment = {**os.environ, "PATH": programs(folder, other_placet(binary, folder)), "CARGO_TARGET_DIR": f"{folder}/target"}
        said = run(ROOT / "contrib/build-release.sh", here / "dist", env=environment)
        assert "image: not built (no container engine)\n" in said, said
        assert "--profile dist " in (here / "build").read_text(), (here / "build").read_text()
        given = (here / "commit").read_text().strip()
        assert given == commit(), f"{given}, not {commit()}"
        assert summed(here / "dist") == {"placet", "placet.cdx.json", "deb", "linux.tar.gz"}, summed(here / "dist")

        (here / "has-engine").touch()
        said = run(ROOT / "contrib/build-release.sh", here / "dist", env=environment)
        assert "image: not built" not in said, said
        assert summed(here / "dist") == {"placet", "placet.cdx.json", "deb", "linux.tar.gz", "image.tar.gz"}
        _, built, saved = (here / "engine").read_text().splitlines()
        assert built.startswith("build ") and f"--build-arg PLACET_COMMIT={given} ." in built, built
        assert saved.split()[1] in built.split(), f"{saved} after {built}"


def summed(folder):
    """The kinds of files that SHA256SUMS has, which are all files of the folder."""
    names = {line.split()[1] for line in (folder / "SHA256SUMS").read_text().splitlines()}
    assert names == {path.name for path in folder.iterdir()} - {"SHA256SUMS"}, names
    run("sha256sum", "--check", "--strict", "SHA256SUMS", cwd=folder)
    return {re.sub(r"^placet[-_].*[-.](deb|linux\.tar\.gz|image\.tar\.gz)$", r"\1", name) for name in names}


def reproducible():
    """The release, built twice from copies of the source in two folders, with the optimizations across crates off."""
    digests = []
    with tempfile.TemporaryDirectory() as folder:
        # An image is not the same twice.
        pathlib.Path(folder, "engines").mkdir()
        for name in ("podman", "docker"):
            pathlib.Path(folder, "engines", name).symlink_to("/bin/false")
        for name in ("one", "another-folder"):
            copy = pathlib.Path(folder, name)
            run("git", "clone", "--quiet", ROOT, copy)
            for path in run("git", "-C", ROOT, "ls-files").splitlines():
                target = copy / path
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(ROOT / path, target)
            environment = {
                **os.environ, "CARGO_TARGET_DIR": str(copy / "target"), "CARGO_PROFILE_DIST_LTO": "off",
                "CARGO_PROFILE_DIST_CODEGEN_UNITS": "16", "CARGO_PROFILE_DIST_OPT_LEVEL": "1",
                "SOURCE_DATE_EPOCH": "1700000000", "PATH": f"{folder}/engines:{os.environ['PATH']}"}
            run(copy / "contrib/build-release.sh", copy / "dist", env=environment, cwd=copy)
            digests.append({path.name: hashlib.sha256(path.read_bytes()).hexdigest()
                            for path in sorted((copy / "dist").iterdir())})
            run("dpkg-deb", "--extract", *(copy / "dist").glob("*.deb"), copy / "unpacked")
            said = run(copy / "unpacked/usr/bin/placet", "--version")
            assert f"commit: {commit()}\n" in said, said
            shutil.rmtree(copy / "target")
    assert digests[0] == digests[1], digests
    assert {"placet", "placet.cdx.json", "SHA256SUMS"} <= set(digests[0]), digests
