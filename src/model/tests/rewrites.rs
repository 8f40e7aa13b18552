//! Inventories that this process wrote are shown without being read again, exactly as they would be read.

use super::*;
use crate::model::inventories::{Clear, Replace};

/// Replaces the inventories of provider 1, and answers how many statements that took.
async fn replace(f: &mut Fixture, inventories: &[(&str, Inventory)]) -> u64 {
    let before = f.model.statements();
    let generation = f.generation(1);
    let replace = Replace {
        provider: uuid(1),
        generation,
        inventories: inventories
            .iter()
            .map(|(class, it)| ((*class).to_owned(), *it))
            .collect(),
        reserved_may_equal_total: true,
    };
    f.model.submit(replace).await.unwrap();
    // One of them was this test's, for the generation.
    f.model.statements() - before - 1
}

#[actix_web::test]
async fn what_was_written_is_shown_as_it_would_be_read() {
    let mut f = fixture();
    f.host(1, 10).await.unwrap();
    f.model.submit(claim(7, 1, "VCPU", 3, Expected::New)).await.unwrap();
    // More digits than MariaDB keeps of a ratio.
    for allocation_ratio in [1.0, 0.9, 1.1, 1.123_456_789, 16.0] {
        let other = Inventory {
            allocation_ratio,
            ..inventory(20)
        };
        replace(&mut f, &[("VCPU", other), ("DISK_GB", inventory(5))]).await;
        f.check_snapshot().await;
        replace(&mut f, &[("VCPU", other)]).await;
        f.check_snapshot().await;
    }
    f.model.submit(claim(8, 1, "VCPU", 3, Expected::New)).await.unwrap();
    f.check_snapshot().await;
    f.host(2, 10).await.unwrap();
    f.model.submit(Clear { provider: uuid(2) }).await.unwrap();
    f.check_snapshot().await;
}

#[actix_web::test]
async fn a_host_that_another_program_changed_is_read_again() {
    let mut f = fixture();
    f.host(1, 10).await.unwrap();
    f.execute(
        "INSERT INTO resource_provider_traits (resource_provider_id, trait_id) SELECT p.id, t.id \
         FROM resource_providers p, traits t WHERE t.name = 'COMPUTE_NODE'",
    );
    replace(&mut f, &[("VCPU", inventory(11))]).await;
    f.check_snapshot().await;
}

#[actix_web::test]
async fn nothing_is_read_after_the_commit() {
    let mut f = fixture();
    if Kind::of(&f.conn) != Kind::Sqlite {
        return; // others lock and follow besides
    }
    f.host(1, 10).await.unwrap();
    let inventories = [("VCPU", inventory(11))];
    replace(&mut f, &inventories).await;
    assert_eq!(replace(&mut f, &inventories).await, 13);
}
