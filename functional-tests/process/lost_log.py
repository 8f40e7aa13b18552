"""A log that cannot be written: lost lines are counted, on stderr at once, and later in the log itself."""

import contextlib
import json
import os
import re
import signal
import subprocess

from functional_tests.lib.patience import eventually
from functional_tests.process.cases import Skip, case, check, equal, folder
from functional_tests.process.full_disk import small_disk, take_room
from functional_tests.process.placet_process import LOGGED, Placet

LOST = re.compile(r"(\d+) lines? of the log (?:was|were) lost, because it could not be written: (.*)")
DROPPED = re.compile(r"^placet_log_lines_dropped_total (\d+)$", re.MULTILINE)
REQUESTS = 200


def logging_to(path, **options):
    return {"DEFAULT": {"log_file": str(path)}, "placet": options}


def ask(placet, number=REQUESTS):
    for _ in range(number):
        equal(placet.rest("GET", "/resource_providers").status, 200)


def dropped(placet):
    return int(DROPPED.search(placet.rest("GET", "/metrics").raw.decode())[1])


def is_reported(placet, log, reason):
    """Stderr has one line, which names the file and the reason."""
    lines = [line for line in placet.log().splitlines() if "cannot write the log" in line]
    equal(len(lines), 1, "lines on stderr about the log:", placet.log())
    check(str(log) in lines[0] and reason in lines[0], lines[0])


def says_what_was_lost(placet, log, reason):
    """After the log is written again, it says how many lines were lost: as many as the metric counts."""
    ask(placet, 1)
    found = [match for match in map(LOST.search, log.read_text().splitlines()) if match]
    check(found, "the log does not say what was lost:", log.read_text()[-500:])
    equal(sum(int(match[1]) for match in found), dropped(placet), "lines lost, as the log says and as the metric counts")
    check(all(reason in match[2] for match in found), found)


def is_whole(log):
    """Each line but the first is one of placet."""
    lines = log.read_text().split("\n")
    equal(lines.pop(), "", "the end of the log")
    broken = [line for line in lines if not LOGGED.match(line)]
    equal(broken, [], "lines that are not whole")


@case("found_n3_full_disk: lost lines are counted, on stderr at once, and in the log once the disk has room")
def full_disk():
    with small_disk() as disk, folder() as here:
        log = disk / "placet.log"
        with Placet(here, logging_to(log)) as placet:
            ask(placet, 10)
            filler = take_room(disk)
            ask(placet)
            check(dropped(placet) > 50, dropped(placet))
            is_reported(placet, log, "No space left on device")
            before = log.read_bytes()
            filler.unlink()
            says_what_was_lost(placet, log, "No space left on device")
            after = log.read_bytes()
            check(after.startswith(before), "the log was changed")
            # The line that had no room for its end is ended, and the next begins a line.
            ended = after[len(before):].decode()
            check(ended.startswith("\n") or before.endswith(b"\n"), ended[:100])
            check(LOGGED.match(ended.removeprefix("\n")), ended[:200])
            placet.stop()


@case("found_n3_half_line: a line that another process left without its end is ended at the start")
def half_line():
    with folder() as here:
        log = here / "placet.log"
        log.write_text("2026-01-31T12:00:00.000Z INFO  [placet::cli::serve] half a li")
        with Placet(here, logging_to(log)) as placet:
            ask(placet, 1)
            placet.stop()
        equal(log.read_text().split("\n")[0], "2026-01-31T12:00:00.000Z INFO  [placet::cli::serve] half a li")
        is_whole(log)


@contextlib.contextmanager
def read_only_file(log):
    """The file's volume refuses writes, as one that was remounted read-only after an error."""
    mount = ["mount", "--bind", str(log), str(log)]
    made = subprocess.run(mount, capture_output=True, text=True, check=False)
    if made.returncode:
        raise Skip(f"only root can make a volume read-only: {made.stderr.strip()}")
    try:
        subprocess.run(["mount", "-o", "remount,ro,bind", str(log)], check=True)
        yield
    finally:
        subprocess.run(["umount", str(log)], check=True)


@case("found_n3_read_only: a log that is opened again on a volume that became read-only goes on in the former file")
def read_only():
    with folder() as here:
        log = here / "placet.log"
        with Placet(here, logging_to(log)) as placet:
            ask(placet, 1)
            with read_only_file(log):
                placet.signal(signal.SIGHUP)
                eventually("the log says why", lambda: "Read-only file system" in log.read_text())
                ask(placet, 10)
                equal(dropped(placet), 0, "lines lost")
            placet.stop()
        is_whole(log)


@case("found_n3_closed_pipe: lines for a pipe that is closed are counted, and requests go on")
def closed_pipe():
    with folder() as here:
        reader, writer = os.pipe()
        with Placet(here, {}, stderr=writer) as placet:
            os.close(writer)
            os.close(reader)
            ask(placet)
            check(dropped(placet) >= REQUESTS, dropped(placet))
            placet.stop()


@case("found_n3_json: in JSON too each line is whole after the disk was full")
def json_lines():
    with small_disk() as disk, folder() as here:
        log = disk / "placet.log"
        with Placet(here, logging_to(log, log_format="json")) as placet:
            filler = take_room(disk)
            ask(placet)
            filler.unlink()
            ask(placet, 1)
            placet.stop()
        lines = log.read_text().splitlines()
        lost = [line for line in lines if "could not be written" in line]
        equal(json.loads(lost[0])["level"], "WARN")
        for line in lines[lines.index(lost[0]):]:
            json.loads(line)
