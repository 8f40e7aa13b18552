"""Deliberately wrong schemas: the comparison of shapes must notice each difference."""

ON_EVERY_ENGINE = [
    ("an additional column", "ALTER TABLE traits ADD COLUMN more INTEGER"),
    ("an additional table", "CREATE TABLE others (id INTEGER)"),
    ("an additional index", "CREATE INDEX allocations_used_idx ON allocations (used)"),
    ("a missing table", "DROP TABLE inventories"),
]
ALTERED = [
    ("a missing column", "ALTER TABLE placement_aggregates DROP COLUMN updated_at"),
    ("a missing foreign key", "ALTER TABLE consumers DROP {constraint} consumers_consumer_type_id_fkey"),
]
STATEMENTS = {
    "sqlite": [
        *ON_EVERY_ENGINE,
        ("a missing index", "DROP INDEX consumers_project_id_uuid_idx"),
        ("an index on other columns", "DROP INDEX allocations_resource_class_id_idx;"
         " CREATE INDEX allocations_resource_class_id_idx ON allocations (resource_class_id, id)"),
        ("another foreign key, collation and default",
         "DROP TABLE consumer_types; CREATE TABLE consumer_types (created_at DATETIME, updated_at DATETIME,"
         " id INTEGER NOT NULL DEFAULT 1 REFERENCES users (id), name VARCHAR(255) NOT NULL COLLATE NOCASE,"
         " PRIMARY KEY (id), UNIQUE (name))"),
    ],
    "postgresql": [
        *ON_EVERY_ENGINE, *((name, sql.format(constraint="CONSTRAINT")) for name, sql in ALTERED),
        ("a missing index", "DROP INDEX consumers_project_id_uuid_idx"),
        ("a missing unique key", "ALTER TABLE consumers DROP CONSTRAINT uniq_consumers0uuid"),
        ("a longer text", "ALTER TABLE users ALTER external_id TYPE VARCHAR(256)"),
        ("another collation", 'ALTER TABLE projects ALTER external_id TYPE VARCHAR(255) COLLATE "C"'),
        ("another default", "ALTER TABLE consumers ALTER generation SET DEFAULT 1"),
        ("a nullable column", "ALTER TABLE resource_providers ALTER uuid DROP NOT NULL"),
        ("a sequence of a larger type", "ALTER SEQUENCE consumer_types_id_seq AS bigint"),
        ("an unlogged table", "ALTER TABLE resource_provider_aggregates SET UNLOGGED"),
    ],
    "mariadb": [
        *ON_EVERY_ENGINE, *((name, sql.format(constraint="FOREIGN KEY")) for name, sql in ALTERED),
        ("a missing index", "DROP INDEX consumers_project_id_uuid_idx ON consumers"),
        ("a missing unique key", "ALTER TABLE consumer_types DROP INDEX uniq_consumer_types0name"),
        ("a longer text", "ALTER TABLE users MODIFY external_id VARCHAR(256) NOT NULL"),
        ("another collation", "ALTER TABLE projects MODIFY external_id VARCHAR(255) COLLATE utf8mb4_bin NOT NULL"),
        ("another default", "ALTER TABLE consumers ALTER generation SET DEFAULT 1"),
        ("a nullable column", "ALTER TABLE resource_providers MODIFY uuid VARCHAR(36)"),
        ("another collation of a table", "ALTER TABLE resource_classes COLLATE utf8mb4_bin"),
        ("a table without transactions", "ALTER TABLE resource_provider_aggregates ENGINE=MyISAM"),
    ],
}


def each(database):
    """Applies one wrong alteration after the other, and yields the name of each."""
    for name, sql in STATEMENTS[database.engine]:
        for statement in sql.split(";"):
            database.run(statement)
        yield name
