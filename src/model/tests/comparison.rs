//! Changes of foreign writers, which leave nothing in the change feed: the comparison with the tables and look-ups of
//! names find the changes.

use std::sync::Arc;
use std::time::Duration;

use super::foreign::foreign_claim;
use super::*;
use crate::error::Error;
use crate::interrupt::Interrupt;
use crate::model::reads::unknown_names::Names;
use crate::search::ProviderQuery;

/// Compares all providers, `slice` at a time. Returns the reloaded providers, and the excess over capacity.
fn round(f: &Fixture, slice: usize) -> (Vec<String>, Vec<(String, i64)>) {
    let (mut corrected, mut over, mut after) = (Vec::new(), Vec::new(), 0);
    loop {
        let result = comparisons::compare(&f.model, after, slice).unwrap();
        corrected.extend(result.corrected);
        over.extend(
            result
                .over_capacity
                .into_iter()
                .map(|over| (over.provider, over.used - over.capacity)),
        );
        match result.next {
            Some(next) => after = next,
            None => return (corrected, over),
        }
    }
}

#[actix_web::test]
async fn foreign_allocations_are_found_by_their_sums() {
    let mut f = fixture();
    for n in 1..6 {
        f.host(n, 10).await.unwrap();
    }
    f.model.submit(claim(10, 2, "VCPU", 4, Expected::New)).await.unwrap();
    assert_eq!(round(&f, 2), (vec![], vec![]), "there was no foreign write");
    // A release moves no generation.
    f.execute("DELETE FROM allocations");
    f.execute("DELETE FROM consumers");
    foreign_claim(&mut f, 20, 3, 12);
    assert_eq!(round(&f, 2), (vec![uuid(2), uuid(3)], vec![(uuid(3), 2)]));
    f.check_snapshot().await;
    assert_eq!(round(&f, 2), (vec![], vec![(uuid(3), 2)]));
}

#[actix_web::test]
async fn foreign_changes_of_trees_are_found() {
    let mut f = fixture();
    for n in 1..6 {
        f.host(n, 10).await.unwrap();
    }
    let id = |n: u32| {
        format!(
            "(SELECT id FROM (SELECT id, uuid FROM resource_providers) x WHERE x.uuid = '{}')",
            uuid(n)
        )
    };
    // 2 and 3 move below 5, a new provider is below 1, and 4 is deleted.
    for (below, parent) in [(2, 5), (3, 2)] {
        f.execute(&format!(
            "UPDATE resource_providers SET parent_provider_id = {}, root_provider_id = {} WHERE uuid = '{}'",
            id(parent),
            id(5),
            uuid(below)
        ));
    }
    f.execute(&format!(
        "DELETE FROM inventories WHERE resource_provider_id = {}",
        id(4)
    ));
    // MariaDB refuses to delete a row with a reference to itself.
    for sql in [
        "UPDATE resource_providers SET root_provider_id = NULL",
        "DELETE FROM resource_providers",
    ] {
        f.execute(&format!("{sql} WHERE uuid = '{}'", uuid(4)));
    }
    f.execute(&format!(
        "INSERT INTO resource_providers (id, uuid, name, generation, root_provider_id, parent_provider_id) \
         VALUES (90, '{}', 'x', 0, {}, {})",
        uuid(9),
        id(1),
        id(1)
    ));
    f.execute("INSERT INTO traits (id, name) VALUES (90000, 'CUSTOM_FOREIGN')");
    f.execute("INSERT INTO resource_provider_traits (trait_id, resource_provider_id) VALUES (90000, 90)");
    let (mut mended, _) = round(&f, 2);
    mended.sort();
    assert_eq!(mended, [uuid(2), uuid(3), uuid(4), uuid(9)]);
    f.check_snapshot().await;
}

#[actix_web::test]
async fn an_unknown_name_is_looked_up_in_the_tables_before_it_is_refused() {
    let mut f = fixture();
    f.host(1, 10).await.unwrap();
    f.execute("INSERT INTO traits (name) VALUES ('CUSTOM_FOREIGN')");
    let asking = |name: &str| ProviderQuery {
        traits: crate::search::Traits {
            required: vec![[name.to_owned()].into()],
            forbidden: Default::default(),
        },
        ..ProviderQuery::default()
    };
    // Found by the comparison with OpenStack Placement: PostgreSQL refuses a NUL, and so did the search.
    for (name, known) in [("CUSTOM_FOREIGN", true), ("CUSTOM_NONE", false), ("CUSTOM_\0", false)] {
        let query = asking(name);
        let snapshot = f
            .model
            .prepare_search(Names::of_providers(&query), Duration::ZERO)
            .await
            .unwrap()
            .snapshot;
        let found = crate::search::providers(&snapshot, &query, false, &Interrupt::default());
        assert_eq!(
            !matches!(found, Err(Error::UnknownTraitsInQuery { .. })),
            known,
            "{name}"
        );
    }
    let mut statements = Vec::new();
    for name in ["HW_CPU_X86_AVX", "CUSTOM_FOREIGN"] {
        let before = f.model.statements();
        f.model
            .prepare_search(Names::of_providers(&asking(name)), Duration::ZERO)
            .await
            .unwrap();
        statements.push(f.model.statements() - before);
    }
    assert_eq!(statements[0], statements[1], "a known name is not looked up");
}

/// Returns when everything was reloaded after a foreign write.
async fn until_reloaded(model: &Model) {
    let reloaded = async {
        while !model.store.may_decide() {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    let reloaded = tokio::time::timeout(Duration::from_secs(600), reloaded).await;
    reloaded.expect("nothing was reloaded for ten minutes");
}

/// Of two refusals with a comparison at the same time, the second uses the comparison of the first. The next comparison
/// begins at the earliest a second after the first.
#[actix_web::test]
async fn refusals_that_wait_for_a_comparison_share_it() {
    let mut f = fixture();
    f.host(1, 4).await.unwrap();
    f.model.submit(claim(10, 1, "VCPU", 1, Expected::New)).await.unwrap();
    foreign_claim(&mut f, 20, 1, 1);
    round(&f, 10);
    let compare = || comparisons::compare_before_refusal(&f.model, f.model.writer_deadline());
    let began = || async { f.model.last_comparison.lock().await.unwrap() };
    // A reload would be counted with the statements of the comparisons.
    assert!(compare().await.unwrap());
    until_reloaded(&f.model).await;
    let before = f.model.statements();
    let running = Arc::clone(&f.model.last_comparison).lock_owned().await;
    // The first two branches have arrived before the third releases the lock.
    let (one, other, ()) = tokio::join!(biased; compare(), compare(), async { drop(running) });
    assert!(one.unwrap() && other.unwrap());
    let (of_two, first_began) = (f.model.statements() - before, began().await);
    assert!(compare().await.unwrap());
    let of_one = f.model.statements() - before - of_two;
    assert!(of_two < 2 * of_one, "{of_two} statements of two, {of_one} of one");
    let next_began = began().await;
    assert!(
        next_began >= first_began + Duration::from_secs(1),
        "{next_began:?} after {first_began:?}"
    );
}
