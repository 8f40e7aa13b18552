-- Workloads and their replicas (/v1/workloads, docs/workloads.md). Where a replica stands is in `allocations` alone.

CREATE TABLE placet_workloads (
    uuid VARCHAR(36) NOT NULL,
    project_id VARCHAR(255) NOT NULL,
    name VARCHAR(255) NOT NULL,
    user_id VARCHAR(255) NOT NULL,
    created_at TIMESTAMP WITHOUT TIME ZONE NOT NULL,
    updated_at TIMESTAMP WITHOUT TIME ZONE,
    generation BIGINT NOT NULL,
    revision BIGINT NOT NULL,
    body TEXT NOT NULL,
    PRIMARY KEY (uuid),
    UNIQUE (project_id, name)
);

CREATE TABLE placet_replicas (
    consumer_id VARCHAR(36) NOT NULL,
    workload VARCHAR(36) NOT NULL,
    replica VARCHAR(64) NOT NULL,
    role VARCHAR(255) NOT NULL,
    created_at TIMESTAMP WITHOUT TIME ZONE NOT NULL,
    revision BIGINT NOT NULL,
    adopted INTEGER NOT NULL,
    PRIMARY KEY (consumer_id),
    UNIQUE (workload, replica)
);
