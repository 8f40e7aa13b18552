-- One row with a random text. It is replaced whenever the rows of an inactive writer are deleted
-- (docs/internals/replication.md).

CREATE TABLE IF NOT EXISTS placet_epoch (
    id INTEGER NOT NULL,
    epoch VARCHAR(64) NOT NULL,
    PRIMARY KEY (id)
) ENGINE=InnoDB;

INSERT IGNORE INTO placet_epoch (id, epoch) VALUES (1, 'first');
