-- One row: a random text, replaced whenever rows of a silent writer are cleared away (ARCHITECTURE.md, rule 3).

CREATE TABLE IF NOT EXISTS placet_epoch (
    id INTEGER NOT NULL,
    epoch VARCHAR(64) NOT NULL,
    PRIMARY KEY (id)
) ENGINE=InnoDB;

INSERT IGNORE INTO placet_epoch (id, epoch) VALUES (1, 'first');
