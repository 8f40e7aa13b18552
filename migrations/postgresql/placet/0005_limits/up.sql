-- The normal limits of resource classes (GET, PUT /v1/limits/{class}, docs/limits.md).

CREATE TABLE placet_limits (
    resource_class VARCHAR(255) NOT NULL,
    created_at TIMESTAMP WITHOUT TIME ZONE NOT NULL,
    updated_at TIMESTAMP WITHOUT TIME ZONE,
    generation BIGINT NOT NULL,
    normal VARCHAR(16),
    PRIMARY KEY (resource_class)
);
