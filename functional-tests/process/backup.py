"""`placet db backup` and `placet db restore`."""

import contextlib
import os
import shutil
import signal
import sqlite3
import subprocess
import time

from functional_tests.lib.patience import HANG_SECONDS
from functional_tests.process.backups import grant, ended_after_backup, options, used
from functional_tests.process.cases import case, chance, check, equal, folder, settings
from functional_tests.process.claims import HOSTS, ClientGroup, prepare
from functional_tests.process.damaged_file import overwrite
from functional_tests.process.lost_file import log_of
from functional_tests.process.placet_process import Placet, binary, environment, refused, run
from functional_tests.process.whole_file import files, is_one_file, rows_of_copy

BACKUPS, KILLS = 6, 8


def succeeds(here, *arguments, database):
    ended = run(here, "db", *arguments, extra=options(database))
    equal(ended.code, 0, ended)
    return ended


def epoch(path):
    with contextlib.closing(sqlite3.connect(path)) as connection:
        return connection.execute("SELECT epoch FROM placet_epoch").fetchone()[0]


@case("`db backup` while 8 clients claim: each backup is one file with every claim acknowledged before it, and serves")
def backed_up_under_load():
    with folder() as here:
        clients, backups = ClientGroup(chance("backup"), clients=8), []
        with Placet(here, {}) as placet:
            prepare(placet.rest)
            clients.start(placet.port)
            clients.wait_for_grants(20)
            for number in range(BACKUPS):
                before = clients.granted - clients.leaving - clients.released
                backup = here / f"backup {number}'"
                succeeds(here, "backup", backup, database=placet.database)
                backups.append((backup, before))
            clients.finish()
            placet.stop()
        for backup, before in backups:
            is_one_file(backup)
            stored = set(rows_of_copy(backup, "SELECT consumer_id FROM allocations"))
            lost = before - clients.released - clients.leaving - stored
            check(not lost, f"{len(lost)} claims acknowledged before the backup are not in it")
            equal(stored - clients.granted - clients.unknown, set(), "claims that were not granted")
            equal([each.name for each in here.glob("*partial*")], [])
        with Placet(here, None, extra=options(backups[0][0])) as placet:
            equal(len(rows_of_copy(backups[0][0], "SELECT id FROM resource_providers")), len(HOSTS) + 1)
            placet.stop()


@case("`db backup` overwrites no file, and a backup that fails leaves none")
def backup_refused():
    with folder() as here, Placet(here, {}) as placet:
        prepare(placet.rest)
        existing = here / "existing"
        existing.write_text("mine")
        line = refused(here, "db", "backup", existing, extra=options(placet.database))
        check("exists already" in line, line)
        equal(existing.read_text(), "mine")
        check("No such file" in refused(here, "db", "backup", here / "none" / "b", extra=options(placet.database)))
        missing = here / "missing.sqlite"
        check("there is no database" in refused(here, "db", "backup", here / "b", extra=options(missing)))
        check(not list(here.glob("b*")) and not missing.exists(), "files were left")


@case("`db backup` refuses a name that is not UTF-8 and a database without tables, and leaves no file")
def unusable_backup():
    with folder() as here, Placet(here, {}) as placet:
        line = refused(here, "db", "backup", os.fsdecode(b"b\xff"), extra=options(placet.database))
        check("UTF-8" in line, line)
        empty = here / "empty.sqlite"
        empty.touch()
        line = refused(here, "db", "backup", "b", extra=options(empty))
        check("no tables" in line, line)
        check(not list(here.glob("b*")), "files were left:", *here.glob("b*"))


@case("a backup of a database that only its owner may read has the same mode")
def backup_mode():
    with folder() as here, Placet(here, {}) as placet:
        placet.database.chmod(0o600)
        succeeds(here, "backup", here / "b", database=placet.database)
        equal(oct((here / "b").stat().st_mode & 0o777), oct(0o600))


def a_backup(here):
    """A backup with 3 claims of a database that has 7, whose placet was killed."""
    return ended_after_backup(here, lambda source, target: succeeds(here, "backup", target, database=source))


@case("`db restore` after a crash, with or without a copy by hand before: the backup is served, and the epoch is new")
def restored():
    for by_hand in (False, True):
        with folder() as here:
            database, backup = a_backup(here)
            check(log_of(database).stat().st_size > 0, "no log was left")
            content, known = backup.read_bytes(), epoch(backup)
            if by_hand:
                shutil.copy(backup, database)
                check("is not that of" in refused(here, extra=options(database)))
            succeeds(here, "restore", backup, database=database)
            equal(files(database), [database.name], "files")
            equal(backup.read_bytes(), content, "the backup")
            check(epoch(database) != known, "the epoch is the backup's")
            with Placet(here, {}) as placet:
                equal(used(placet), 3)
                grant(placet, range(20, 22))
                placet.kill()
            with Placet(here, {}) as placet:
                equal(used(placet), 5)
                placet.stop()


@case("`db restore` takes a backup with a log of its own, and makes a database where there was none")
def restored_with_a_log():
    with folder() as here, folder() as elsewhere:
        with Placet(here, {}) as placet:
            prepare(placet.rest)
            grant(placet, range(4))
            placet.kill()
        new = elsewhere / "new.sqlite"
        output = succeeds(elsewhere, "restore", placet.database, database=new).out
        check(f"{placet.database} and its log {log_of(placet.database)}" in output, output)
        is_one_file(new)
        equal(len(rows_of_copy(new, "SELECT DISTINCT consumer_id FROM allocations")), 4)
        check(log_of(placet.database).stat().st_size > 0, "the log of the backup is gone")


@case("`db restore` refuses a served database, a damaged or unrelated file, and an open one; nothing is changed")
def restore_refused():
    with folder() as here:
        database, backup = a_backup(here)
        with Placet(here, {}) as placet:
            line = refused(here, "db", "restore", backup, extra=options(database))
            check("another placet serves" in line, line)
            equal(used(placet), 7)
            placet.stop()
        before = database.read_bytes()
        damaged, unrelated, text = here / "damaged", here / "unrelated", here / "text"
        damaged.write_bytes(backup.read_bytes())
        overwrite(damaged, "inventories")
        with contextlib.closing(sqlite3.connect(unrelated)) as connection:
            connection.execute("CREATE TABLE a (b)")
        text.write_text("no database " * 1000)
        for bad in (damaged, unrelated, text):
            line = refused(here, "db", "restore", bad, extra=options(database))
            check("nothing was replaced" in line or "damaged" in line or "malformed" in line, line)
        check("No such file" in refused(here, "db", "restore", here / "none", extra=options(database)))
        with contextlib.closing(sqlite3.connect(database)) as other:
            other.execute("SELECT COUNT(*) FROM traits").fetchone()
            line = refused(here, "db", "restore", backup, extra=options(database))
            check("another program has the database" in line, line)
        equal(database.read_bytes(), before, "the database")
        is_one_file(database)
        check(not list(here.glob("*restore*")), "files were left")


@case("`db restore` refuses the database itself, a served file, and a backup beside the log of another file")
def source_refused():
    with folder() as here:
        database, backup = a_backup(here)
        line = refused(here, "db", "restore", database, extra=options(database))
        check("it is the database itself" in line, line)
        other = here / "other.sqlite"
        shutil.copy(backup, database)
        before = files(database), database.read_bytes()
        line = refused(here, "db", "restore", database, extra=options(other))
        check("nothing was replaced" in line and "is not that of" in line, line)
        equal((files(database), database.read_bytes()), before)
        succeeds(here, "restore", backup, database=database)
        with Placet(here, {}) as placet:
            line = refused(here, "db", "restore", placet.database, extra=options(other))
            check("placet serves it" in line, line)
            placet.stop()
        check(not other.exists(), "a database was made")


@case("`db restore` over a file with the log of another one is refused while another program has the file open")
def restore_refused_beside_a_foreign_log():
    with folder() as here:
        database, backup = a_backup(here)
        shutil.copy(backup, database)
        script = ("import sqlite3, sys; c = sqlite3.connect(sys.argv[1]); c.execute('PRAGMA schema_version').fetchone();"
                  "print('open', flush=True); sys.stdin.read()")
        with subprocess.Popen(["python3", "-c", script, str(database)], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as other:
            equal(other.stdout.readline(), b"open\n")
            line = refused(here, "db", "restore", backup, extra=options(database))
            check("another program has the database" in line, line)
            other.kill()
        succeeds(here, "restore", backup, database=database)
        with Placet(here, {}) as placet:
            equal(used(placet), 3)
            placet.stop()


@case("SIGKILL at any moment of `db restore` leaves the old database or the backup")
def restore_killed():
    random = chance("restore")
    with folder() as here:
        database, backup = a_backup(here)
        whole = {each.name: each.read_bytes() for each in here.glob(f"{database.name}*")}
        began = time.monotonic()
        succeeds(here, "restore", backup, database=database)
        took = time.monotonic() - began
        found = []
        for _ in range(60 if settings["full"] else KILLS):
            for each in here.glob(f"{database.name}*"):
                each.unlink()
            for name, content in whole.items():
                (here / name).write_bytes(content)
            restoring = subprocess.Popen(
                [binary(), "db", "restore", str(backup)], cwd=here, env=environment(here, options(database)),
                stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            time.sleep(random.uniform(0, 1.2 * took))
            restoring.send_signal(signal.SIGKILL)
            restoring.wait(HANG_SECONDS)
            with Placet(here, {}) as placet:
                found.append(used(placet))
                placet.stop()
        check(set(found) <= {3, 7}, found)
        print(f"        {found.count(7)} times the old database, {found.count(3)} times the backup", flush=True)


@case("for a database on a server, `db backup` and `db restore` name the command of the server's own tool")
def on_a_server():
    with folder() as here:
        for url, commands in (
                ("postgresql://p:secret@db.example:5433/place",
                 ("`pg_dump --format=custom --file=b --dbname=postgresql://p@db.example:5433/place`",
                  "`pg_restore --clean --if-exists --single-transaction --dbname=postgresql://p@db.example:5433/place b`")),
                ("mysql+pymysql://p:secret@db.example/place",
                 ("`mariadb-dump --host=db.example --user=p --password --single-transaction --result-file=b place`",
                  "`mariadb --host=db.example --user=p --password place < b`"))):
            extra = {"OS_API__AUTH_STRATEGY": "noauth2", "OS_PLACEMENT_DATABASE__CONNECTION": url}
            for name, command in zip(("backup", "restore"), commands):
                line = refused(here, "db", name, "b", extra=extra)
                check(command in line, line)
