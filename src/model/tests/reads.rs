//! Every read, on a real database whose rows were inserted by SQL.

use std::sync::Arc;

use diesel::connection::SimpleConnection;

use crate::db::tests::support::{self, TestDatabase};
use crate::db::{Database, DbConnection};
use crate::error::{Error, Result};
use crate::model::snapshot::load;
use crate::model::{
    aggregates, allocations, inventories, resource_classes, resource_providers, standard, traits, usages,
};
use crate::search::{AggregateId, ClassId, Inventory, ProviderId, TraitId};

/// A host with a child, and three consumers: with a type, without a type, and without a row.
const ROWS: &str = "
    INSERT INTO resource_classes (id, name, created_at) VALUES (10000, 'CUSTOM_GOLD', '2026-01-01 00:00:00.000001');
    INSERT INTO resource_providers (id, uuid, name, generation, root_provider_id, parent_provider_id, created_at, updated_at)
        VALUES (1, 'host', 'h1', 7, 1, NULL, '2026-01-02 03:04:05.000006', NULL),
               (2, 'child', 'c1', 0, 1, 1, '2026-01-02 03:04:05.000006', '2026-01-03 00:00:00.000007');
    INSERT INTO inventories (resource_provider_id, resource_class_id, total, reserved, min_unit, max_unit, step_size, allocation_ratio, created_at, updated_at)
        VALUES (1, 10000, 5, 0, 1, 5, 1, 1.0, '2026-01-04 00:00:00.000001', NULL),
               (1, 0, 8, 2, 1, 4, 2, 1.5, '2026-01-04 00:00:00.000001', '2026-01-05 00:00:00.000001');
    INSERT INTO projects (id, external_id) VALUES (1, 'p'), (2, 'q');
    INSERT INTO users (id, external_id) VALUES (1, 'u'), (2, 'v');
    INSERT INTO consumer_types (id, name) VALUES (1, 'INSTANCE');
    INSERT INTO consumers (id, uuid, project_id, user_id, generation, consumer_type_id)
        VALUES (1, 'vm', 1, 1, 3, 1), (2, 'old', 1, 2, 1, NULL), (3, 'idle', 1, 1, 1, 1);
    INSERT INTO allocations (resource_provider_id, consumer_id, resource_class_id, used, created_at)
        VALUES (1, 'vm', 0, 2, '2026-01-06 00:00:00.000001'), (2, 'vm', 1, 64, '2026-01-07 00:00:00.000001'),
               (1, 'old', 0, 1, '2026-01-08 00:00:00.000001'), (1, 'vm', 10000, 3, '2026-01-06 00:00:00.000001'),
               (1, 'lost', 0, 1, '2026-01-09 00:00:00.000001');
    INSERT INTO traits (name, created_at)
        VALUES ('CUSTOM_A_B', '2026-01-01 00:00:00.000001'), ('CUSTOM_AXB', '2026-01-01 00:00:00.000001');
    INSERT INTO resource_provider_traits (resource_provider_id, trait_id)
        SELECT 1, id FROM traits WHERE name IN ('COMPUTE_NODE', 'CUSTOM_A_B');
    INSERT INTO placement_aggregates (id, uuid) VALUES (1, 'B0'), (2, 'a0');
    INSERT INTO resource_provider_aggregates (resource_provider_id, aggregate_id) VALUES (1, 2), (1, 1);";

pub(super) fn filled() -> (TestDatabase, Database) {
    let (kept, database) = TestDatabase::synced();
    let conn = &mut database.connect().expect("a connection");
    standard::sync(conn).expect("standard names");
    conn.batch_execute(ROWS).expect("rows");
    (kept, database)
}

fn read<T>(query: impl Fn(&mut DbConnection) -> Result<T>) -> Result<T> {
    let (_directory, database) = filled();
    database.read(query)
}

/// A time in the precision of the database: MariaDB stores seconds.
fn kept(moment: &str) -> String {
    if support::keeps_microseconds() {
        moment.to_owned()
    } else {
        moment.split('.').next().unwrap_or(moment).to_owned()
    }
}

pub(super) fn names(pairs: &[(Arc<str>, i64)]) -> Vec<(&str, i64)> {
    pairs.iter().map(|(name, amount)| (name.as_ref(), *amount)).collect()
}

fn time(moment: Option<crate::model::Moment>) -> String {
    moment.expect("a moment").format("%F %T%.f").to_string()
}

#[test]
fn a_provider_shows_its_parent_and_root() {
    let (host, child) = read(|conn| {
        resource_providers::check_exists(conn, "child")?;
        Ok((
            resource_providers::show(conn, "host")?,
            resource_providers::show(conn, "child")?,
        ))
    })
    .expect("both");
    assert_eq!(
        (host.name.as_ref(), host.generation, host.parent.as_deref()),
        ("h1", 7, None)
    );
    assert_eq!(
        (host.root.as_ref(), time(Some(host.modified))),
        ("host", kept("2026-01-02 03:04:05.000006"))
    );
    assert_eq!((child.parent.as_deref(), child.root.as_ref()), (Some("host"), "host"));
    assert_eq!(time(Some(child.modified)), kept("2026-01-03 00:00:00.000007"));
}

#[test]
fn each_read_has_its_own_message_for_an_unknown_provider() {
    let (_directory, database) = filled();
    let refusal = |query: fn(&mut DbConnection) -> Result<()>| database.read(query).expect_err("unknown").to_string();
    let plain = "No resource provider with uuid x found";
    assert_eq!(refusal(|conn| resource_providers::check_exists(conn, "x")), plain);
    assert_eq!(refusal(|conn| resource_providers::show(conn, "x").map(drop)), plain);
    assert_eq!(refusal(|conn| aggregates::of_provider(conn, "x").map(drop)), plain);
    assert_eq!(
        refusal(|conn| inventories::list(conn, "x").map(drop)),
        format!("{plain} : {plain}")
    );
    assert_eq!(
        refusal(|conn| inventories::show(conn, "x", "VCPU").map(drop)),
        format!("{plain} : {plain}")
    );
    assert_eq!(
        refusal(|conn| traits::of_provider(conn, "x").map(drop)),
        format!("{plain}: {plain}")
    );
    assert_eq!(
        refusal(|conn| usages::of_provider(conn, "x").map(drop)),
        format!("{plain}: {plain}")
    );
    let allocations = refusal(|conn| allocations::of_provider(conn, "x").map(drop));
    assert_eq!(allocations, format!("Resource provider 'x' not found: {plain}"));
}

#[test]
fn inventories_are_listed_in_the_order_of_classes() {
    let (all, one, missing) = read(|conn| {
        let missing = inventories::show(conn, "host", "DISK_GB");
        Ok((
            inventories::list(conn, "host")?,
            inventories::show(conn, "host", "CUSTOM_GOLD")?,
            missing,
        ))
    })
    .expect("inventories");
    assert_eq!((all.provider.as_ref(), all.generation), ("host", 7));
    assert_eq!(
        all.inventories
            .iter()
            .map(|(class, _)| class.as_ref())
            .collect::<Vec<_>>(),
        ["VCPU", "CUSTOM_GOLD"]
    );
    let vcpu = Inventory {
        total: 8,
        reserved: 2,
        min_unit: 1,
        max_unit: 4,
        step_size: 2,
        allocation_ratio: 1.5,
    };
    assert_eq!(all.inventories[0].1, vcpu);
    assert_eq!(time(all.modified), kept("2026-01-05 00:00:00.000001"));
    assert_eq!(
        (one.inventories.len(), time(one.modified)),
        (1, kept("2026-01-04 00:00:00.000001"))
    );
    assert!(matches!(missing, Err(Error::InventoryNotFound { .. })));
    assert_eq!(
        read(|conn| inventories::list(conn, "child")).expect("none").modified,
        None
    );
}

#[test]
fn traits_are_filtered_and_listed_by_id() {
    let (_directory, database) = filled();
    let listed = |filter: traits::Filter| -> Vec<String> {
        let traits = database.read(|conn| traits::list(conn, &filter)).expect("traits");
        traits.into_iter().map(|it| it.name.to_string()).collect()
    };
    let all = listed(traits::Filter::default());
    assert_eq!(all.len(), standard::traits().count() + 2);
    assert_eq!(all.last().map(String::as_str), Some("CUSTOM_AXB"));
    let prefix = |prefix: &str| traits::Filter {
        prefix: Some(prefix.to_string()),
        ..Default::default()
    };
    assert_eq!(
        listed(prefix("CUSTOM_A_")),
        ["CUSTOM_A_B", "CUSTOM_AXB"],
        "a `_` of a prefix stands for any character, as upstream has it"
    );
    let named = vec![
        "CUSTOM_AXB".to_string(),
        "COMPUTE_NODE".to_string(),
        "CUSTOM_UNKNOWN".to_string(),
    ];
    let filter = traits::Filter {
        names: Some(named),
        ..Default::default()
    };
    assert_eq!(listed(filter.clone()), ["COMPUTE_NODE", "CUSTOM_AXB"]);
    assert_eq!(
        listed(traits::Filter {
            associated: Some(true),
            ..filter.clone()
        }),
        ["COMPUTE_NODE"]
    );
    assert_eq!(
        listed(traits::Filter {
            associated: Some(false),
            ..filter
        }),
        ["CUSTOM_AXB"]
    );

    let host = database.read(|conn| traits::of_provider(conn, "host")).expect("traits");
    let of_host: Vec<_> = host.traits.iter().map(|it| it.name.as_ref()).collect();
    assert_eq!((host.generation, of_host), (7, vec!["COMPUTE_NODE", "CUSTOM_A_B"]));
    assert!(database.read(|conn| traits::show(conn, "CUSTOM_A_B")).is_ok());
    let unknown = database
        .read(|conn| traits::show(conn, "CUSTOM_A"))
        .expect_err("unknown");
    assert_eq!(unknown.to_string(), "No such trait(s): CUSTOM_A.");
}

#[test]
fn classes_and_aggregates_are_listed_by_id() {
    let (_directory, database) = filled();
    let classes = database.read(resource_classes::list).expect("classes");
    assert_eq!(
        (classes[0].name.as_ref(), classes[1].name.as_ref()),
        ("VCPU", "MEMORY_MB")
    );
    assert_eq!(classes.last().map(|class| class.name.as_ref()), Some("CUSTOM_GOLD"));
    assert!(database.read(|conn| resource_classes::show(conn, "PCPU")).is_ok());
    let unknown = database
        .read(|conn| resource_classes::show(conn, "CUSTOM_LEAD"))
        .expect_err("unknown");
    assert_eq!(unknown.to_string(), "No such resource class CUSTOM_LEAD.");
    let aggregates = database
        .read(|conn| aggregates::of_provider(conn, "host"))
        .expect("aggregates");
    assert_eq!(
        (aggregates.generation, &aggregates.aggregates[..]),
        (7, &["B0".into(), "a0".into()][..])
    );
}

#[test]
fn a_consumer_shows_its_allocations_by_provider() {
    let (_directory, database) = filled();
    let of = |consumer: &str| {
        database
            .read(|conn| allocations::of_consumer(conn, consumer))
            .expect("allocations")
    };
    let vm = of("vm");
    let shares: Vec<_> = vm
        .providers
        .iter()
        .map(|it| (it.uuid.as_ref(), it.generation, names(&it.resources)))
        .collect();
    assert_eq!(
        shares,
        [
            ("host", 7, vec![("VCPU", 2), ("CUSTOM_GOLD", 3)]),
            ("child", 0, vec![("MEMORY_MB", 64)])
        ]
    );
    assert_eq!(time(vm.modified), kept("2026-01-07 00:00:00.000001"));
    let consumer = vm.consumer.expect("a consumer");
    let shown = (
        &consumer.project[..],
        &consumer.user[..],
        consumer.generation,
        &consumer.consumer_type[..],
    );
    assert_eq!(shown, ("p", "u", 3, "INSTANCE"));
    assert_eq!(of("old").consumer.expect("a consumer").consumer_type, "unknown");
    for nothing in ["idle", "lost", "unknown"] {
        let nothing = of(nothing);
        assert!(nothing.providers.is_empty() && nothing.consumer.is_none() && nothing.modified.is_none());
    }
}

#[test]
fn a_provider_shows_its_allocations_by_consumer() {
    let host = read(|conn| allocations::of_provider(conn, "host")).expect("allocations");
    let shares: Vec<_> = host
        .consumers
        .iter()
        .map(|it| (it.uuid.as_ref(), it.generation, names(&it.resources)))
        .collect();
    assert_eq!(
        shares,
        [
            ("vm", 3, vec![("VCPU", 2), ("CUSTOM_GOLD", 3)]),
            ("old", 1, vec![("VCPU", 1)])
        ]
    );
    assert_eq!(
        (host.generation, time(host.modified)),
        (7, kept("2026-01-08 00:00:00.000001"))
    );
}

/// The number of prepared statements of this session. Only on MariaDB, whose client keeps their rows too.
fn kept_statements(conn: &mut DbConnection) -> i64 {
    match conn {
        #[cfg(feature = "mariadb")]
        DbConnection::Mariadb(conn) => {
            use diesel::prelude::*;
            let sql = "SELECT CAST(SUM(IF(variable_name = 'COM_STMT_PREPARE', 1, -1) * variable_value) AS SIGNED) \
                       FROM information_schema.session_status \
                       WHERE variable_name IN ('COM_STMT_PREPARE', 'COM_STMT_CLOSE')";
            diesel::dsl::sql::<diesel::sql_types::BigInt>(sql)
                .get_result(conn)
                .unwrap()
        }
        _ => 0,
    }
}

#[test]
fn a_load_of_all_tables_keeps_no_prepared_statement() {
    let (_directory, database) = filled();
    let (before, after) = database
        .read(|conn| {
            let before = kept_statements(conn);
            drop(load::snapshot_parts(conn, || Ok(()))?);
            Ok((before, kept_statements(conn)))
        })
        .unwrap();
    // Statements that were prepared before the load are closed too.
    assert!(after <= before, "{before} statements, and {after} after it");
}

#[test]
fn the_snapshot_is_loaded_in_a_constant_number_of_statements() {
    let (_directory, database) = filled();
    let ((catalog, rows), statements) = database
        .read(|conn| {
            let before = database.statements();
            Ok((load::snapshot_parts(conn, || Ok(()))?, database.statements() - before))
        })
        .expect("parts");
    let rows: Vec<_> = rows.collect();
    assert_eq!(statements, 11);
    assert_eq!(catalog.class_id("CUSTOM_GOLD"), Some(ClassId(10000)));
    assert_eq!(catalog.aggregate_id("B0"), Some(AggregateId(1)));
    let node = catalog.trait_id("COMPUTE_NODE").expect("a standard trait");

    let [host, child] = &rows[..] else { panic!("{rows:?}") };
    assert_eq!(
        (host.id, host.uuid.as_ref(), host.name.as_ref(), host.generation),
        (ProviderId(1), "host", "h1", 7)
    );
    assert_eq!((host.parent, host.root), (None, ProviderId(1)));
    assert_eq!((child.parent, child.root), (Some(ProviderId(1)), ProviderId(1)));
    assert_eq!(
        child.modified % 1_000_000,
        if support::keeps_microseconds() { 7 } else { 0 }
    );
    assert_eq!(child.modified / 1_000_000, 1_767_398_400);
    assert_eq!(
        host.inventories.keys().collect::<Vec<_>>(),
        [&ClassId(0), &ClassId(10000)]
    );
    let used: Vec<_> = host.used.iter().map(|(class, used)| (class.0, *used)).collect();
    assert_eq!(
        used,
        [(0, 4), (10000, 3)],
        "allocations of an unknown consumer count too"
    );
    assert_eq!(
        child.used.iter().next(),
        Some((&ClassId(1), &64)),
        "and those of a class without an inventory"
    );
    assert!(host.traits.contains(&node) && host.traits.len() == 2 && !host.traits.contains(&TraitId(0)));
    assert_eq!(host.aggregates.iter().map(|it| it.0).collect::<Vec<_>>(), [1, 2]);

    let some = database
        .read(|conn| Ok(load::providers(conn, &[2, 99])?))
        .expect("some");
    assert_eq!(some, rows[1..]);
    assert_eq!(database.read(|conn| Ok(load::providers(conn, &[])?)), Ok(vec![]));
}
