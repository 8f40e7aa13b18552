//! A large cloud, whose lists are as long as the lists of real clouds or longer.

use crate::db::schema::tests::OWN_TABLES;
use crate::tests::by_size;

/// How many there are of each: traits, classes, aggregates, and consumers of the first provider.
pub const MANY: usize = 20_000;
/// The first provider has this many of the classes and traits.
pub const LISTED: usize = 10_000;
/// The number of flat providers. After the flat providers comes a tree of a root and [`CHILDREN`].
pub const PROVIDERS: usize = 4_000;
/// The children of a root.
const CHILDREN: usize = 1_000;
/// The first consumer has allocations of this many providers.
pub const USED: usize = 2_000;
/// The most items of a page.
pub const PAGE: usize = 1_000;
/// The number of the class of the first [`PLACES`] providers alone.
pub const RARE: usize = MANY;
/// The hosts of the largest workload.
const PLACES: usize = 10;

/// placet's tables whose rows are made above, by requests, or by processes.
const NOT_FILLED: [&str; 13] = [
    "placet_migrations",
    "placet_writers",
    "placet_changes",
    "placet_epoch",
    "placet_leader",
    "placet_hosts",
    "placet_claims",
    "placet_descriptions",
    "placet_types",
    "placet_domains",
    "placet_workloads",
    "placet_neighbours",
    "placet_replicas",
];

/// How many workloads with the longest payload are stored.
const WORKLOADS: usize = 40;

/// How many hosts lie in a domain of 500 levels.
pub fn deep_hosts() -> usize {
    by_size(50, PAGE)
}

/// The number of listed domains. For each domain the answer has the free amounts of [`LISTED`] classes.
pub fn domains() -> usize {
    by_size(20, 100)
}

/// The uuid of a provider, from 1 on.
pub fn provider(number: usize) -> String {
    format!("11111111-1111-4111-8111-{number:012}")
}

/// The uuid of a consumer. Consumers 1 to [`MANY`] have allocations of the first provider. The first consumer has
/// allocations of the first [`USED`] providers.
pub fn consumer(number: usize) -> String {
    format!("22222222-2222-4222-8222-{number:012}")
}

/// The name of a class, and of a trait, from 1 on.
pub fn class(number: usize) -> String {
    format!("CUSTOM_{number}")
}

/// The uuid of a workload, from 1 on.
pub fn workload(number: usize) -> String {
    format!("33333333-3333-4333-8333-{number:012}")
}

/// SQL for the insertion of the rows into empty tables of SQLite.
pub fn rows() -> String {
    let numbers = format!("WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {MANY}) ");
    let now = "'2026-01-01 00:00:00'";
    let inserts = [
        format!("traits (id, name, created_at) SELECT 100000 + i, 'CUSTOM_' || i, {now} FROM n"),
        format!("resource_classes (id, name, created_at) SELECT 10000 + i, 'CUSTOM_' || i, {now} FROM n"),
        format!(
            "resource_providers (id, uuid, name, generation, root_provider_id, parent_provider_id,
                                 created_at)
             SELECT i, printf('11111111-1111-4111-8111-%012d', i), 'host' || i, 1, min(i, {PROVIDERS} + 1),
                    iif(i > {PROVIDERS} + 1, {PROVIDERS} + 1, NULL), {now}
             FROM n WHERE i <= {PROVIDERS} + 1 + {CHILDREN}"
        ),
        "placement_aggregates (id, uuid) SELECT i, printf('44444444-4444-4444-8444-%012d', i) FROM n".to_owned(),
        "resource_provider_aggregates (resource_provider_id, aggregate_id) SELECT 1, i FROM n".to_owned(),
        format!("resource_provider_traits (resource_provider_id, trait_id) SELECT 1, 100000 + i FROM n WHERE i <= {LISTED}"),
        format!(
            "inventories (resource_provider_id, resource_class_id, total, reserved, min_unit, max_unit, step_size,
                          allocation_ratio, created_at)
             SELECT 1, 10000 + i, 10, 0, 1, 10, 1, 1.0, {now} FROM n WHERE i <= {LISTED}
             UNION ALL SELECT i, 0, 1000000, 0, 1, 1000000, 1, 1.0, {now} FROM n WHERE i <= {PROVIDERS} + 1 + {CHILDREN}
             UNION ALL SELECT i, 10000 + {RARE}, 1000000, 0, 1, 1000000, 1, 1.0, {now} FROM n WHERE i <= {PLACES}"
        ),
        "projects (id, external_id) SELECT 1, 'p' FROM n WHERE i = 1".to_owned(),
        "users (id, external_id) SELECT 1, 'u' FROM n WHERE i = 1".to_owned(),
        "consumer_types (id, name) SELECT i, 'TYPE_' || i FROM n".to_owned(),
        "consumers (id, uuid, project_id, user_id, generation, consumer_type_id)
         SELECT i, printf('22222222-2222-4222-8222-%012d', i), 1, 1, 1, i FROM n"
            .to_owned(),
        format!(
            "allocations (resource_provider_id, consumer_id, resource_class_id, used, created_at)
             SELECT 1, printf('22222222-2222-4222-8222-%012d', i), 0, 1, {now} FROM n
             UNION ALL SELECT i, '22222222-2222-4222-8222-000000000001', 0, 1, {now} FROM n WHERE i BETWEEN 2 AND {USED}"
        ),
        format!(
            r#"placet_hosts (host, created_at, body)
             SELECT 'CUSTOM_' || i, {now}, '{{"description":null,"providers":[]}}' FROM n"#
        ),
        format!(
            r#"placet_types (name, created_at, generation, body)
             SELECT 'TYPE_' || i, {now}, 1, '{{"CUSTOM_1": 1, "CUSTOM_2": "x"}}' FROM n"#
        ),
        format!(
            "placet_domains (dimension, path, created_at, generation, aggregate)
             SELECT 'aggregate', 'az/r' || i, {now}, 1, printf('44444444-4444-4444-8444-%012d', i) FROM n"
        ),
        format!(
            "placet_workloads (uuid, project_id, name, user_id, created_at, generation, revision, body, named)
             SELECT printf('33333333-3333-4333-8333-%012d', i), 'p', 'w' || i, 'u', {now}, 1, 1, '{}', 0
             FROM n WHERE i <= {WORKLOADS}",
            workload_body()
        ),
    ];
    let own = OWN_TABLES.iter().filter(|(table, _)| !NOT_FILLED.contains(table));
    inserts
        .into_iter()
        .chain(own.map(|(table, columns)| rows_of_table(table, columns)))
        .map(|insert| {
            let (table, select) = insert.split_once("SELECT").unwrap_or_default();
            format!("INSERT INTO {table} {numbers} SELECT {select};\n")
        })
        .collect()
}

/// Rows of a noun's table: texts with numbers, ones, and no optional value. A noun whose texts have a form of their own
/// is in `NOT_FILLED`, and has rows above.
fn rows_of_table(table: &str, columns: &[(&str, &str)]) -> String {
    let names: Vec<&str> = columns.iter().map(|(column, _)| *column).collect();
    let values = columns.iter().map(|(_, kind)| match *kind {
        "Text" => "'CUSTOM_' || i",
        "Timestamp" => "'2026-01-01 00:00:00'",
        "Integer" | "BigInt" => "1",
        _ => "NULL",
    });
    let values: Vec<&str> = values.collect();
    format!("{table} ({}) SELECT {} FROM n", names.join(", "), values.join(", "))
}

/// The stored body of a workload with the longest payload.
fn workload_body() -> String {
    let payload = "x".repeat((1 << 20) - 300);
    format!(
        r#"{{"type": "INSTANCE", "quorum": true, "roles": [{{"name": "member", "count": 0, "query": "resources=VCPU:1",
            "payload": "{payload}"}}], "rules": []}}"#
    )
}
