"""The commands of pages that the suite `documents` does not run: the suite of each command, or the reason for none.

A command without a table here fails the suite. So does an entry whose command is gone, and an entry whose test has lost
the text that identifies the test.
"""

import dataclasses
import itertools
import re
import shlex
import subprocess

from functional_tests.documents.page import INDENT, PROMPT
from functional_tests.lib import live
from functional_tests.lib.patience import HANG_SECONDS
from functional_tests.lib.root import ROOT

# With these words a line of a block begins that is a command. After a prompt every line is one.
PROGRAM = re.compile(
    r"placet (?!\d)|(curl|cargo|systemctl|systemd-run|journalctl|apt-get|podman|docker|cp|mv|rm|kill|openstack|psql|pg_dump|"
    r"pg_restore|mariadb|mariadb-dump|mysql|mysqldump|placement-manage|placement-status|python3?|sudo|ssh) "
    r"|\./tox\.sh|contrib/|examples/|[A-Z]+=\$\(|(UPDATE|INSERT INTO|DELETE FROM|DROP TABLE|ALTER TABLE) ")


@dataclasses.dataclass
class By:
    """The test that runs the command, or does what it does: a file, and a text in it."""

    file: str
    text: str


@dataclasses.dataclass
class NotRun:
    why: str


SWITCHING = By("functional-tests/switching/run.py", 'GUIDE = ROOT / "docs/switching.md"')
DUMPED = NotRun("the tools of servers; process.backup checks that placet prints these commands")
SYSTEMD = NotRun("needs systemd as the first process; process.systemd and packaging start what the unit starts")
FRESH = By("functional-tests/fresh/installed.py", 'GUIDE = ROOT / "docs/install.md"')
NO_ENGINE = NotRun("needs a container engine; packaging checks the Containerfile")

# By page, by the beginning of the command, without its prompt.
COMMANDS = {
    "README.md": {
        "cargo run --release": By("tox.sh", "cargo build --release"),
        "./tox.sh": By("functional-tests/fresh/run.py", "tox.sh"),
        "placet --config-file /etc/placement/placement.conf status upgrade check": SWITCHING,
        "placet --config-file /etc/placement/placement.conf db sync": SWITCHING,
    },
    "docs/backup.md": {
        "placet --config-file /etc/placement/placement.conf db backup":
            By("functional-tests/process/backup.py", '"db", "backup"'),
        "placet --config-file /etc/placement/placement.conf db restore":
            By("functional-tests/process/backup.py", '"db", "restore"'),
        "cp /proc/PID/fd/N": By("functional-tests/process/lost_file.py", 'shutil.copy(f"/proc/{process}/fd/{file}", new)'),
        "cp /proc/PID/fd/M": By("functional-tests/process/lost_file.py", 'shutil.copy(f"/proc/{process}/fd/{log}"'),
        "pg_dump": DUMPED, "pg_restore": DUMPED, "mariadb-dump": DUMPED, "mariadb --host": DUMPED,
    },
    "docs/databases.md": {
        "UPDATE resource_providers SET generation = 0":
            By("src/model/tests/generation_limits.rs", "UPDATE resource_providers SET generation = 0"),
    },
    "docs/install.md": {
        "cargo build --profile dist": By("functional-tests/packaging/release.py", "--profile dist"),
        "contrib/build-release.sh dist": By("functional-tests/packaging/release.py", "contrib/build-release.sh"),
        "apt-get install ./placet_*.deb": FRESH, "apt-get install libmariadb3 libssl3": FRESH,
        "tar -xzf placet-*-linux.tar.gz": FRESH, "bin/placet": FRESH, "install ": FRESH, "adduser": FRESH,
        "systemctl enable --now placet": SYSTEMD, "systemctl status placet": SYSTEMD, "journalctl --unit placet": SYSTEMD,
        "runuser -u placet -- placet --config-file /etc/placet/placement.conf config check --database":
            By("functional-tests/process/placet_process.py", '"config", "check", "--database"'),
        "podman build": NO_ENGINE, "podman run": NO_ENGINE,
    },
    "docs/security.md": {
        "TOKEN=$(placet": By("functional-tests/process/token_files.py", '"token", "create", "--user"'),
        "curl -H \"X-Auth-Token: $TOKEN\"": By("functional-tests/process/token_files.py", 'create(here, path, "admin"'),
    },
    "docs/speed.md": {
        "cargo build --profile dist && .tox/venv/bin/python -m benches.wide_trees": NotRun("a measurement, by hand"),
    },
    "docs/switching.md": {
        beginning: SWITCHING for beginning in (
            "placet --config-file", "curl --fail", "systemctl", "placement-status")
    } | {"systemctl daemon-reload": SYSTEMD},
    "docs/upgrading.md": {
        "apt-get install ./placet_*.deb": By("functional-tests/packaging/private_root.py", '"--install", "/tmp/placet.deb"'),
        "runuser -u placet -- placet --config-file /etc/placet/placement.conf db sync":
            By("functional-tests/process/upgrading.py", '"db", "sync"'),
        "systemctl restart placet": SYSTEMD,
        "runuser -u placet -- placet --config-file /etc/placet/placement.conf db drop":
            By("functional-tests/process/upgrading.py", '"db", "drop"'),
        "curl --fail --retry 60": By("functional-tests/metrics/health.py", "/health/ready"),
    },
}
INLINE = re.compile(r"`((?:placet (?!\d)|\./tox\.sh|contrib/)[^`]*)`")
STAGE = re.compile(r"^(\w+)\(\) \{", re.MULTILINE)


def lines(page):
    """The commands of a page's blocks, with their lines, without prompts."""
    found, goes_on = [], False
    for number, line in enumerate((ROOT / page).read_text().splitlines(), 1):
        text = line.removeprefix(INDENT)
        begins = line.startswith((PROMPT, INDENT + "# ")) or PROGRAM.match(text)
        if line.startswith(INDENT) and begins and not goes_on:
            found.append((number, text.removeprefix("$ ").removeprefix("# "), line.startswith(PROMPT)))
        goes_on = line.startswith(INDENT) and line.endswith("\\")
    return found


def is_accounted_for(pages, run):
    """Each command that the pages of `run` do not run themselves is in the table, and each entry has its command and
    test.
    """
    unknown, used = [], set()
    for page in pages:
        for number, text, prompted in lines(page):
            if page in run and prompted:
                continue
            entry = max((each for each in COMMANDS.get(page, {}) if text.startswith(each)), key=len, default=None)
            if entry is None:
                unknown.append(f"{page}:{number}: {text}")
            used.add((page, entry))
    assert not unknown, "say in documents/elsewhere.py which test runs these, or why none does:\n" + "\n".join(unknown)
    gone = [(page, entry) for page, entries in COMMANDS.items() for entry in entries if (page, entry) not in used]
    assert not gone, f"there is no such command: {gone}"
    for page, entries in COMMANDS.items():
        for entry, known in entries.items():
            if isinstance(known, By):
                assert known.text in (ROOT / known.file).read_text(), f"{page}: {entry}: {known.text!r} is not in {known.file}"


def in_sentences(page):
    """The commands within sentences: `placet …`, `./tox.sh …` and files of contrib/."""
    text = re.sub(r"\s+", " ", (ROOT / page).read_text())
    return sorted(set(INLINE.findall(text)))


def exists(command, binary):
    """Whether placet has this subcommand with these options, tox.sh this stage, and contrib/ this file."""
    # What follows `…` or a comment is no part of it.
    words = [word for word in shlex.split(command, comments=True) if word != "…"]
    if words[0] == "./tox.sh":
        stages = STAGE.findall((ROOT / "tox.sh").read_text())
        return all(word in stages for word in itertools.takewhile(lambda word: not word.startswith("-"), words[1:]))
    if words[0] != "placet":
        return (ROOT / words[0]).exists()
    done = subprocess.run([str(live.placet_binary(binary)), *words[1:], "--help"], capture_output=True, text=True,
                          timeout=HANG_SECONDS, env=live.clean_environment(), check=False)
    return done.returncode == 0


def sentences_are_right(pages, binary):
    wrong = [f"{page}: {command}" for page in pages for command in in_sentences(page) if not exists(command, binary)]
    assert not wrong, "there are no such commands:\n" + "\n".join(wrong)
