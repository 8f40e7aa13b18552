-- The answers to calls of POST /v1/claims with an id, so that a call can be repeated (docs/claims.md).

CREATE TABLE placet_claims (
    id VARCHAR(36) NOT NULL,
    project_id VARCHAR(255) NOT NULL,
    created_at DATETIME NOT NULL,
    digest VARCHAR(36) NOT NULL,
    answer TEXT NOT NULL,
    PRIMARY KEY (id, project_id)
);

CREATE INDEX placet_claims_created_at_idx ON placet_claims (created_at);
