-- The normal limits of resource classes (GET, PUT /v1/limits/{class}, docs/limits.md).

CREATE TABLE IF NOT EXISTS placet_limits (
    resource_class VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
    created_at DATETIME NOT NULL,
    updated_at DATETIME,
    generation BIGINT NOT NULL,
    normal VARCHAR(16),
    PRIMARY KEY (resource_class)
) ENGINE=InnoDB;
