"""What placet may not write: it says so in one line, and what was there stays as it was."""

import contextlib
import hashlib
import os
import subprocess
import time

from functional_tests.process.cases import Skip, case, check, equal, folder
from functional_tests.process.claims import HOSTS, POOL, claim, prepare
from functional_tests.process.locked import consumer, is_busy, reads_go_on
from functional_tests.process.placet_process import Placet, refused, run

NOBODY = 65534
AT_ONCE = 2.0


def database_option(path):
    return {"OS_PLACEMENT_DATABASE__CONNECTION": f"sqlite:///{path}"}


def made(here):
    """A database with some claims, which nobody serves any more; its file."""
    with Placet(here, {}) as placet:
        prepare(placet.rest)
        for number in range(8):
            equal(placet.rest("PUT", f"/allocations/{consumer(number)}", claim(HOSTS[number % 4])).status, 204)
        placet.stop()
    return here / "placet.sqlite"


def content(path):
    return {each.name: hashlib.sha256(each.read_bytes()).hexdigest() for each in sorted(path.parent.glob(f"{path.name}*"))}


def says_why(line, path):
    check(str(path) in line, "it does not say which file:", line)
    causes = ("Read-only file system", "Permission denied", "unable to open database file")
    check(any(cause in line for cause in causes), line)
    check("let placet write the file, and make files beside it" in line, "it does not say what to do:", line)


def sync_is_harmless(here, path, extra, **popen):
    """Where it can read the file it finds nothing to do; else it says why not."""
    ended = run(here, "db", "sync", extra=extra, **popen)
    if ended.code:
        says_why(ended.line, path)
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


@case("a file system that is read-only: nothing is served, a line says why, and nothing changes")
def a_read_only_mount():
    with folder() as here:
        path = made(here)
        before = content(path)
        with mounted("--bind", here, at=here / "mounted") as there:
            run_as_root("mount", "-o", "remount,bind,ro", there)
            extra = database_option(there / path.name)
            for sync in ("true", "false"):
                started = refused(here, extra=extra | {
                    "OS_API__AUTH_STRATEGY": "noauth2", "OS_PLACEMENT_DATABASE__SYNC_ON_STARTUP": sync})
                says_why(started, there / path.name)
            sync_is_harmless(here, there / path.name, extra)
        equal(content(path), before, "files")
        still_there(here)


def still_there(here):
    with Placet(here, {}) as placet:
        equal(placet.rest("GET", f"/resource_providers/{POOL}/usages").json["usages"]["DISK_GB"], 8)
        equal(placet.rest("PUT", f"/allocations/{consumer(99)}", claim(HOSTS[0])).status, 204)


@case("a file that its user may not write: the same")
def a_file_of_somebody_else():
    if os.getuid():
        raise Skip("only root can be somebody else")
    with folder() as here:
        path = made(here)
        before = content(path)
        here.chmod(0o755)
        path.chmod(0o444)
        extra = database_option(path) | {"OS_API__AUTH_STRATEGY": "noauth2", "OS_PLACEMENT_DATABASE__SYNC_ON_STARTUP": "true"}
        somebody = {"user": NOBODY, "group": NOBODY, "extra_groups": []}
        says_why(refused(here, extra=extra, **somebody), path)
        sync_is_harmless(here, path, extra, **somebody)
        equal(content(path), before, "files")
        path.chmod(0o644)
        still_there(here)


@contextlib.contextmanager
def failing_disk(here):
    """A small disk, and what has the kernel make it read-only, as after an error that it found on it."""
    image = here / "image"
    with open(image, "wb") as file:
        file.truncate(32 << 20)
    run_as_root("mkfs.ext4", "-q", "-F", image)
    with mounted("-o", "loop,errors=remount-ro", image, at=here / "disk") as disk:
        device = os.path.basename(run_as_root("findmnt", "-no", "SOURCE", disk))
        switch = f"/sys/fs/ext4/{device}/trigger_fs_error"
        if not os.access(switch, os.W_OK):
            raise Skip("this kernel lets nobody make a file system fail")

        def fail():
            with open(switch, "w") as file:
                file.write("1\n")
        yield disk, fail


@case("a disk that turns read-only: claims are 503, the log says what to do, reads go on, and nothing acknowledged is lost")
def it_turns_read_only():
    with folder() as here, failing_disk(here) as (disk, fail):
        extra = database_option(disk / "placet.sqlite")
        with Placet(here, {"placet": {"commit_timeout": "2"}}, extra=extra) as placet:
            prepare(placet.rest)
            for number in range(8):
                equal(placet.rest("PUT", f"/allocations/{consumer(number)}", claim(HOSTS[number % 4])).status, 204)
            fail()
            # Nobody can write that the first one did not happen: it is not said either.
            is_busy(placet.rest("PUT", f"/allocations/{consumer(10)}", claim(HOSTS[0])))
            for number in range(11, 15):
                began = time.monotonic()
                answer = placet.rest("PUT", f"/allocations/{consumer(number)}", claim(HOSTS[0]))
                is_busy(answer)
                check("Nothing was changed" in str(answer), answer)
                check(time.monotonic() - began < AT_ONCE, "refused late")
            reads_go_on(placet)
            equal(placet.rest("GET", f"/resource_providers/{POOL}/usages").json["usages"]["DISK_GB"], 8)
            lines = [line for line in placet.log().splitlines() if "ERROR" in line and "let placet write the file" in line]
            check(lines, "the log does not say what to do:", placet.log()[-2000:])
            placet.stop()
        # What is on the disk is all that there is.
        for each in disk.glob("placet.sqlite*"):
            (here / each.name).write_bytes(each.read_bytes())
        with Placet(here, {}) as placet:
            used = placet.rest("GET", f"/resource_providers/{POOL}/usages").json["usages"]["DISK_GB"]
            check(used in (8, 9), f"{used} claims are there, 8 were acknowledged, of one nobody knows")
            equal(placet.rest("PUT", f"/allocations/{consumer(99)}", claim(HOSTS[0])).status, 204)
