-- placet's own tables on every engine, as numbered migrations. `db sync` runs the migrations that a database lacks. A
-- new migration is appended under the next number; a released migration never changes.
--
-- Types whose names differ between engines are words in braces, which `src/db/engines/dialect.rs` replaces: `{time}`,
-- `{moment}` with microseconds, `{exact}` for names that compare exactly, `{long text}`. MariaDB and MySQL alone run
-- the text within `/*! */`, and MariaDB alone the text within `/*M! */`. MariaDB commits each statement by itself, so
-- a statement must do no harm when it runs again.

-- migration 0001
-- placet's own tables: the writers, and the change feed by which processes learn of each other's commits
-- (docs/internals/replication.md).

CREATE TABLE /*! IF NOT EXISTS */ placet_writers (
    id VARCHAR(36) NOT NULL,
    revision BIGINT NOT NULL,
    token VARCHAR(64) NOT NULL,
    seen_at {moment} NOT NULL,
    PRIMARY KEY (id)
) /*! ENGINE=InnoDB */;

CREATE TABLE /*! IF NOT EXISTS */ placet_changes (
    writer VARCHAR(36) NOT NULL,
    revision BIGINT NOT NULL,
    token VARCHAR(64) NOT NULL,
    committed_at {moment} NOT NULL,
    body {long text} NOT NULL,
    PRIMARY KEY (writer, revision)
) /*! ENGINE=InnoDB */;

-- migration 0002
-- One row with a random text. It is replaced whenever the rows of an inactive writer are deleted
-- (docs/internals/replication.md).

CREATE TABLE /*! IF NOT EXISTS */ placet_epoch (
    id INTEGER NOT NULL,
    epoch VARCHAR(64) NOT NULL,
    PRIMARY KEY (id)
) /*! ENGINE=InnoDB */;

INSERT /*! IGNORE */ INTO placet_epoch (id, epoch) VALUES (1, 'first');

-- migration 0003
-- The answers to calls of POST /v1/claims with an id, so that a call can be repeated (docs/claims.md).

CREATE TABLE /*! IF NOT EXISTS */ placet_claims (
    id VARCHAR(36) NOT NULL,
    project_id VARCHAR(255) {exact} NOT NULL,
    created_at {time} NOT NULL,
    digest VARCHAR(36) NOT NULL,
    answer {long text} /*! CHARACTER SET utf8mb4 */ NOT NULL,
    PRIMARY KEY (id, project_id)
) /*! ENGINE=InnoDB */;

CREATE INDEX /*M! IF NOT EXISTS */ placet_claims_created_at_idx ON placet_claims (created_at);

-- migration 0004
-- What providers are: type, properties, domains and state (GET, PUT /v1/providers, docs/providers.md). A row whose uuid
-- is not that of the provider with this id belongs to a provider that another program deleted.

CREATE TABLE /*! IF NOT EXISTS */ placet_descriptions (
    resource_provider_id INTEGER NOT NULL,
    uuid VARCHAR(36) {exact} NOT NULL,
    created_at {time} NOT NULL,
    generation INTEGER NOT NULL,
    state VARCHAR(16) NOT NULL,
    sets_trait INTEGER NOT NULL,
    body {long text} /*! CHARACTER SET utf8mb4 */ NOT NULL,
    PRIMARY KEY (resource_provider_id)
) /*! ENGINE=InnoDB */;

-- migration 0005
-- The normal limits of resource classes (GET, PUT /v1/limits/{class}, docs/limits.md).

CREATE TABLE /*! IF NOT EXISTS */ placet_limits (
    resource_class VARCHAR(255) {exact} NOT NULL,
    created_at {time} NOT NULL,
    updated_at {time},
    generation BIGINT NOT NULL,
    normal VARCHAR(16),
    PRIMARY KEY (resource_class)
) /*! ENGINE=InnoDB */;

-- migration 0006
-- Workloads and their replicas (/v1/workloads, docs/workloads.md). Where a replica stands is in `allocations` alone.

CREATE TABLE /*! IF NOT EXISTS */ placet_workloads (
    uuid VARCHAR(36) {exact} NOT NULL,
    project_id VARCHAR(255) {exact} NOT NULL,
    name VARCHAR(255) {exact} NOT NULL,
    user_id VARCHAR(255) {exact} NOT NULL,
    created_at {time} NOT NULL,
    updated_at {time},
    generation BIGINT NOT NULL,
    revision BIGINT NOT NULL,
    body {long text} /*! CHARACTER SET utf8mb4 */ NOT NULL,
    PRIMARY KEY (uuid),
    UNIQUE (project_id, name)
) /*! ENGINE=InnoDB */;

CREATE TABLE /*! IF NOT EXISTS */ placet_replicas (
    consumer_id VARCHAR(36) {exact} NOT NULL,
    workload VARCHAR(36) {exact} NOT NULL,
    replica VARCHAR(64) {exact} NOT NULL,
    role VARCHAR(255) {exact} NOT NULL,
    created_at {time} NOT NULL,
    revision BIGINT NOT NULL,
    adopted INTEGER NOT NULL,
    PRIMARY KEY (consumer_id),
    UNIQUE (workload, replica)
) /*! ENGINE=InnoDB */;

-- migration 0007
-- Which workloads the rules of a workload name, and how often those whose rules name it were changed, above a random
-- number (/v1/workloads). A workload that was written before has its rows after its next change.

ALTER TABLE placet_workloads ADD COLUMN /*M! IF NOT EXISTS */ named BIGINT NOT NULL DEFAULT 0;

CREATE TABLE /*! IF NOT EXISTS */ placet_neighbours (
    workload VARCHAR(36) {exact} NOT NULL,
    neighbour VARCHAR(36) {exact} NOT NULL,
    created_at {time} NOT NULL,
    PRIMARY KEY (workload, neighbour)
) /*! ENGINE=InnoDB */;

CREATE INDEX /*M! IF NOT EXISTS */ placet_neighbours_neighbour ON placet_neighbours (neighbour);

-- migration 0008
-- The process that does the background work of all processes: one row, held for a term by the database's clock
-- (docs/internals/leader.md).

CREATE TABLE /*! IF NOT EXISTS */ placet_leader (
    id INTEGER NOT NULL,
    holder VARCHAR(36) {exact} NOT NULL,
    term BIGINT NOT NULL,
    held_until {moment} NOT NULL,
    PRIMARY KEY (id)
) /*! ENGINE=InnoDB */;

INSERT /*! IGNORE */ INTO placet_leader (id, holder, term, held_until) VALUES (1, '', 0, '2000-01-01 00:00:00');

-- migration 0009
-- Hosts that report (/v1/hosts, docs/hosts.md): the last report of each host, and the leases. A report that says the
-- same renews the lease alone, outside of the change feed.

CREATE TABLE /*! IF NOT EXISTS */ placet_hosts (
    host VARCHAR(36) {exact} NOT NULL,
    created_at {time} NOT NULL,
    updated_at {time},
    body {long text} /*! CHARACTER SET utf8mb4 */ NOT NULL,
    PRIMARY KEY (host)
) /*! ENGINE=InnoDB */;

CREATE TABLE /*! IF NOT EXISTS */ placet_leases (
    host VARCHAR(36) {exact} NOT NULL,
    created_at {moment} NOT NULL,
    user_id VARCHAR(255) {exact} NOT NULL,
    holder VARCHAR(255) {exact} NOT NULL,
    boot VARCHAR(64) {exact} NOT NULL,
    former_boots VARCHAR(255) {exact} NOT NULL,
    number BIGINT NOT NULL,
    digest VARCHAR(36) {exact} NOT NULL,
    term INTEGER NOT NULL,
    held_until {moment} NOT NULL,
    health VARCHAR(16) {exact} NOT NULL,
    PRIMARY KEY (host)
) /*! ENGINE=InnoDB */;

CREATE INDEX /*M! IF NOT EXISTS */ placet_leases_health_held_until_idx ON placet_leases (health, held_until);

-- migration 0010
-- The properties of the types of providers (/v1/types, docs/types.md), and the aggregates of domains
-- (/v1/domains/{dimension}/{path}, docs/types.md).

CREATE TABLE /*! IF NOT EXISTS */ placet_types (
    name VARCHAR(255) {exact} NOT NULL,
    created_at {time} NOT NULL,
    updated_at {time},
    generation BIGINT NOT NULL,
    body {long text} /*! CHARACTER SET utf8mb4 */ NOT NULL,
    PRIMARY KEY (name)
) /*! ENGINE=InnoDB */;

CREATE TABLE /*! IF NOT EXISTS */ placet_domains (
    dimension VARCHAR(255) {exact} NOT NULL,
    path VARCHAR(255) {exact} NOT NULL,
    created_at {time} NOT NULL,
    updated_at {time},
    generation BIGINT NOT NULL,
    aggregate VARCHAR(36) {exact} NOT NULL,
    PRIMARY KEY (dimension, path)
) /*! ENGINE=InnoDB */;
