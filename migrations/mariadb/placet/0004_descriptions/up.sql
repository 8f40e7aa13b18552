-- What providers are: type, properties, domains and state (GET, PUT /v1/providers, docs/providers.md). A row whose uuid
-- is not that of the provider with this id belongs to a provider that another program deleted.

CREATE TABLE IF NOT EXISTS placet_descriptions (
    resource_provider_id INTEGER NOT NULL,
    uuid VARCHAR(36) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
    created_at DATETIME NOT NULL,
    generation INTEGER NOT NULL,
    state VARCHAR(16) NOT NULL,
    sets_trait INTEGER NOT NULL,
    body LONGTEXT CHARACTER SET utf8mb4 NOT NULL,
    PRIMARY KEY (resource_provider_id)
) ENGINE=InnoDB;
