-- One row: a random text, replaced whenever rows of a silent writer are cleared away (ARCHITECTURE.md, rule 3).

CREATE TABLE placet_epoch (
    id INTEGER NOT NULL,
    epoch VARCHAR(36) NOT NULL,
    PRIMARY KEY (id)
);

INSERT INTO placet_epoch (id, epoch) VALUES (1, 'first');
