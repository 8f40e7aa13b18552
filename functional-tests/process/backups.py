"""A database with granted claims, and a backup made while placet served."""

from functional_tests.process.cases import equal
from functional_tests.process.claims import HOSTS, POOL, claim, prepare
from functional_tests.process.locked import consumer
from functional_tests.process.placet_process import Placet
from functional_tests.process.read_only import database_variables

CONFIGURED = {"OS_API__AUTH_STRATEGY": "noauth2", "OS_PLACEMENT_DATABASE__SYNC_ON_STARTUP": "true"}


def options(database):
    return CONFIGURED | database_variables(database)


def grant(placet, numbers):
    for number in numbers:
        equal(placet.rest("PUT", f"/allocations/{consumer(number)}", claim(HOSTS[number % 4])).status, 204)


def used(placet):
    return placet.rest("GET", f"/resource_providers/{POOL}/usages").json["usages"]["DISK_GB"]


def ended_after_backup(here, back_up, end=Placet.kill):
    """Serves, makes a backup by `back_up` at 3 claims while it serves, grants 4 more, and ends by `end`."""
    backup = here / "backup"
    with Placet(here, {}) as placet:
        prepare(placet.rest)
        grant(placet, range(3))
        back_up(placet.database, backup)
        grant(placet, range(3, 7))
        end(placet)
    return placet.database, backup
