-- OpenStack Placement's schema as of alembic revision a082b8bb98d0, as its own tool creates it on MariaDB.
-- It is applied only to an empty database. An adopted one already has it (src/db/schema/migrate.rs).
-- This file must not change. Another revision of OpenStack Placement gets another directory.
--
-- Character set and collation are the defaults of the database. Every statement may be executed a second time. MariaDB
-- commits each by itself, so an interrupted sync is continued, and two nodes of a cluster may run it at the same time.

CREATE TABLE IF NOT EXISTS alembic_version (
    version_num VARCHAR(32) NOT NULL,
    PRIMARY KEY (version_num)
) ENGINE=InnoDB;

CREATE TABLE IF NOT EXISTS resource_classes (
    created_at DATETIME,
    updated_at DATETIME,
    id INTEGER NOT NULL AUTO_INCREMENT,
    name VARCHAR(255) NOT NULL,
    PRIMARY KEY (id),
    UNIQUE KEY uniq_resource_classes0name (name)
) ENGINE=InnoDB;

CREATE TABLE IF NOT EXISTS traits (
    created_at DATETIME,
    updated_at DATETIME,
    id INTEGER NOT NULL AUTO_INCREMENT,
    name VARCHAR(255) NOT NULL,
    PRIMARY KEY (id),
    UNIQUE KEY uniq_traits0name (name)
) ENGINE=InnoDB;

CREATE TABLE IF NOT EXISTS resource_providers (
    created_at DATETIME,
    updated_at DATETIME,
    id INTEGER NOT NULL AUTO_INCREMENT,
    uuid VARCHAR(36) NOT NULL,
    name VARCHAR(200),
    generation INTEGER,
    root_provider_id INTEGER,
    parent_provider_id INTEGER,
    PRIMARY KEY (id),
    UNIQUE KEY uniq_resource_providers0uuid (uuid),
    UNIQUE KEY uniq_resource_providers0name (name),
    KEY resource_providers_parent_provider_id_idx (parent_provider_id),
    KEY resource_providers_root_provider_id_idx (root_provider_id),
    FOREIGN KEY (parent_provider_id) REFERENCES resource_providers (id),
    FOREIGN KEY (root_provider_id) REFERENCES resource_providers (id)
) ENGINE=InnoDB;

CREATE TABLE IF NOT EXISTS inventories (
    created_at DATETIME,
    updated_at DATETIME,
    id INTEGER NOT NULL AUTO_INCREMENT,
    resource_provider_id INTEGER NOT NULL,
    resource_class_id INTEGER NOT NULL,
    total INTEGER NOT NULL,
    reserved INTEGER NOT NULL,
    min_unit INTEGER NOT NULL,
    max_unit INTEGER NOT NULL,
    step_size INTEGER NOT NULL,
    allocation_ratio FLOAT NOT NULL,
    PRIMARY KEY (id),
    UNIQUE KEY uniq_inventories0resource_provider_resource_class (resource_provider_id, resource_class_id),
    KEY inventories_resource_class_id_idx (resource_class_id)
) ENGINE=InnoDB;

CREATE TABLE IF NOT EXISTS allocations (
    created_at DATETIME,
    updated_at DATETIME,
    id INTEGER NOT NULL AUTO_INCREMENT,
    resource_provider_id INTEGER NOT NULL,
    consumer_id VARCHAR(36) NOT NULL,
    resource_class_id INTEGER NOT NULL,
    used INTEGER NOT NULL,
    PRIMARY KEY (id),
    KEY allocations_resource_provider_class_used_idx (resource_provider_id, resource_class_id, used),
    KEY allocations_resource_class_id_idx (resource_class_id),
    KEY allocations_consumer_id_idx (consumer_id)
) ENGINE=InnoDB;

CREATE TABLE IF NOT EXISTS placement_aggregates (
    created_at DATETIME,
    updated_at DATETIME,
    id INTEGER NOT NULL AUTO_INCREMENT,
    uuid VARCHAR(36),
    PRIMARY KEY (id),
    UNIQUE KEY uniq_placement_aggregates0uuid (uuid)
) ENGINE=InnoDB;

CREATE TABLE IF NOT EXISTS resource_provider_aggregates (
    created_at DATETIME,
    updated_at DATETIME,
    resource_provider_id INTEGER NOT NULL,
    aggregate_id INTEGER NOT NULL,
    PRIMARY KEY (resource_provider_id, aggregate_id),
    KEY resource_provider_aggregates_aggregate_id_idx (aggregate_id)
) ENGINE=InnoDB;

CREATE TABLE IF NOT EXISTS resource_provider_traits (
    created_at DATETIME,
    updated_at DATETIME,
    trait_id INTEGER NOT NULL,
    resource_provider_id INTEGER NOT NULL,
    PRIMARY KEY (trait_id, resource_provider_id),
    KEY resource_provider_traits_resource_provider_trait_idx (resource_provider_id, trait_id),
    FOREIGN KEY (resource_provider_id) REFERENCES resource_providers (id),
    FOREIGN KEY (trait_id) REFERENCES traits (id)
) ENGINE=InnoDB;

CREATE TABLE IF NOT EXISTS projects (
    created_at DATETIME,
    updated_at DATETIME,
    id INTEGER NOT NULL AUTO_INCREMENT,
    external_id VARCHAR(255) NOT NULL,
    PRIMARY KEY (id),
    UNIQUE KEY uniq_projects0external_id (external_id)
) ENGINE=InnoDB;

CREATE TABLE IF NOT EXISTS users (
    created_at DATETIME,
    updated_at DATETIME,
    id INTEGER NOT NULL AUTO_INCREMENT,
    external_id VARCHAR(255) NOT NULL,
    PRIMARY KEY (id),
    UNIQUE KEY uniq_users0external_id (external_id)
) ENGINE=InnoDB;

CREATE TABLE IF NOT EXISTS consumer_types (
    created_at DATETIME,
    updated_at DATETIME,
    id INTEGER NOT NULL AUTO_INCREMENT,
    name VARCHAR(255) NOT NULL,
    PRIMARY KEY (id),
    UNIQUE KEY uniq_consumer_types0name (name)
) ENGINE=InnoDB;

CREATE TABLE IF NOT EXISTS consumers (
    created_at DATETIME,
    updated_at DATETIME,
    id INTEGER NOT NULL AUTO_INCREMENT,
    uuid VARCHAR(36) NOT NULL,
    project_id INTEGER NOT NULL,
    user_id INTEGER NOT NULL,
    generation INTEGER NOT NULL DEFAULT 0,
    consumer_type_id INTEGER,
    PRIMARY KEY (id),
    UNIQUE KEY uniq_consumers0uuid (uuid),
    KEY consumers_project_id_user_id_uuid_idx (project_id, user_id, uuid),
    KEY consumers_project_id_uuid_idx (project_id, uuid),
    KEY consumers_consumer_type_id_idx (consumer_type_id),
    CONSTRAINT consumers_consumer_type_id_fkey FOREIGN KEY (consumer_type_id) REFERENCES consumer_types (id)
) ENGINE=InnoDB;

INSERT IGNORE INTO alembic_version (version_num) VALUES ('a082b8bb98d0');
