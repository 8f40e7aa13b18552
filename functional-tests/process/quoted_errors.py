"""No answer quotes SQLite or names its file; the log does."""

import contextlib
import os
import sqlite3

from functional_tests.connection_pool.quoted_errors import only_the_log_quotes
from functional_tests.process.cases import case, folder
from functional_tests.process.claims import HOSTS, prepare
from functional_tests.process.full_disk import small_disk, take_room
from functional_tests.process.locked import serving
from functional_tests.process.placet_process import Placet
from functional_tests.process.read_only import database_variables


@contextlib.contextmanager
def served(database, here):
    with Placet(here, serving(commit_timeout=3), extra=database_variables(database)) as placet:
        prepare(placet.rest)
        yield placet


def quotes_nothing(placet, database, expected):
    only_the_log_quotes(placet.port, HOSTS[0], f"sqlite:///{database}", placet.log, [expected])


@case("found_n7_lost_file: no answer names the file that was removed, and the log does")
def lost_file():
    with folder() as here, served(here / "placet.sqlite", here) as placet:
        os.unlink(here / "placet.sqlite")
        quotes_nothing(placet, here / "placet.sqlite", "was removed or replaced while placet serves it")


@case("found_n7_full_disk: no answer quotes the message of a full disk, and the log does")
def full_disk():
    with small_disk() as disk, folder() as here, served(disk / "placet.sqlite", here) as placet:
        take_room(disk)
        for _ in range(20):
            placet.rest("POST", "/resource_providers", {"name": os.urandom(90).hex()})
        quotes_nothing(placet, disk / "placet.sqlite", "database or disk is full")


@case("found_n7_locked: no answer quotes the message of a locked database, and the log does")
def locked():
    with folder() as here, served(here / "placet.sqlite", here) as placet:
        with contextlib.closing(sqlite3.connect(here / "placet.sqlite", isolation_level=None)) as other:
            other.execute("BEGIN EXCLUSIVE")
            quotes_nothing(placet, here / "placet.sqlite", "database is locked")
