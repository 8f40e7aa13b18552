//! OpenStack Placement's tables (release 16.0.0, alembic revision a082b8bb98d0) and placet's own.
//!
//! Column order is upstream's. Every row has `created_at` and `updated_at`, in UTC, without a zone.

pub mod alembic;
pub mod migrate;
use diesel::sql_types::Text;
use diesel::{
    allow_columns_to_appear_in_same_group_by_clause, allow_tables_to_appear_in_same_query, define_sql_function, table,
};

define_sql_function! {
    /// The length of a text in bytes. The function has this name on every engine.
    fn octet_length(text: Text) -> Integer;
}

table! {
    resource_classes (id) {
        created_at -> Nullable<Timestamp>,
        updated_at -> Nullable<Timestamp>,
        id -> Integer,
        name -> Text,
    }
}

table! {
    traits (id) {
        created_at -> Nullable<Timestamp>,
        updated_at -> Nullable<Timestamp>,
        id -> Integer,
        name -> Text,
    }
}

table! {
    resource_providers (id) {
        created_at -> Nullable<Timestamp>,
        updated_at -> Nullable<Timestamp>,
        id -> Integer,
        uuid -> Text,
        name -> Nullable<Text>,
        generation -> Nullable<Integer>,
        root_provider_id -> Nullable<Integer>,
        parent_provider_id -> Nullable<Integer>,
    }
}

table! {
    inventories (id) {
        created_at -> Nullable<Timestamp>,
        updated_at -> Nullable<Timestamp>,
        id -> Integer,
        resource_provider_id -> Integer,
        resource_class_id -> Integer,
        total -> Integer,
        reserved -> Integer,
        min_unit -> Integer,
        max_unit -> Integer,
        step_size -> Integer,
        allocation_ratio -> Double,
    }
}

table! {
    allocations (id) {
        created_at -> Nullable<Timestamp>,
        updated_at -> Nullable<Timestamp>,
        id -> Integer,
        resource_provider_id -> Integer,
        consumer_id -> Text,
        resource_class_id -> Integer,
        used -> Integer,
    }
}

table! {
    placement_aggregates (id) {
        created_at -> Nullable<Timestamp>,
        updated_at -> Nullable<Timestamp>,
        id -> Integer,
        uuid -> Nullable<Text>,
    }
}

table! {
    resource_provider_aggregates (resource_provider_id, aggregate_id) {
        created_at -> Nullable<Timestamp>,
        updated_at -> Nullable<Timestamp>,
        resource_provider_id -> Integer,
        aggregate_id -> Integer,
    }
}

table! {
    resource_provider_traits (trait_id, resource_provider_id) {
        created_at -> Nullable<Timestamp>,
        updated_at -> Nullable<Timestamp>,
        trait_id -> Integer,
        resource_provider_id -> Integer,
    }
}

table! {
    projects (id) {
        created_at -> Nullable<Timestamp>,
        updated_at -> Nullable<Timestamp>,
        id -> Integer,
        external_id -> Text,
    }
}

table! {
    users (id) {
        created_at -> Nullable<Timestamp>,
        updated_at -> Nullable<Timestamp>,
        id -> Integer,
        external_id -> Text,
    }
}

table! {
    consumer_types (id) {
        created_at -> Nullable<Timestamp>,
        updated_at -> Nullable<Timestamp>,
        id -> Integer,
        name -> Text,
    }
}

table! {
    consumers (id) {
        created_at -> Nullable<Timestamp>,
        updated_at -> Nullable<Timestamp>,
        id -> Integer,
        uuid -> Text,
        project_id -> Integer,
        user_id -> Integer,
        generation -> Integer,
        consumer_type_id -> Nullable<Integer>,
    }
}

table! {
    alembic_version (version_num) {
        version_num -> Text,
    }
}

table! {
    /// placet's migrations that ran on this database.
    placet_migrations (version) {
        version -> Text,
        run_at -> Timestamp,
    }
}

table! {
    /// One row per live writer: the number of its commits, and the commit token of the last commit.
    placet_writers (id) {
        id -> Text,
        revision -> BigInt,
        token -> Text,
        seen_at -> Timestamp,
    }
}

table! {
    /// One row per committed batch: the changes of the batch, as deltas.
    placet_changes (writer, revision) {
        writer -> Text,
        revision -> BigInt,
        token -> Text,
        committed_at -> Timestamp,
        body -> Text,
    }
}

table! {
    /// One row: a random text, replaced when a silent writer is pruned.
    placet_epoch (id) {
        id -> Integer,
        epoch -> Text,
    }
}

table! {
    /// The answers to calls with an id (`POST /v1/claims`).
    placet_claims (id, project_id) {
        id -> Text,
        project_id -> Text,
        created_at -> Timestamp,
        digest -> Text,
        answer -> Text,
    }
}

table! {
    /// The descriptions of providers (`/v1/providers`). `created_at` is the time of the last write.
    placet_descriptions (resource_provider_id) {
        resource_provider_id -> Integer,
        uuid -> Text,
        created_at -> Timestamp,
        generation -> Integer,
        state -> Text,
        sets_trait -> Integer,
        body -> Text,
    }
}

table! {
    /// The normal limits of classes (`/v1/limits`). `normal` is null after a limit was removed.
    placet_limits (resource_class) {
        resource_class -> Text,
        created_at -> Timestamp,
        updated_at -> Nullable<Timestamp>,
        generation -> BigInt,
        normal -> Nullable<Text>,
    }
}

table! {
    /// Workloads (`/v1/workloads`). `body` is the workload's request. `named` is the number of changes of workloads
    /// whose rules name this workload.
    placet_workloads (uuid) {
        uuid -> Text,
        project_id -> Text,
        name -> Text,
        user_id -> Text,
        created_at -> Timestamp,
        updated_at -> Nullable<Timestamp>,
        generation -> BigInt,
        revision -> BigInt,
        body -> Text,
        named -> BigInt,
    }
}

table! {
    /// The workloads in the rules of a workload.
    placet_neighbours (workload, neighbour) {
        workload -> Text,
        neighbour -> Text,
        created_at -> Timestamp,
    }
}

table! {
    /// The replicas of workloads, placed or not. The places are in `allocations`.
    placet_replicas (consumer_id) {
        consumer_id -> Text,
        workload -> Text,
        replica -> Text,
        role -> Text,
        created_at -> Timestamp,
        revision -> BigInt,
        adopted -> Integer,
    }
}

allow_tables_to_appear_in_same_query!(
    resource_classes,
    traits,
    resource_providers,
    inventories,
    allocations,
    placement_aggregates,
    resource_provider_aggregates,
    resource_provider_traits,
    projects,
    users,
    consumer_types,
    consumers,
    placet_writers,
    placet_changes,
    placet_replicas,
);

allow_columns_to_appear_in_same_group_by_clause!(consumers::consumer_type_id, allocations::resource_class_id);
