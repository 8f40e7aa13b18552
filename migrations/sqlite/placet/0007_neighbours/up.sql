-- Which workloads the rules of a workload name, and how often those whose rules name it were changed, above a random
-- number (/v1/workloads). A workload that was written before has its rows after its next change.

ALTER TABLE placet_workloads ADD COLUMN named BIGINT NOT NULL DEFAULT 0;

CREATE TABLE placet_neighbours (
    workload VARCHAR(36) NOT NULL,
    neighbour VARCHAR(36) NOT NULL,
    created_at DATETIME NOT NULL,
    PRIMARY KEY (workload, neighbour)
);

CREATE INDEX placet_neighbours_neighbour ON placet_neighbours (neighbour);
