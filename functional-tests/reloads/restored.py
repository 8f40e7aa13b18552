"""A database restored under running processes: each process notices the restore by itself."""

import contextlib

from functional_tests.lib import live
from functional_tests.lib.patience import OPTIONS
from functional_tests.lib.rest import Rest
from functional_tests.reloads.host import add_host, claim, reloads, used

PROCESSES = 3
# In an order in which the rows of a table refer to earlier tables only.
TABLES = (
    "projects", "users", "consumer_types", "resource_classes", "traits", "placement_aggregates", "resource_providers",
    "consumers", "inventories", "allocations", "resource_provider_traits", "resource_provider_aggregates",
    "placet_writers", "placet_changes", "placet_epoch")


def back_up(database):
    with contextlib.closing(database.connect()) as connection:
        for table in TABLES:
            connection.execute(f"CREATE TABLE backup_{table} AS SELECT * FROM {table}")


def restore(database):
    """Replaces all rows in one transaction, as a restore does at once for those who are connected again."""
    with contextlib.closing(database.connect()) as connection:
        if database.engine == "mariadb":
            # It checks each row, and a provider is its own root. The id of VCPU is 0.
            connection.execute("SET foreign_key_checks = 0, sql_mode = CONCAT(@@sql_mode, ',NO_AUTO_VALUE_ON_ZERO')")
        connection.execute("BEGIN")
        for table in reversed(TABLES):
            connection.execute(f"DELETE FROM {table}")
        for table in TABLES:
            connection.execute(f"INSERT INTO {table} SELECT * FROM backup_{table}")
        connection.execute("COMMIT")


def check(binary, database):
    """After a restore each process answers as the tables say, and its claims are granted."""
    processes = 1 if database.engine == "sqlite" else PROCESSES
    with contextlib.ExitStack() as stack:
        services = [stack.enter_context(live.Service("placet", OPTIONS, binary, database)) for _ in range(processes)]
        rests = [Rest(service.port) for service in services]
        add_host(rests[0])
        for number, rest in enumerate(rests, 1):
            assert claim(rest, number).status == 204
        assert {used(rest) for rest in rests} == {processes}
        back_up(database)
        for number, rest in enumerate(rests, 100):
            assert claim(rest, number, 10).status == 204
        assert {used(rest) for rest in rests} == {11 * processes}
        restore(database)
        if database.engine == "sqlite":
            # One process on its own file reads the tables when it writes next.
            assert claim(rests[0], 300).status == 204
            assert used(rests[0]) == processes + 1
        else:
            # The last one only searches. What it shows without a write is what the tables say.
            assert [used(rest) for rest in rests] == [processes] * processes
            assert [claim(rest, number).status for number, rest in enumerate(rests, 300)] == [204] * processes
            assert [used(rest) for rest in rests] == [2 * processes] * processes
        assert all(reloads(service) >= 1 for service in services), [reloads(service) for service in services]
