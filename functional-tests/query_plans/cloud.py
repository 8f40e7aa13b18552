"""Writes a cloud of a given size into the tables that `placet db sync` made.

Of every 25 providers the first five are a tree, a host with its hardware. The remaining providers have neither parents
nor children. Every two hundredth provider is a disk pool that shares with an aggregate. There are as many consumers as
providers. Each consumer has three allocations, of which one is on a pool. The SQL is set-based. The text of the SQL is
the same for all engines, except for the entries of `Words`.
"""

from dataclasses import dataclass

UUID = {"provider": "a1000000", "consumer": "c1000000", "aggregate": "e1000000"}
PROJECTS = USERS = 20_000
BIG_PROJECTS = 100  # they have half of all consumers
AGGREGATES = 1_000
PROVIDERS_PER_POOL, PROVIDERS_PER_TREE = 200, 5
# Changes in the change feed by a living writer, and by one that has been silent for two hours.
CHANGES = {"living-1": 9_000, "silent-1": 500}


def uuid(kind, number):
    return f"{UUID[kind]}-0000-4000-8000-{number:012}"


@dataclass
class Words:
    """The SQL of one engine."""
    series: str        # the numbers from 1 to {}, as a table with the column n
    padded: str        # a number of twelve digits
    mod: str = "(({}) % {})"
    div: str = "(({}) / {})"
    now: str = "CURRENT_TIMESTAMP"
    past: str = ""     # two hours ago
    gather: str = "ANALYZE"
    tables: str = "{}"

    def uuid(self, kind, number):
        return f"'{UUID[kind]}-0000-4000-8000-' || " + self.padded.format(number)


WORDS = {
    "sqlite": Words(
        "(WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c WHERE n < {}) SELECT n FROM c) s",
        "printf('%012d', {})", past="datetime('now', '-2 hours')",
        # In production SQLite has no statistics: placet never runs ANALYZE. So the test has none either.
        gather=""),
    "postgresql": Words("generate_series(1, {}) AS s(n)", "lpad(({})::text, 12, '0')",
                        past="now() at time zone 'utc' - interval '2 hours'", now="now() at time zone 'utc'"),
    "mariadb": Words("(SELECT CAST(seq AS SIGNED) AS n FROM seq_1_to_{}) s", "LPAD({}, 12, '0')", div="(({}) DIV {})",
                     past="UTC_TIMESTAMP(6) - INTERVAL 2 HOUR", now="UTC_TIMESTAMP(6)", gather="ANALYZE TABLE {}"),
}
LOADED_TABLES = (
    "resource_providers", "inventories", "allocations", "consumers", "projects", "users", "placement_aggregates",
    "resource_provider_traits", "resource_provider_aggregates", "placet_writers", "placet_changes")


def statements(words, providers, first):
    """The INSERTs, in order; `first` is the id of the first provider."""
    series, mod, div = words.series, words.mod, words.div
    place = f"{mod.format('n - 1', PROVIDERS_PER_TREE)}"  # the place in the tree, if it is in one
    in_tree = f"{mod.format(div.format('n - 1', PROVIDERS_PER_TREE), 5)} = 0"
    pool = f"{mod.format('n', PROVIDERS_PER_POOL)} = 0"
    is_child = f"({in_tree} AND {place} > 0)"
    rows = series.format(providers)
    yield f"INSERT INTO projects (external_id) SELECT 'project-' || n FROM {series.format(PROJECTS)}"
    yield f"INSERT INTO users (external_id) SELECT 'user-' || n FROM {series.format(USERS)}"
    yield "INSERT INTO resource_classes (id, name) VALUES (10000, 'CUSTOM_DISK')"
    yield "INSERT INTO traits (name) VALUES ('CUSTOM_EVERYWHERE')"
    yield "INSERT INTO consumer_types (id, name) VALUES (101, 'CLOUD'), (102, 'MOVING')"
    yield (f"INSERT INTO placement_aggregates (id, uuid) SELECT 1000 + n, {words.uuid('aggregate', 'n')} "
           f"FROM {series.format(AGGREGATES)}")
    yield ("INSERT INTO resource_providers (id, uuid, name, generation, root_provider_id, parent_provider_id) "
           f"SELECT {first} + n, {words.uuid('provider', 'n')}, 'cloud-' || n, 3, "
           f"{first} + n - CASE WHEN {is_child} THEN {place} ELSE 0 END, "
           f"CASE WHEN {is_child} THEN {first} + n - {place} END FROM {rows}")
    for klass, total in ((0, 64), (1, 262144), (10000, 4000)):
        yield ("INSERT INTO inventories (resource_provider_id, resource_class_id, total, reserved, min_unit, max_unit, "
               f"step_size, allocation_ratio) SELECT {first} + n, {klass}, CASE WHEN {pool} THEN 2000000 ELSE {total} END, "
               f"0, 1, 1000000, 1, 1.0 FROM {rows}")
    yield (f"INSERT INTO resource_provider_traits (resource_provider_id, trait_id) SELECT {first} + n, t.id FROM {rows} "
           f"JOIN (SELECT id, name FROM traits WHERE name IN ('HW_CPU_X86_AVX2', 'CUSTOM_EVERYWHERE', "
           f"'MISC_SHARES_VIA_AGGREGATE')) t ON (t.name = 'MISC_SHARES_VIA_AGGREGATE') = ({pool})")
    yield (f"INSERT INTO resource_provider_aggregates (resource_provider_id, aggregate_id) "
           f"SELECT {first} + n, 1001 + {mod.format('n', AGGREGATES)} FROM {rows}")
    yield ("INSERT INTO consumers (uuid, project_id, user_id, generation, consumer_type_id) "
           f"SELECT {words.uuid('consumer', 'n')}, 1 + CASE WHEN {mod.format('n', 2)} = 0 "
           f"THEN {mod.format(div.format('n', 2), BIG_PROJECTS)} ELSE {mod.format('n', PROJECTS)} END, "
           f"1 + {mod.format('n', USERS)}, 1, "
           f"101 + {mod.format('n', 2)} FROM {rows}")
    pool_number = div.format('n - 1', PROVIDERS_PER_POOL)
    # A consumer has processors and memory of a host and disk of a pool; two hundred have what one pool gives.
    for klass, amount, where in ((0, 2, "n"), (1, 4096, "n"),
                                 (10000, 20, f"{PROVIDERS_PER_POOL} * (1 + {pool_number})")):
        yield ("INSERT INTO allocations (resource_provider_id, consumer_id, resource_class_id, used) "
               f"SELECT {first} + {where}, {words.uuid('consumer', 'n')}, {klass}, {amount} FROM {rows}")
    for writer, changes in CHANGES.items():
        seen = words.past if writer.startswith("silent") else words.now
        yield ("INSERT INTO placet_writers (id, revision, token, seen_at) "
               f"VALUES ('{writer}', {changes}, 't', {seen})")
        yield ("INSERT INTO placet_changes (writer, revision, token, committed_at, body) "
               f"SELECT '{writer}', n, 't', {seen}, '{{}}' FROM {series.format(changes)}")


def load(database, providers):
    """Fills new tables, and lets the engine gather its statistics."""
    words = WORDS[database.engine]
    connection = database.connect()
    try:
        if database.engine == "mariadb":
            connection.execute("SET sql_mode = 'PIPES_AS_CONCAT,NO_AUTO_VALUE_ON_ZERO', foreign_key_checks = 0, "
                               "unique_checks = 0")
        if database.engine == "postgresql":
            # Skips the checks of foreign keys, which take longer than the inserts. The rows are made so that they hold.
            connection.execute("SET session_replication_role = replica")
        connection.execute("BEGIN")
        for statement in statements(words, providers, 100):
            connection.execute(statement)
        if database.engine == "postgresql":
            for table in ("resource_providers", "placement_aggregates", "consumer_types"):
                connection.execute(f"SELECT setval('{table}_id_seq', (SELECT max(id) FROM {table}))")
        connection.execute("COMMIT")
        for table in LOADED_TABLES if words.gather else ():
            connection.execute(f"{words.gather} {table}" if "{}" not in words.gather else words.gather.format(table))
    finally:
        connection.close()
