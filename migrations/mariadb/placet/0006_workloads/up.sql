-- Workloads and their replicas (/v1/workloads, docs/workloads.md). Where a replica stands is in `allocations` alone.

CREATE TABLE IF NOT EXISTS placet_workloads (
    uuid VARCHAR(36) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
    project_id VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
    name VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
    user_id VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
    created_at DATETIME NOT NULL,
    updated_at DATETIME,
    generation BIGINT NOT NULL,
    revision BIGINT NOT NULL,
    body LONGTEXT CHARACTER SET utf8mb4 NOT NULL,
    PRIMARY KEY (uuid),
    UNIQUE (project_id, name)
) ENGINE=InnoDB;

CREATE TABLE IF NOT EXISTS placet_replicas (
    consumer_id VARCHAR(36) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
    workload VARCHAR(36) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
    replica VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
    role VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
    created_at DATETIME NOT NULL,
    revision BIGINT NOT NULL,
    adopted INTEGER NOT NULL,
    PRIMARY KEY (consumer_id),
    UNIQUE (workload, replica)
) ENGINE=InnoDB;
