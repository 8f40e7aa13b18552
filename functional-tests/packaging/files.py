"""What is in the package and in the tarball: the files, the links of their pages, the package's description."""

import pathlib
import re

from functional_tests.lib.root import ROOT
from functional_tests.packaging import artifacts, links
from functional_tests.packaging.artifacts import run

WANTED = [
    "/etc/logrotate.d/placet", "/etc/placet/agent.conf", "/etc/placet/placement.conf", "/usr/bin/placet",
    "/usr/lib/systemd/system/placet-agent.service", "/usr/lib/systemd/system/placet.service",
    "/usr/lib/systemd/system/placet.socket",
    "/usr/share/bash-completion/completions/placet", "/usr/share/doc/placet/changelog.gz",
    "/usr/share/doc/placet/copyright", "/usr/share/fish/vendor_completions.d/placet.fish",
    "/usr/share/man/man1/placet-agent.1.gz", "/usr/share/man/man1/placet.1.gz", "/usr/share/man/man1/placet-db-sync.1.gz",
    "/usr/share/zsh/vendor-completions/_placet",
]
DOCUMENTS = "usr/share/doc/placet"
WANTED_DOCUMENTS = [
    "README.md", "LICENSE", "CHANGELOG.md", "docs/install.md", "docs/bench.svg", "docs/internals/writer.md",
    "api-ref/openapi.json", "api-ref/samples.json", "examples/agent.py", "examples/scheduler.py", "examples/nova-style.py",
    "examples/api.sh", "examples/placement.conf", "contrib/prometheus/alerts.yml", "contrib/grafana/placet.json",
    "contrib/haproxy/placement.cfg", "contrib/systemd/placet.service",
]
# A page with one link that is right, and four that lead nowhere: to no file, out of the folder, to no heading, and an
# image.
BAD_PAGE = """# A heading
[right](README.md#placet) [none](gone.md) [outside](../../copyright) [heading](README.md#gone)
<img src="docs/gone.svg">
"""


def names(folder):
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if not path.is_dir()}


def of_package(package, unpacked):
    """The files, their owner, and what the package depends on."""
    run("dpkg-deb", "--extract", package, unpacked)
    found = {f"/{name}" for name in names(unpacked)}
    missing = {*WANTED, *(f"/{DOCUMENTS}/{name}" for name in WANTED_DOCUMENTS)} - found
    assert not missing, f"{missing} is missing of {sorted(found)}"
    listed = run("dpkg-deb", "--contents", package).splitlines()
    assert not [line for line in listed if not re.search(r" root/root ", line)], "not everything is root's"
    depends = run("dpkg-deb", "--field", package, "Depends")
    for library in ("adduser", "libc6", "libmariadb3", "libssl3"):
        assert library in depends, depends


def of_tarball(tarball, unpacked, package):
    """One folder, which has the documents of the package, its manual pages and its completions, and a binary that
    runs.
    """
    unpacked.mkdir()
    run("tar", "--extract", "--file", tarball, "--directory", unpacked)
    [top] = unpacked.iterdir()
    assert f"{top.name}.tar.gz" == tarball.name, top
    found, shared = names(top), package / "usr/share"
    own = {f"share/{name}" for name in names(shared) if not name.startswith("doc/")}
    manual = {name.removesuffix(".gz") for name in own}
    documents = names(package / DOCUMENTS) - {"changelog.gz", "copyright"}
    assert found == {"bin/placet", *manual, *documents}, found ^ {"bin/placet", *manual, *documents}
    for name in documents:
        assert (top / name).read_bytes() == (package / DOCUMENTS / name).read_bytes(), name
    assert run(top / "bin/placet", "--version").startswith("placet "), "no version"
    listed = run("tar", "--list", "--verbose", "--numeric-owner", "--file", tarball).splitlines()
    assert not [line for line in listed if line.split()[1] != "0/0"], "not everything is root's"


def have_live_links(folder):
    count, dead = links.dead(folder)
    assert not dead, "\n".join(dead)
    assert count > 200, f"only {count} links were found"
    print(f"        {count} links")


def finds_dead_links(folder):
    """The check of links finds those of a bad page."""
    (folder / "bad.md").write_text(BAD_PAGE)
    count, dead = links.dead(folder)
    (folder / "bad.md").unlink()
    assert len(dead) == 4 and all(each.startswith("bad.md: ") for each in dead), dead


def paths_of_the_page(unpacked):
    """docs/install.md says where things are: the first column of its table."""
    paths = re.findall(r"^\| `(/[^`]+)` \|", (ROOT / "docs/install.md").read_text(), re.MULTILINE)
    assert len(paths) > 5, paths
    missing = [path for path in paths if not (unpacked / path[1:]).exists()]
    assert not missing, f"the package lacks {missing}"


def describes(package, binary):
    """The description names the databases of the binary, and no others."""
    said = run(binary, "--version")
    text = run("dpkg-deb", "--field", package, "Description")
    named = re.search(r"^ This build has the databases: (.*)\.$", text, re.MULTILINE)
    assert named, text
    for name in ("SQLite 3.", "PostgreSQL with TLS", "PostgreSQL without TLS", "MariaDB"):
        assert (name in named[1]) == (name in said and f"no {name}" not in said), f"{named[1]!r} of {said!r}"
    assert "(" not in named[1] and "no " not in named[1], named[1]


def describes_another(binary, folder):
    """The package of a binary without MariaDB does not claim it."""
    folder.mkdir()
    other = artifacts.other_placet(binary, folder)
    package = artifacts.package(other, folder)
    describes(package, other)
    text = run("dpkg-deb", "--info", package)
    assert "PostgreSQL without TLS.\n" in text and "maria" not in text.lower(), text


def the_same_again(binary, folder, package, tarball):
    folder.mkdir()
    assert artifacts.package(binary, folder).read_bytes() == package.read_bytes(), "the same binary gives another package"
    assert artifacts.tarball(binary, folder).read_bytes() == tarball.read_bytes(), "the same binary gives another tarball"


def check(tests, binary, folder, package, tarball):
    unpacked, top = folder / "package", folder / "tarball" / pathlib.Path(tarball).name.removesuffix(".tar.gz")
    tests.step("the package has every file, and depends on the libraries", of_package, package, unpacked)
    tests.step("the tarball has the same files", of_tarball, tarball, folder / "tarball", unpacked)
    tests.step("every link of the package leads to a file and an anchor in it", have_live_links, unpacked / DOCUMENTS)
    tests.step("so does every link of the tarball", have_live_links, top)
    tests.step("a link that leads nowhere is found", finds_dead_links, top)
    tests.step("every path of docs/install.md is in the package", paths_of_the_page, unpacked)
    tests.step("the description names the databases of the binary", describes, package, binary)
    tests.step("the package of a binary without MariaDB does not claim it", describes_another, binary, folder / "other")
    tests.step("the same binary gives the same package and tarball", the_same_again, binary, folder / "again", package, tarball)
