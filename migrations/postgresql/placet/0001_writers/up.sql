-- placet's own tables: the writers, and the change feed by which processes learn of each other's commits
-- (docs/internals/replication.md).

CREATE TABLE placet_writers (
    id VARCHAR(36) NOT NULL,
    revision BIGINT NOT NULL,
    token VARCHAR(64) NOT NULL,
    seen_at TIMESTAMP WITHOUT TIME ZONE NOT NULL,
    PRIMARY KEY (id)
);

CREATE TABLE placet_changes (
    writer VARCHAR(36) NOT NULL,
    revision BIGINT NOT NULL,
    token VARCHAR(64) NOT NULL,
    committed_at TIMESTAMP WITHOUT TIME ZONE NOT NULL,
    body TEXT NOT NULL,
    PRIMARY KEY (writer, revision)
);
