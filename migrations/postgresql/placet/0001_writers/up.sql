-- placet's own tables: how processes learn of each other's commits (ARCHITECTURE.md, rule 3).

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
