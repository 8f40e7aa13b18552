"""The commands of README.md and docs/ work as written, and print what the page says.

    python -m functional_tests.documents.run [PAGE]… [--binary PATH]

Each page gets a new placet, an empty folder and one shell. A free port stands in for the port 8778 of the pages. A page
with a block is run after the tour, or is in the table ELSEWHERE. So a new page cannot be forgotten. Each single command
outside of this suite is in elsewhere.py.
"""

import argparse
import os
import shutil
import sys

from functional_tests.documents import elsewhere
from functional_tests.documents.page import INDENT, commands
from functional_tests.documents.shell import Shell
from functional_tests.lib import live
from functional_tests.lib.root import ROOT
from functional_tests.lib.test_counts import TestCounts

TOUR = "README.md"
# By page with commands that need more than a placet in an empty folder: the suite that runs them, or what they are.
ELSEWHERE = {
    "docs/backup.md": "process.backup, process.old_log, process.lost_file; those of the servers' own tools are not run",
    "docs/conditions.md": "no commands: a body and a message; gabbi claims and candidates",
    "docs/configuration.md": "no commands: URLs and options",
    "docs/databases.md": "model::tests::generation_limits",
    "docs/observing.md": "metrics; HAProxy's lines are not run",
    "docs/faults.md": "race.defects.table and chaos.table, by hand: they write the page",
    "docs/install.md": "packaging, fresh, process.systemd, process.tls; podman and systemctl are not run",
    "docs/keystone.md": "no commands: options and lines of the log; auth::keystone::tests",
    "docs/limits.md": "no commands: a request with its body; gabbi limits",
    "docs/logging.md": "process.log_lines, process.request_lines; the block of logrotate's configuration is not run",
    "docs/security.md": "process.token_files",
    "docs/search-speed.md": "no commands but that of the bench, by hand: it writes the page",
    "docs/speed.md": "benches.wide_trees, by hand: it writes the page",
    "docs/switching.md": "switching",
    "docs/upgrading.md": "process.upgrading, packaging and rolling",
}
# The runner has done these: it has built placet and started it.
STARTS = {"cargo run --release"}
# Of a page that comes first, only what later pages use.
DEFINITION = "api()"


def pages():
    return sorted(str(path.relative_to(ROOT)) for path in (ROOT / "README.md", *(ROOT / "docs").glob("*.md")))


def has_block(page):
    """Whether the page has an indented block. The lines of a list are indented less."""
    return any(line.startswith(INDENT) for line in (ROOT / page).read_text().splitlines())


# By page: the page whose commands come before its own, in the same shell.
PAGES = {page: TOUR if page != TOUR else None for page in pages() if has_block(page) and page not in ELSEWHERE}


def placed(text, service):
    """A text of a page with the address and version of this run."""
    return text.replace("127.0.0.1:8778", f"127.0.0.1:{service.port}")


def environment(service):
    names = live.clean_environment()
    folder = os.path.dirname(sys.executable)
    return names | {"PATH": f"{folder}:{service.folder}:{names['PATH']}", "PYTHONUNBUFFERED": "1"}


def prepare(service):
    """The folder has what a checkout has: the examples, and placet itself."""
    (service.folder / "placet").symlink_to(live.placet_binary(service.binary))
    shutil.copytree(ROOT / "examples", service.folder / "examples")
    for script in (*(service.folder / "examples").glob("*.py"), service.folder / "examples/api.sh"):
        script.write_text(placed(script.read_text(), service))


def run_page(tests, page, binary):
    with live.Service("placet", {}, binary) as service:
        prepare(service)
        with Shell(service.folder, environment(service)) as shell:
            if before := PAGES[page]:
                for command in commands((ROOT / before).read_text()):
                    if command.text.startswith(DEFINITION):
                        shell.run(placed(command.text, service))
            for command in commands((ROOT / page).read_text()):
                if command.text not in STARTS:
                    name = f"{page}:{command.line}: {command.text.splitlines()[0]}"
                    tests.step(name, check, shell, command, service)


def check(shell, command, service):
    printed, status = shell.run(placed(command.text, service))
    assert status == 0, f"exit {status}: {printed.strip()}"
    if command.output is None:
        # curl succeeds if the service refuses.
        assert '"errors"' not in printed, printed
    else:
        command.output = placed(command.output, service)
        assert command.prints(printed), f"printed:  {printed.strip()}\nexpected: {command.output.strip()}"


def is_known():
    unknown = [page for page in PAGES if not commands((ROOT / page).read_text())]
    assert not unknown, f"say in functional-tests/documents/run.py what the blocks of {', '.join(unknown)} are"
    gone = [page for page in ELSEWHERE if not (ROOT / page).exists()]
    assert not gone, f"there is no page {', '.join(gone)}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("pages", nargs="*", metavar="PAGE", help=f"of {', '.join(PAGES)} (default: all)")
    parser.add_argument("--binary", help="placet's binary (default: of `cargo build`)")
    chosen = parser.parse_args()
    if other := [page for page in chosen.pages if page not in PAGES]:
        parser.error(f"{', '.join(other)}: " + "; ".join(ELSEWHERE.get(page, "no page with commands") for page in other))
    tests = TestCounts()
    for page in chosen.pages or PAGES:
        run_page(tests, page, chosen.binary)
    if not chosen.pages:
        tests.step("each page with commands is run, or names the suite that runs it", is_known)
        tests.step("each command of a page is run by a test, or it is said why not", elsewhere.is_accounted_for, pages(), PAGES)
        tests.step("the commands in sentences exist, with their options", elsewhere.sentences_are_right, pages(), chosen.binary)
    tests.finish()


if __name__ == "__main__":
    main()
