#!/usr/bin/env python3
"""Copies what an installation of placet has, which the Debian package and the tarball share.

    contrib/stage.py BINARY PREFIX DOCUMENTS

PREFIX gets bin/ with the stripped binary, and share/ with the manual pages and the shells' completions. DOCUMENTS gets
the documents, the description of the API, the examples, and the files of contrib/ that operators use, in the layout of
the source, so that links between them stay valid. A link to a file that is left out becomes its text.
"""

import os
import pathlib
import posixpath
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
SHIPPED = [
    "README.md", "CHANGELOG.md", "ARCHITECTURE.md", "LICENSE", "docs/*.md", "docs/*.svg", "docs/internals/*.md",
    "api-ref/*.json", "examples/*",
    "contrib/devstack/*", "contrib/grafana/*.json", "contrib/haproxy/*.cfg", "contrib/kolla/*", "contrib/prometheus/alerts.yml",
    "contrib/systemd/*",
]
COMPLETIONS = {
    "bash": "bash-completion/completions/placet", "zsh": "zsh/vendor-completions/_placet",
    "fish": "fish/vendor_completions.d/placet.fish",
}
# A link that is no image, with its text and its target without the anchor.
LINK = re.compile(r"(?<!!)\[([^\]]*)\]\(([^)\s#]+)(?:#[^)\s]*)?\)")


def put(path, content, mode=0o644):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    path.chmod(mode)


def page(name, text, shipped):
    """A Markdown page without the links to files that are not shipped. A path becomes code, any other text stays."""
    def link(found):
        label, target = found.groups()
        if "://" in target or posixpath.normpath(posixpath.join(posixpath.dirname(name), target)) in shipped:
            return found[0]
        return f"`{label}`" if re.fullmatch(r"[\w./-]+", label) else label
    return LINK.sub(link, text)


def main():
    os.umask(0o022)
    binary, prefix, documents = map(pathlib.Path, sys.argv[1:])
    put(prefix / "bin/placet", binary.read_bytes(), 0o755)
    subprocess.run(["strip", "--strip-unneeded", prefix / "bin/placet"], check=True)
    subprocess.run([binary, "man", prefix / "share/man/man1"], check=True)
    for shell, path in COMPLETIONS.items():
        put(prefix / "share" / path, subprocess.run([binary, "completions", shell], check=True, stdout=subprocess.PIPE).stdout)
    shipped = {str(path.relative_to(ROOT)): path for pattern in SHIPPED for path in ROOT.glob(pattern)}
    for name, path in shipped.items():
        content = path.read_bytes()
        if path.suffix == ".md":
            content = page(name, content.decode(), shipped).encode()
        put(documents / name, content, 0o755 if path.stat().st_mode & 0o100 else 0o644)


if __name__ == "__main__":
    main()
