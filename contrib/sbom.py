#!/usr/bin/env python3
"""Writes the bill of materials of placet, as CycloneDX 1.5 in JSON, to stdout.

    contrib/sbom.py >placet.cdx.json

Every crate of Cargo.lock is a component, with its version, licence, checksum and package URL, and with what it depends
on. A crate that is used only by tests or on other systems has the scope `excluded`. tidy, which is of this repository
and no part of placet, is left out.
"""

import json
import pathlib
import subprocess
import tomllib

ROOT = pathlib.Path(__file__).resolve().parent.parent
TARGET = "x86_64-unknown-linux-gnu"


def metadata(*more):
    """What cargo knows of the packages: id -> package, and id -> its node in the graph."""
    command = ["cargo", "metadata", "--format-version", "1", "--locked", "--all-features", *more]
    known = json.loads(subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE).stdout)
    return {p["id"]: p for p in known["packages"]}, {n["id"]: n for n in known["resolve"]["nodes"]}, known["resolve"]["root"]


def linked(nodes, root):
    """The packages that the binary is built from: those that are reached without dependencies of tests."""
    found, waiting = set(), [root]
    while waiting:
        package = waiting.pop()
        if package not in found:
            found.add(package)
            waiting += [d["pkg"] for d in nodes[package]["deps"] if any(k["kind"] != "dev" for k in d["dep_kinds"])]
    return found


def reference(name, version):
    return f"pkg:cargo/{name}@{version}"


def main():
    locked = tomllib.loads((ROOT / "Cargo.lock").read_text())["package"]
    locked = [package for package in locked if package["name"] != "tidy"]
    checksums = {(p["name"], p["version"]): p.get("checksum") for p in locked}
    packages, nodes, root = metadata()
    _, target_nodes, _ = metadata("--filter-platform", TARGET)
    needed = {(packages[id]["name"], packages[id]["version"]) for id in linked(target_nodes, root)}
    by_name = {(p["name"], p["version"]): p for p in packages.values()}
    components, dependencies = [], []
    for key in sorted(checksums):
        package = by_name.get(key, {})
        component = {
            "type": "library", "name": key[0], "version": key[1], "bom-ref": reference(*key), "purl": reference(*key),
            "scope": "required" if key in needed else "excluded",
        }
        if package.get("license"):
            component["licenses"] = [{"expression": package["license"].replace("/", " OR ")}]
        if checksums[key]:
            component["hashes"] = [{"alg": "SHA-256", "content": checksums[key]}]
        if package.get("repository"):
            component["externalReferences"] = [{"type": "vcs", "url": package["repository"]}]
        if package.get("id") != root:
            components.append(component)
        if package:
            used = sorted({reference(packages[d["pkg"]]["name"], packages[d["pkg"]]["version"])
                           for d in nodes[package["id"]]["deps"]})
            dependencies.append({"ref": reference(*key), "dependsOn": used})
    own = packages[root]
    print(json.dumps({
        "bomFormat": "CycloneDX", "specVersion": "1.5", "version": 1,
        "metadata": {"component": {
            "type": "application", "name": own["name"], "version": own["version"],
            "bom-ref": reference(own["name"], own["version"]), "licenses": [{"expression": own["license"]}]}},
        "components": components, "dependencies": dependencies,
    }, indent=1))


if __name__ == "__main__":
    main()
