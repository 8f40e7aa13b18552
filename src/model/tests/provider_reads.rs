//! The coalesced reads of a provider show every commit before the request, of whichever program.

use std::fmt::Debug;

use super::*;
use crate::model::{aggregates, allocations, inventories, traits};

const AT: &str = "'2020-01-01 00:00:00'";

/// A host with traits, aggregates, an inventory and allocations, and a second host.
async fn filled() -> Fixture {
    let mut f = fixture();
    f.host(1, 10).await.unwrap();
    f.host(2, 10).await.unwrap();
    let host = uuid(1);
    f.model
        .submit(traits::Replace {
            provider: host.clone(),
            generation: 1,
            traits: ["HW_CPU_X86_AVX2", "COMPUTE_NODE", "HW_CPU_X86_SSE"]
                .map(str::to_owned)
                .into(),
        })
        .await
        .unwrap();
    f.model
        .submit(aggregates::Replace {
            provider: host,
            aggregates: vec![uuid(70), uuid(69)],
            generation: None,
        })
        .await
        .unwrap();
    for consumer in 10..13 {
        let claim = claim(consumer, 1, "VCPU", 1, Expected::New);
        f.model.submit(claim).await.unwrap();
    }
    f
}

impl Fixture {
    /// Asserts that the answers about a provider equal direct reads. Returns the number of statements of each.
    async fn check_reads(&mut self, n: u32) -> [u64; 4] {
        let uuid = uuid(n);
        let (model, conn) = (self.model.clone(), &mut self.conn);
        let mut sent = Vec::new();
        macro_rules! ask {
            ($what:ident, $direct:expr) => {{
                let before = model.statements();
                let answer = model.provider_reader(false).$what(uuid.clone()).await;
                sent.push(model.statements() - before);
                assert_same(answer, $direct(conn, &uuid), stringify!($what));
            }};
        }
        ask!(inventories, inventories::list);
        ask!(traits, traits::of_provider);
        ask!(aggregates, aggregates::of_provider);
        ask!(allocations, allocations::of_provider);
        sent.try_into().unwrap()
    }
}

#[track_caller]
fn assert_same(answered: impl Debug, read: impl Debug, what: &str) {
    assert_eq!(format!("{answered:?}"), format!("{read:?}"), "{what}");
}

#[actix_web::test]
async fn an_unchanged_provider_is_answered_by_one_statement() {
    let mut f = filled().await;
    f.check_reads(1).await;
    assert_eq!(f.check_reads(1).await, [1; 4]);
    // The same holds after a write of this process.
    for total in 11..14 {
        let generation = f.generation(1);
        let replace = replacing(generation, &[("VCPU", inventory(total))]);
        f.model.submit(replace).await.unwrap();
        assert_eq!(f.check_reads(1).await, [1; 4], "total {total}");
    }
    f.model.submit(claim(20, 1, "VCPU", 1, Expected::New)).await.unwrap();
    assert_eq!(f.check_reads(1).await, [1; 4], "claimed");
    f.check_reads(9).await;
}

#[actix_web::test]
async fn a_change_of_a_foreign_writer_is_shown_at_once() {
    let mut f = filled().await;
    let host = format!("(SELECT p.id FROM resource_providers p WHERE p.uuid = '{}')", uuid(1));
    let moved = format!(
        "UPDATE resource_providers SET generation = generation + 1 WHERE uuid = '{}'",
        uuid(1)
    );
    let trait_of = |verb: &str| match verb {
        "INSERT" => format!(
            "INSERT INTO resource_provider_traits (created_at, resource_provider_id, trait_id) \
             SELECT {AT}, {host}, id FROM traits WHERE name = 'CUSTOM_FOREIGN'"
        ),
        _ => format!("DELETE FROM resource_provider_traits WHERE resource_provider_id = {host}"),
    };
    let steps = [
        // These move the generation.
        vec![
            format!("INSERT INTO traits (created_at, name) VALUES ({AT}, 'CUSTOM_FOREIGN')"),
            trait_of("INSERT"),
            moved.clone(),
        ],
        vec![trait_of("DELETE"), moved.clone()],
        vec![
            format!("UPDATE inventories SET total = 77, updated_at = {AT} WHERE resource_provider_id = {host}"),
            moved.clone(),
        ],
        // These do not: aggregates before 1.19, a release, a consumer's generation, the name of a class.
        vec![format!(
            "DELETE FROM resource_provider_aggregates WHERE resource_provider_id = {host}"
        )],
        vec![format!("DELETE FROM allocations WHERE consumer_id = '{}'", uuid(11))],
        vec!["UPDATE consumers SET generation = generation + 1".to_owned()],
        vec!["UPDATE resource_classes SET name = 'CUSTOM_NEW' WHERE name = 'CUSTOM_OLD'".to_owned()],
        // As after a restored backup: the generation is the same. This host has no custom class.
        vec![
            format!("UPDATE inventories SET total = 78 WHERE resource_provider_id <> {host}"),
            format!(
                "UPDATE resource_providers SET updated_at = {AT} WHERE uuid = '{}'",
                uuid(2)
            ),
        ],
    ];
    let ensure = crate::model::resource_classes::Ensure {
        name: "CUSTOM_OLD".into(),
    };
    f.model.submit(ensure).await.unwrap();
    let add = adding(1, "CUSTOM_OLD", 10);
    f.model.submit(add).await.unwrap();
    for step in steps {
        // Whatever can be cached is cached, and is current.
        comparisons::compare(&f.model, 0, 100).unwrap();
        for host in [1, 2, 1, 2] {
            f.check_reads(host).await;
        }
        for sql in &step {
            f.execute(sql);
        }
        f.check_reads(1).await;
        f.check_reads(2).await;
    }
    f.execute(&format!(
        "UPDATE resource_providers SET uuid = '{}' WHERE id = {host}",
        uuid(3)
    ));
    f.check_reads(1).await;
    f.check_reads(3).await;
}

/// They are valid as long as the catalog is.
#[actix_web::test]
async fn cached_times_of_traits_are_dropped_with_the_catalog() {
    let mut f = filled().await;
    f.check_reads(1).await;
    f.check_reads(1).await;
    for sql in [
        &format!("UPDATE traits SET updated_at = {AT}"),
        "DELETE FROM placet_changes",
        "DELETE FROM placet_writers",
    ] {
        f.execute(sql);
    }
    f.check_snapshot().await;
    f.check_reads(1).await;
}

/// MariaDB compares uuids without case.
#[actix_web::test]
async fn a_provider_is_found_by_every_spelling_that_the_database_accepts() {
    let mut f = fixture();
    let upper = "ABCDEFAB-0000-4000-8000-000000000001";
    f.execute(&format!(
        "INSERT INTO resource_providers (id, uuid, name, generation, root_provider_id, created_at) \
         VALUES (7, '{upper}', 'x', 4, 7, {AT})"
    ));
    for spelled in [upper.to_owned(), upper.to_lowercase()] {
        let answered = f.model.provider_reader(false).aggregates(spelled.clone()).await;
        assert_same(answered, aggregates::of_provider(&mut f.conn, &spelled), &spelled);
        let answered = f.model.provider_reader(false).inventories(spelled.clone()).await;
        assert_same(answered, inventories::list(&mut f.conn, &spelled), &spelled);
    }
}

/// The new provider has the generation and the times of the deleted provider, and a different id.
#[actix_web::test]
async fn a_provider_that_was_deleted_and_created_again_is_another_one() {
    let mut f = filled().await;
    f.check_reads(1).await;
    let it = format!("uuid = '{}'", uuid(1));
    for table in [
        "inventories",
        "resource_provider_traits",
        "resource_provider_aggregates",
        "allocations",
    ] {
        f.execute(&format!(
            "DELETE FROM {table} WHERE resource_provider_id = (SELECT p.id FROM resource_providers p WHERE {it})"
        ));
    }
    for set in ["root_provider_id = NULL", "id = 4711", "root_provider_id = 4711"] {
        f.execute(&format!("UPDATE resource_providers SET {set} WHERE {it}"));
    }
    f.check_reads(1).await;
}

/// PostgreSQL takes no NUL in a text, so PostgreSQL refuses the shared statement of several requests.
#[actix_web::test]
async fn a_uuid_that_the_database_refuses_fails_no_other_request() {
    let f = filled().await;
    for _ in 0..20 {
        let ask = |n: usize| {
            let reader = f.model.provider_reader(false);
            let uuid = if n % 4 == 3 { "\0".to_owned() } else { uuid(1) };
            actix_web::rt::spawn(async move { reader.aggregates(uuid).await.is_ok() })
        };
        let asked: Vec<_> = (0..40).map(ask).collect();
        for (n, answer) in asked.into_iter().enumerate() {
            assert_eq!(answer.await.unwrap(), n % 4 != 3, "{n}");
        }
    }
}
