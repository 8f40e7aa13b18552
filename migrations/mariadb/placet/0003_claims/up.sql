-- The answers to calls of POST /v1/claims with an id, so that a call can be repeated (docs/claims.md).

CREATE TABLE IF NOT EXISTS placet_claims (
    id VARCHAR(36) NOT NULL,
    project_id VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
    created_at DATETIME NOT NULL,
    digest VARCHAR(36) NOT NULL,
    answer LONGTEXT CHARACTER SET utf8mb4 NOT NULL,
    PRIMARY KEY (id, project_id),
    INDEX placet_claims_created_at_idx (created_at)
) ENGINE=InnoDB;
