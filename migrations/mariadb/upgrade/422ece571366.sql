-- Adds consumer types. MariaDB commits each statement by itself, so each may have been executed before.
CREATE TABLE IF NOT EXISTS consumer_types (
    created_at DATETIME,
    updated_at DATETIME,
    id INTEGER NOT NULL AUTO_INCREMENT,
    name VARCHAR(255) NOT NULL,
    PRIMARY KEY (id),
    UNIQUE KEY uniq_consumer_types0name (name)
) ENGINE=InnoDB;
ALTER TABLE consumers ADD COLUMN IF NOT EXISTS consumer_type_id INTEGER;
CREATE INDEX IF NOT EXISTS consumers_consumer_type_id_idx ON consumers (consumer_type_id);
ALTER TABLE consumers ADD CONSTRAINT consumers_consumer_type_id_fkey
    FOREIGN KEY IF NOT EXISTS (consumer_type_id) REFERENCES consumer_types (id);
