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

/// Declares OpenStack's tables, which begin with the same two columns. Queries join the tables, and three of placet's.
macro_rules! openstack_tables {
    ($($table:ident ($($key:ident),+) { $($columns:tt)+ })+) => {
        $(table! {
            $table ($($key),+) {
                created_at -> Nullable<Timestamp>,
                updated_at -> Nullable<Timestamp>,
                $($columns)+
            }
        })+

        allow_tables_to_appear_in_same_query!($($table,)+ placet_writers, placet_changes, placet_replicas);
    };
}

openstack_tables! {
    resource_classes (id) {
        id -> Integer,
        name -> Text,
    }

    traits (id) {
        id -> Integer,
        name -> Text,
    }

    resource_providers (id) {
        id -> Integer,
        uuid -> Text,
        name -> Nullable<Text>,
        generation -> Nullable<Integer>,
        root_provider_id -> Nullable<Integer>,
        parent_provider_id -> Nullable<Integer>,
    }

    inventories (id) {
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

    allocations (id) {
        id -> Integer,
        resource_provider_id -> Integer,
        consumer_id -> Text,
        resource_class_id -> Integer,
        used -> Integer,
    }

    placement_aggregates (id) {
        id -> Integer,
        uuid -> Nullable<Text>,
    }

    resource_provider_aggregates (resource_provider_id, aggregate_id) {
        resource_provider_id -> Integer,
        aggregate_id -> Integer,
    }

    resource_provider_traits (trait_id, resource_provider_id) {
        trait_id -> Integer,
        resource_provider_id -> Integer,
    }

    projects (id) {
        id -> Integer,
        external_id -> Text,
    }

    users (id) {
        id -> Integer,
        external_id -> Text,
    }

    consumer_types (id) {
        id -> Integer,
        name -> Text,
    }

    consumers (id) {
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

/// Declares placet's own tables, and lists the columns for tests.
macro_rules! own_tables {
    ($($(#[$($text:tt)*])* $table:ident ($($key:ident),+) { $($column:ident -> $type:ident $(<$inner:ident>)?,)+ })+) => {
        $(table! {
            $(#[$($text)*])*
            $table ($($key),+) {
                $($column -> $type $(<$inner>)?,)+
            }
        })+

        #[cfg(test)]
        pub mod tests {
            /// The names of placet's own tables, with the names and types of the columns.
            pub const OWN_TABLES: &[(&str, &[(&str, &str)])] = &[
                $((stringify!($table), &[$((stringify!($column), stringify!($type $(<$inner>)?))),+])),+
            ];
        }
    };
}

own_tables! {
    /// placet's migrations that ran on this database.
    placet_migrations (version) {
        version -> Text,
        run_at -> Timestamp,
    }

    /// One row per live writer: the number of its commits, and the commit token of the last commit.
    placet_writers (id) {
        id -> Text,
        revision -> BigInt,
        token -> Text,
        seen_at -> Timestamp,
    }

    /// One row per committed batch: the changes of the batch, as deltas.
    placet_changes (writer, revision) {
        writer -> Text,
        revision -> BigInt,
        token -> Text,
        committed_at -> Timestamp,
        body -> Text,
    }

    /// One row: a random text, replaced when a silent writer is pruned.
    placet_epoch (id) {
        id -> Integer,
        epoch -> Text,
    }

    /// The answers to calls with an id (`POST /v1/claims`).
    placet_claims (id, project_id) {
        id -> Text,
        project_id -> Text,
        created_at -> Timestamp,
        digest -> Text,
        answer -> Text,
    }

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

    /// The normal limits of classes (`/v1/limits`). `normal` is null after a limit was removed.
    placet_limits (resource_class) {
        resource_class -> Text,
        created_at -> Timestamp,
        updated_at -> Nullable<Timestamp>,
        generation -> BigInt,
        normal -> Nullable<Text>,
    }

    /// The types of providers (`/v1/types`). `body` has the properties.
    placet_types (name) {
        name -> Text,
        created_at -> Timestamp,
        updated_at -> Nullable<Timestamp>,
        generation -> BigInt,
        body -> Text,
    }

    /// The domains whose hosts are the members of an aggregate (`/v1/domains/{dimension}/{path}`).
    placet_domains (dimension, path) {
        dimension -> Text,
        path -> Text,
        created_at -> Timestamp,
        updated_at -> Nullable<Timestamp>,
        generation -> BigInt,
        aggregate -> Text,
    }

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

    /// The workloads in the rules of a workload.
    placet_neighbours (workload, neighbour) {
        workload -> Text,
        neighbour -> Text,
        created_at -> Timestamp,
    }

    /// One row: the process that leads, and until when.
    placet_leader (id) {
        id -> Integer,
        holder -> Text,
        term -> BigInt,
        held_until -> Timestamp,
    }

    /// The last report of each host (`/v1/hosts`).
    placet_hosts (host) {
        host -> Text,
        created_at -> Timestamp,
        updated_at -> Nullable<Timestamp>,
        body -> Text,
    }

    /// The leases of hosts that report. `term` has seconds, and `former_boots` the last boots before this one.
    placet_leases (host) {
        host -> Text,
        created_at -> Timestamp,
        user_id -> Text,
        holder -> Text,
        boot -> Text,
        former_boots -> Text,
        number -> BigInt,
        digest -> Text,
        term -> Integer,
        held_until -> Timestamp,
        health -> Text,
    }

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

allow_columns_to_appear_in_same_group_by_clause!(
    consumers::consumer_type_id,
    consumers::project_id,
    allocations::resource_class_id,
);
