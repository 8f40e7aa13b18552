"""A log beside a foreign file is refused at the start; after a crash the log is played."""

import contextlib
import shutil
import sqlite3
import subprocess
import time

from functional_tests.lib import live
from functional_tests.lib.patience import HANG_SECONDS, becomes, eventually
from functional_tests.process.backups import grant, ended_after_backup, options, used
from functional_tests.process.cases import case, chance, check, equal, folder, settings
from functional_tests.process.claims import prepare
from functional_tests.process.lost_file import log_of
from functional_tests.process.placet_process import Placet, environment, refused, run

KILLS = 8
# placet looks for its mark in the file every second.


def content(database):
    return {each: each.read_bytes() for each in (database, log_of(database))}


def is_refused(here, database):
    """Serving and every command that opens the file are refused, and change neither the file nor the log."""
    before = content(database)
    extra = options(database)
    for arguments in ((), ("db", "version"), ("db", "sync"), ("db", "online_data_migrations")):
        line = refused(here, *arguments, extra=extra)
        check("is not that of" in line and f"remove {log_of(database)}" in line, line)
    check("is not that of" in str(run(here, "status", "upgrade", "check", extra=extra)))
    equal(content(database), before, "content")


def remove_log(database):
    """What the refusal says."""
    for suffix in ("-wal", "-shm"):
        database.with_name(database.name + suffix).unlink(missing_ok=True)


def backup_api(source, target):
    with contextlib.closing(sqlite3.connect(source)) as one, contextlib.closing(sqlite3.connect(target)) as other:
        one.backup(other)


def vacuum_into(source, target):
    with contextlib.closing(sqlite3.connect(source)) as connection:
        connection.execute("VACUUM INTO ?", [str(target)])


@case("a backup that was made while placet served, copied over the file of the killed placet, is refused with the old log")
def backup_of_the_same_session():
    for back_up in (backup_api, vacuum_into):
        with folder() as here:
            database, backup = ended_after_backup(here, back_up)
            shutil.copy(backup, database)
            is_refused(here, database)
            remove_log(database)
            with Placet(here, {}) as placet:
                equal(used(placet), 3)
                placet.stop()


@case("a copy of the file from an earlier clean stop, put back after a crash, is refused with the log")
def backup_of_an_earlier_session():
    with folder() as here:
        with Placet(here, {}) as placet:
            prepare(placet.rest)
            grant(placet, range(3))
            placet.stop()
        database, backup = placet.database, here / "backup"
        shutil.copy(database, backup)
        with Placet(here, {}) as placet:
            grant(placet, range(3, 7))
            placet.kill()
        shutil.copy(database, here / "crashed")
        shutil.copy(backup, database)
        is_refused(here, database)
        # The other way that the refusal names: the former file again.
        shutil.copy(here / "crashed", database)
        with Placet(here, {}) as placet:
            equal(used(placet), 7)
            placet.stop()


@case("a newer or an unrelated database, copied to a folder with an old log, is refused; so is a log without its file")
def another_database():
    with folder() as newer, folder() as here:
        with Placet(here, {}) as placet:
            prepare(placet.rest)
            grant(placet, range(3))
            placet.stop()
        shutil.copy(placet.database, newer / "placet.sqlite")
        with Placet(here, {}) as placet:
            grant(placet, range(3, 7))
            placet.kill()
        with Placet(newer, {}) as elsewhere:
            grant(elsewhere, range(20, 40))
            elsewhere.stop()
        for replace in (lambda: shutil.copy(elsewhere.database, placet.database), lambda: placet.database.write_bytes(b"")):
            replace()
            is_refused(here, placet.database)
        placet.database.unlink()
        check("the file is gone" in refused(here, extra=options(placet.database)))
        shutil.copy(elsewhere.database, placet.database)
        remove_log(placet.database)
        with Placet(here, {}) as placet:
            equal(used(placet), 23)
            placet.stop()


@case("after a clean stop any backup may be copied over the file, and a crash after that is no reason to refuse")
def restored_after_a_clean_stop():
    with folder() as here:
        database, backup = ended_after_backup(here, backup_api, Placet.stop)
        for _ in range(2):
            shutil.copy(backup, database)
            with Placet(here, {}) as placet:
                equal(used(placet), 3)
                grant(placet, range(10, 12))
                placet.kill()
            with Placet(here, {}) as placet:
                equal(used(placet), 5)
                placet.stop()


@case("file and log that were moved together are served, with and without the file of the lock, and over another one")
def moved_together():
    with folder() as here, folder() as other:
        with Placet(other, {}) as placet:
            prepare(placet.rest)
            placet.kill()
        with Placet(here, {}) as placet:
            prepare(placet.rest)
            grant(placet, range(5))
            placet.kill()
        for each in (placet.database, log_of(placet.database)):
            shutil.copy(each, other / each.name)
        with Placet(other, {}) as moved:
            equal(used(moved), 5)
            moved.stop()


@case("a log that another program left, after it checkpointed placet's, is played")
def log_of_another_program():
    with folder() as here:
        with Placet(here, {}) as placet:
            prepare(placet.rest)
            grant(placet, range(3))
            placet.kill()
        script = ("import os, sqlite3, sys; c = sqlite3.connect(sys.argv[1], isolation_level=None);"
                  "c.execute('PRAGMA wal_checkpoint(TRUNCATE)');"
                  "c.execute(\"INSERT INTO traits (name) VALUES ('CUSTOM_LEFT')\"); os._exit(9)")
        subprocess.run(["python3", "-c", script, str(placet.database)], check=False)
        check(log_of(placet.database).stat().st_size > 0, "no log was left")
        with Placet(here, {}) as placet:
            equal(used(placet), 3)
            check("CUSTOM_LEFT" in placet.rest("GET", "/traits").json["traits"])
            placet.stop()


def reader(database):
    """Another program's connection, which reads the state of this moment until it is closed."""
    connection = sqlite3.connect(database, isolation_level=None)
    connection.execute("BEGIN")
    connection.execute("SELECT COUNT(*) FROM traits").fetchone()
    return contextlib.closing(connection)


def marks(database):
    """The marks that the record allows."""
    record = database.with_name(f"{database.name}-placet-lock").read_text().split()
    return record[record.index("marks") + 1].split(",")


@case("a backup copied over the file of the killed placet is refused with the log, though another program read at the start")
def another_program_read_at_the_start():
    with folder() as here:
        backup = here / "backup"
        with Placet(here, {}) as placet:
            prepare(placet.rest)
            grant(placet, range(3))
            placet.stop()
        shutil.copy(placet.database, backup)
        with contextlib.ExitStack() as early:
            early.enter_context(reader(placet.database))
            with Placet(here, {}) as placet:
                early.close()
                becomes("the number of marks in the record", 1, lambda: len(marks(placet.database)))
                grant(placet, range(3, 7))
                placet.kill()
        crashed = content(placet.database)
        shutil.copy(backup, placet.database)
        is_refused(here, placet.database)
        placet.database.write_bytes(crashed[placet.database])
        with Placet(here, {}) as placet:
            equal(used(placet), 7)
            placet.stop()


def wait_before_kill(random, database, recorded, starting):
    """Half of the kills are at any moment of the start, and half soon after the start has written its record."""
    if random.random() < 0.5:
        time.sleep(random.uniform(0, 0.3))
        return
    eventually("the start writes a record", lambda: marks(database) != recorded or starting.poll() is not None, pause=0)
    check(marks(database) != recorded, "the start wrote no record")
    time.sleep(random.uniform(0, 0.01))


@case("SIGKILL at any moment of a start or of serving, with another program's checkpoints: no start is refused")
def killed_at_any_moment():
    random = chance("old log")
    with folder() as here:
        path = live.write_config(here, {}, here / "placet.sqlite")
        with Placet(here, {}) as placet:
            prepare(placet.rest)
            placet.kill()
        granted = 0
        for number in range(60 if settings["full"] else KILLS):
            recorded = marks(placet.database)
            starting = subprocess.Popen(
                [live.placet_binary(settings["binary"]), "--config-file", str(path), "--bind", "127.0.0.1:0"], cwd=here,
                env=environment(here), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
            wait_before_kill(random, placet.database, recorded, starting)
            starting.kill()
            errors = starting.communicate(timeout=HANG_SECONDS)[1].decode()
            check("is not that of" not in errors, errors)
            with Placet(here, {}) as placet:
                equal(used(placet) if granted else 0, granted)
                grant(placet, [number])
                granted += 1
                if random.random() < 0.5:
                    with contextlib.closing(sqlite3.connect(placet.database, timeout=HANG_SECONDS)) as other:
                        mode = random.choice(["PASSIVE", "RESTART", "TRUNCATE"])
                        other.execute(f"PRAGMA wal_checkpoint({mode})").fetchall()
                time.sleep(random.uniform(0, 0.2))
                placet.kill()
