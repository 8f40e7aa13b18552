//! The SQL of statements over many rows, by table. `model` runs them by name and knows no SQL.
//!
//! Each constant has the parts of a statement that are the same on every engine. Its type builds the statement, in each
//! engine's form (`src/db/engines/rows/`).

pub mod allocations {
    use crate::db::engines::rows::{CountKeys, InsertFromRows};

    pub const INSERT: InsertFromRows = InsertFromRows::new(
        "allocations",
        &["resource_provider_id", "consumer_id", "resource_class_id", "used"],
    )
    .repeatable();

    /// The allocations of consumers.
    pub const OF_CONSUMERS: CountKeys = CountKeys {
        table: "allocations",
        column: "consumer_id",
    };
}

pub mod claims {
    use crate::db::engines::rows::{Clock, InsertFromRows};

    /// The answers have generations, which the next plan may change.
    pub const INSERT: InsertFromRows = InsertFromRows {
        table: "placet_claims",
        columns: &["id", "project_id", "digest", "answer"],
        clock: Clock::Database,
        is_repeatable: false,
    };
}

pub mod consumers {
    use crate::db::engines::rows::{InsertFromRows, UpdateFromRows};

    /// Guarded by the generation.
    pub const UPDATE: UpdateFromRows = UpdateFromRows {
        table: "consumers",
        columns: &[
            "id",
            "generation_was",
            "generation_is",
            "project_id",
            "user_id",
            "type_id",
        ],
        set: "generation = v.generation_is, project_id = v.project_id, user_id = v.user_id, \
              consumer_type_id = v.type_id, updated_at = {now}",
        filter: "consumers.id = v.id AND consumers.generation = v.generation_was",
    };

    /// Fills in the row of a new consumer that was inserted as a lock.
    pub const FILL_LOCK_ROW: UpdateFromRows = UpdateFromRows {
        table: "consumers",
        columns: &["id", "generation_is", "project_id", "user_id", "type_id"],
        set: "generation = v.generation_is, project_id = v.project_id, user_id = v.user_id, \
              consumer_type_id = v.type_id, created_at = {now}",
        filter: "consumers.id = v.id",
    };

    pub const INSERT: InsertFromRows = InsertFromRows::new(
        "consumers",
        &["uuid", "generation", "project_id", "user_id", "consumer_type_id"],
    )
    .repeatable();
}

pub mod descriptions {
    use crate::db::engines::rows::{DeleteRows, InsertFromRows};

    pub const INSERT: InsertFromRows = InsertFromRows::new(
        "placet_descriptions",
        &[
            "resource_provider_id",
            "uuid",
            "generation",
            "state",
            "sets_trait",
            "body",
        ],
    );

    /// Guarded by the generation.
    pub const DELETE: DeleteRows = DeleteRows::new("placet_descriptions", ["resource_provider_id", "generation"]);
}

pub mod inventories {
    use crate::db::engines::rows::{DeleteRows, UpdateFromRows};

    pub const UPDATE: UpdateFromRows = UpdateFromRows {
        table: "inventories",
        columns: &[
            "provider",
            "class",
            "total",
            "reserved",
            "min_unit",
            "max_unit",
            "step_size",
            "ratio",
        ],
        set: "total = v.total, reserved = v.reserved, min_unit = v.min_unit, max_unit = v.max_unit, \
              step_size = v.step_size, allocation_ratio = v.ratio, updated_at = {now}",
        filter: "inventories.resource_provider_id = v.provider AND inventories.resource_class_id = v.class",
    };

    pub const DELETE: DeleteRows = DeleteRows::new("inventories", ["resource_provider_id", "resource_class_id"]);
}

/// The rows with an id and a name, of tables whose ids are references in further tables.
pub mod names {
    use crate::db::engines::rows::CountMatches;

    pub const CONSUMER_TYPES: CountMatches = named("consumer_types", "name");
    pub const PROJECTS: CountMatches = named("projects", "external_id");
    pub const RESOURCE_CLASSES: CountMatches = named("resource_classes", "name");
    pub const USERS: CountMatches = named("users", "external_id");

    const fn named(table: &'static str, column: &'static str) -> CountMatches {
        CountMatches {
            table,
            columns: ["id", column],
        }
    }
}

pub mod placement_aggregates {
    use crate::db::engines::rows::InsertFromRows;

    pub const INSERT: InsertFromRows = InsertFromRows::new("placement_aggregates", &["uuid"]);
}

pub mod resource_provider_aggregates {
    use crate::db::engines::rows::{DeleteRows, InsertFromRows};

    pub const INSERT: InsertFromRows = InsertFromRows::new(
        "resource_provider_aggregates",
        &["resource_provider_id", "aggregate_id"],
    );

    pub const DELETE: DeleteRows =
        DeleteRows::new("resource_provider_aggregates", ["resource_provider_id", "aggregate_id"]);
}

pub mod resource_provider_traits {
    use crate::db::engines::rows::DeleteRows;

    pub const DELETE: DeleteRows = DeleteRows::new("resource_provider_traits", ["resource_provider_id", "trait_id"]);
}

pub mod resource_providers {
    use crate::db::engines::rows::UpdateFromRows;

    /// The compare-and-update under every claim. The uuid is compared too, because SQLite reuses ids.
    pub const RAISE_GENERATION: UpdateFromRows = UpdateFromRows {
        table: "resource_providers",
        columns: &["id", "uuid", "generation", "moves"],
        set: "generation = v.generation + v.moves, updated_at = {now}",
        filter: "resource_providers.id = v.id AND resource_providers.uuid = v.uuid \
                 AND COALESCE(resource_providers.generation, 0) = v.generation",
    };

    /// For a mutant: without the comparison.
    pub const RAISE_GENERATION_UNGUARDED: UpdateFromRows = UpdateFromRows {
        filter: "resource_providers.id = v.id",
        ..RAISE_GENERATION
    };

    /// Writes the name, and the place in the tree.
    pub const RENAME: UpdateFromRows = UpdateFromRows {
        table: "resource_providers",
        columns: &["id", "name", "root", "parent"],
        set: "name = v.name, root_provider_id = v.root, parent_provider_id = v.parent, updated_at = {now}",
        filter: "resource_providers.id = v.id",
    };
}

pub mod workloads {
    use crate::db::engines::rows::InsertFromRows;

    pub const INSERT: InsertFromRows = InsertFromRows::new(
        "placet_workloads",
        &[
            "uuid",
            "project_id",
            "name",
            "user_id",
            "generation",
            "revision",
            "body",
            "named",
        ],
    );

    pub const INSERT_NEIGHBOURS: InsertFromRows = InsertFromRows::new("placet_neighbours", &["workload", "neighbour"]);

    pub const INSERT_REPLICAS: InsertFromRows = InsertFromRows::new(
        "placet_replicas",
        &["consumer_id", "workload", "replica", "role", "revision", "adopted"],
    );
}
