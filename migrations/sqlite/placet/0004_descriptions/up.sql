-- What providers are: type, properties, domains and state (GET, PUT /v1/providers, docs/providers.md). A row whose uuid
-- is not that of the provider with this id belongs to a provider that another program deleted.

CREATE TABLE placet_descriptions (
    resource_provider_id INTEGER NOT NULL,
    uuid VARCHAR(36) NOT NULL,
    created_at DATETIME NOT NULL,
    generation INTEGER NOT NULL,
    state VARCHAR(16) NOT NULL,
    sets_trait INTEGER NOT NULL,
    body TEXT NOT NULL,
    PRIMARY KEY (resource_provider_id)
);
