-- placet's own tables: the writers, and the change feed by which processes learn of each other's commits
-- (docs/internals/replication.md).

CREATE TABLE IF NOT EXISTS placet_writers (
    id VARCHAR(36) NOT NULL,
    revision BIGINT NOT NULL,
    token VARCHAR(64) NOT NULL,
    seen_at DATETIME(6) NOT NULL,
    PRIMARY KEY (id)
) ENGINE=InnoDB;

CREATE TABLE IF NOT EXISTS placet_changes (
    writer VARCHAR(36) NOT NULL,
    revision BIGINT NOT NULL,
    token VARCHAR(64) NOT NULL,
    committed_at DATETIME(6) NOT NULL,
    body LONGTEXT NOT NULL,
    PRIMARY KEY (writer, revision)
) ENGINE=InnoDB;
