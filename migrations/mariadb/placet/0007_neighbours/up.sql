-- Which workloads the rules of a workload name, and how often those whose rules name it were changed, above a random
-- number (/v1/workloads). A workload that was written before has its rows after its next change.

ALTER TABLE placet_workloads ADD COLUMN IF NOT EXISTS named BIGINT NOT NULL DEFAULT 0;

CREATE TABLE IF NOT EXISTS placet_neighbours (
    workload VARCHAR(36) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
    neighbour VARCHAR(36) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
    created_at DATETIME NOT NULL,
    PRIMARY KEY (workload, neighbour),
    KEY placet_neighbours_neighbour (neighbour)
) ENGINE=InnoDB;
