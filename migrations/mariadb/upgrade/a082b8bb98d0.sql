-- Drops indexes that unique constraints have made redundant. Each statement may have been executed before.
DROP INDEX IF EXISTS inventories_resource_provider_id_idx ON inventories;
DROP INDEX IF EXISTS inventories_resource_provider_resource_class_idx ON inventories;
DROP INDEX IF EXISTS ix_placement_aggregates_uuid ON placement_aggregates;
DROP INDEX IF EXISTS resource_providers_name_idx ON resource_providers;
DROP INDEX IF EXISTS resource_providers_uuid_idx ON resource_providers;
