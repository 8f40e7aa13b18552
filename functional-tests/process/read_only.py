"""A database that placet may not write: placet reports this in one line, and the files stay unchanged."""

import contextlib
import hashlib
import os
import subprocess
import time

from functional_tests.process.cases import Skip, case, check, equal, folder
from functional_tests.process.claims import HOSTS, POOL, claim, prepare
from functional_tests.process.locked import check_reads, consumer, is_busy
from functional_tests.process.placet_process import Placet, refused, run

UNPRIVILEGED_UID = 65534
COMMIT_TIMEOUT_SECONDS = 20


def database_variables(path):
    """The environment of a process on this database and a free port. The usual port may be another case's."""
    return {"OS_PLACEMENT_DATABASE__CONNECTION": f"sqlite:///{path}", "OS_PLACET__BIND": "127.0.0.1:0"}


def database_with_claims(here):
    """Makes a database with 8 claims, and returns its path; the process that wrote it has ended."""
    with Placet(here, {}) as placet:
        prepare(placet.rest)
        for number in range(8):
            equal(placet.rest("PUT", f"/allocations/{consumer(number)}", claim(HOSTS[number % 4])).status, 204)
        placet.stop()
    return here / "placet.sqlite"


def content(path):
    """The SHA-256 of each file of the database, by name."""
    files = sorted(path.parent.glob(f"{path.name}*"))
    return {each.name: hashlib.sha256(each.read_bytes()).hexdigest() for each in files}


def check_message(line, path):
    check(str(path) in line, "it does not say which file:", line)
    causes = ("Read-only file system", "Permission denied", "unable to open database file")
    check(any(cause in line for cause in causes), line)
    check("let placet write the file, and make files beside it" in line, "it does not say what to do:", line)


def sync_is_harmless(here, path, extra, **popen):
    """`db sync` finds nothing to do if it can read the file, and else says why not."""
    ended = run(here, "db", "sync", extra=extra, **popen)
    if ended.code:
        check_message(ended.line, path)
    else:
        check("there was nothing to do" in ended.out, ended)


def run_as_root(*command):
    done = subprocess.run([*map(str, command)], capture_output=True, text=True, check=False)
    if done.returncode:
        raise Skip(f"only root can do it here: {command[0]}: {done.stderr.strip()}")
    return done.stdout.strip()


@contextlib.contextmanager
def mounted(*arguments, at):
    at.mkdir(exist_ok=True)
    run_as_root("mount", *arguments, at)
    try:
        yield at
    finally:
        subprocess.run(["umount", "--lazy", str(at)], check=True)


@case("a start on a read-only file system is refused in one line that says why, and nothing changes")
def a_read_only_mount():
    with folder() as here:
        path = database_with_claims(here)
        before = content(path)
        with mounted("--bind", here, at=here / "mounted") as there:
            run_as_root("mount", "-o", "remount,bind,ro", there)
            extra = database_variables(there / path.name)
            for sync in ("true", "false"):
                started = refused(here, extra=extra | {
                    "OS_API__AUTH_STRATEGY": "noauth2", "OS_PLACEMENT_DATABASE__SYNC_ON_STARTUP": sync})
                check_message(started, there / path.name)
            sync_is_harmless(here, there / path.name, extra)
        equal(content(path), before, "files")
        check_claims_survived(here)


def check_claims_survived(here):
    with Placet(here, {}) as placet:
        equal(placet.rest("GET", f"/resource_providers/{POOL}/usages").json["usages"]["DISK_GB"], 8)
        equal(placet.rest("PUT", f"/allocations/{consumer(99)}", claim(HOSTS[0])).status, 204)


@case("a start on a file that the process may not write is refused in one line that says why, and nothing changes")
def a_file_of_another_user():
    if os.getuid():
        raise Skip("only root can run a process as another user")
    with folder() as here:
        path = database_with_claims(here)
        before = content(path)
        here.chmod(0o755)
        path.chmod(0o444)
        extra = database_variables(path) | {
            "OS_API__AUTH_STRATEGY": "noauth2", "OS_PLACEMENT_DATABASE__SYNC_ON_STARTUP": "true"}
        other_user = {"user": UNPRIVILEGED_UID, "group": UNPRIVILEGED_UID, "extra_groups": []}
        check_message(refused(here, extra=extra, **other_user), path)
        sync_is_harmless(here, path, extra, **other_user)
        equal(content(path), before, "files")
        path.chmod(0o644)
        check_claims_survived(here)


@contextlib.contextmanager
def failing_disk(here):
    """A small disk, and a function that has the kernel make it read-only, as after an error on the disk."""
    image = here / "image"
    with open(image, "wb") as file:
        file.truncate(32 << 20)
    run_as_root("mkfs.ext4", "-q", "-F", image)
    with mounted("-o", "loop,errors=remount-ro", image, at=here / "disk") as disk:
        device = os.path.basename(run_as_root("findmnt", "-no", "SOURCE", disk))
        switch = f"/sys/fs/ext4/{device}/trigger_fs_error"
        if not os.access(switch, os.W_OK):
            raise Skip("this kernel cannot simulate an error of a file system")

        def fail():
            with open(switch, "w") as file:
                file.write("1\n")
        yield disk, fail


@case("a disk that becomes read-only: claims are 503, the log has advice, reads are served, acknowledged claims stay")
def it_turns_read_only():
    with folder() as here, failing_disk(here) as (disk, fail):
        extra = database_variables(disk / "placet.sqlite")
        with Placet(here, {"placet": {"commit_timeout": str(COMMIT_TIMEOUT_SECONDS)}}, extra=extra) as placet:
            prepare(placet.rest)
            for number in range(8):
                equal(placet.rest("PUT", f"/allocations/{consumer(number)}", claim(HOSTS[number % 4])).status, 204)
            fail()
            # The outcome of the first claim is unknown, so its answer need not say that nothing was changed.
            is_busy(placet.rest("PUT", f"/allocations/{consumer(10)}", claim(HOSTS[0])))
            for number in range(11, 15):
                began = time.monotonic()
                answer = placet.rest("PUT", f"/allocations/{consumer(number)}", claim(HOSTS[0]))
                is_busy(answer)
                check("Nothing was changed" in str(answer), answer)
                check(time.monotonic() - began < COMMIT_TIMEOUT_SECONDS / 2, "refused late")
            check_reads(placet)
            equal(placet.rest("GET", f"/resource_providers/{POOL}/usages").json["usages"]["DISK_GB"], 8)
            lines = [line for line in placet.log().splitlines()
                     if "ERROR" in line and "let placet write the file" in line]
            check(lines, "the log does not say what to do:", placet.log()[-2000:])
            placet.stop()
        # The next process gets only what is on the disk.
        for each in disk.glob("placet.sqlite*"):
            (here / each.name).write_bytes(each.read_bytes())
        with Placet(here, {}) as placet:
            used = placet.rest("GET", f"/resource_providers/{POOL}/usages").json["usages"]["DISK_GB"]
            check(used in (8, 9), f"{used} claims are stored; 8 were acknowledged, and the outcome of one is unknown")
            equal(placet.rest("PUT", f"/allocations/{consumer(99)}", claim(HOSTS[0])).status, 204)
