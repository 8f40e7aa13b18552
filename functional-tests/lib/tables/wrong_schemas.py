"""Schemas made wrong on purpose: the comparison of shapes has to notice each."""

ON_EVERY_ENGINE = [
    ("a column too many", "ALTER TABLE traits ADD COLUMN more INTEGER"),
    ("a table too many", "CREATE TABLE others (id INTEGER)"),
    ("an index too many", "CREATE INDEX allocations_used_idx ON allocations (used)"),
    ("a table too few", "DROP TABLE inventories"),
]
ALTERED = [
    ("a column too few", "ALTER TABLE placement_aggregates DROP COLUMN updated_at"),
    ("a foreign key too few", "ALTER TABLE consumers DROP {constraint} consumers_consumer_type_id_fkey"),
]
STATEMENTS = {
    "sqlite": [
        *ON_EVERY_ENGINE,
        ("an index too few", "DROP INDEX consumers_project_id_uuid_idx"),
        ("an index of other columns", "DROP INDEX allocations_resource_class_id_idx;"
         " CREATE INDEX allocations_resource_class_id_idx ON allocations (resource_class_id, id)"),
        ("a foreign key, a collation and a default that are others",
         "DROP TABLE consumer_types; CREATE TABLE consumer_types (created_at DATETIME, updated_at DATETIME,"
         " id INTEGER NOT NULL DEFAULT 1 REFERENCES users (id), name VARCHAR(255) NOT NULL COLLATE NOCASE,"
         " PRIMARY KEY (id), UNIQUE (name))"),
    ],
    "postgresql": [
        *ON_EVERY_ENGINE, *((name, sql.format(constraint="CONSTRAINT")) for name, sql in ALTERED),
        ("an index too few", "DROP INDEX consumers_project_id_uuid_idx"),
        ("a unique key too few", "ALTER TABLE consumers DROP CONSTRAINT uniq_consumers0uuid"),
        ("a longer text", "ALTER TABLE users ALTER external_id TYPE VARCHAR(256)"),
        ("another collation", 'ALTER TABLE projects ALTER external_id TYPE VARCHAR(255) COLLATE "C"'),
        ("a default that is another", "ALTER TABLE consumers ALTER generation SET DEFAULT 1"),
        ("a column that may be null", "ALTER TABLE resource_providers ALTER uuid DROP NOT NULL"),
        ("ids that end later", "ALTER SEQUENCE consumer_types_id_seq AS bigint"),
        ("rows that outlive no crash", "ALTER TABLE resource_provider_aggregates SET UNLOGGED"),
    ],
    "mariadb": [
        *ON_EVERY_ENGINE, *((name, sql.format(constraint="FOREIGN KEY")) for name, sql in ALTERED),
        ("an index too few", "DROP INDEX consumers_project_id_uuid_idx ON consumers"),
        ("a unique key too few", "ALTER TABLE consumer_types DROP INDEX uniq_consumer_types0name"),
        ("a longer text", "ALTER TABLE users MODIFY external_id VARCHAR(256) NOT NULL"),
        ("another collation", "ALTER TABLE projects MODIFY external_id VARCHAR(255) COLLATE utf8mb4_bin NOT NULL"),
        ("a default that is another", "ALTER TABLE consumers ALTER generation SET DEFAULT 1"),
        ("a column that may be null", "ALTER TABLE resource_providers MODIFY uuid VARCHAR(36)"),
        ("another table's collation", "ALTER TABLE resource_classes COLLATE utf8mb4_bin"),
        ("rows that know no transaction", "ALTER TABLE resource_provider_aggregates ENGINE=MyISAM"),
    ],
}


def each(database):
    """Spoils it, one thing after the other; yields what was done."""
    for name, sql in STATEMENTS[database.engine]:
        for statement in sql.split(";"):
            database.run(statement)
        yield name
