//! Generations near the end of their column: refused commands, granted commands, and log lines.

use super::multi_process::{counted, submit_together, tally};
use super::process::{Process, claim_command};
use super::*;
use crate::error::Error;
use crate::model::allocations::Release;
use crate::model::reshaper::{Reshape, Reshaped};
use crate::model::{aggregates, inventories, traits};

const HIGHEST: i64 = 2_147_483_647;

impl Fixture {
    /// Sets the generation of a provider as a foreign writer does, and reloads the provider into the model's snapshot.
    fn set_generation(&mut self, provider: u32, generation: i64) {
        let sql = format!(
            "UPDATE resource_providers SET generation = {generation} WHERE uuid = '{}'",
            uuid(provider)
        );
        assert_eq!(self.execute(&sql), 1);
        comparisons::compare(&self.model, 0, 1000).unwrap();
    }
}

fn provider_limit(provider: u32) -> Error {
    Error::ProviderGenerationLimit {
        provider: uuid(provider),
    }
}

#[actix_web::test]
async fn claims_are_granted_up_to_the_highest_generation_and_refused_from_there() {
    let mut f = fixture();
    f.host(1, 10).await.unwrap();
    f.set_generation(1, HIGHEST - 2);
    for consumer in [10, 11] {
        f.model
            .submit(claim(consumer, 1, "VCPU", 1, Expected::New))
            .await
            .unwrap();
    }
    for generation in [Expected::New, Expected::Any] {
        let refused = f.model.submit(claim(12, 1, "VCPU", 1, generation)).await;
        assert_eq!(refused, Err(provider_limit(1)));
    }
    assert_eq!((f.generation(1), f.used(1)), (HIGHEST, 2));
    f.check_snapshot().await;
}

#[actix_web::test]
async fn a_provider_at_the_highest_generation_costs_the_claims_beside_it_nothing() {
    let mut f = fixture();
    f.host(1, 100).await.unwrap();
    f.host(2, 100).await.unwrap();
    f.set_generation(1, HIGHEST);
    let model = f.model.clone();
    let claims = (0..40).map(|n| (&model, claim(10 + n, 1 + n % 2, "VCPU", 1, Expected::New)));
    let answers = tally(submit_together(claims.collect()).await);
    assert_eq!(answers, counted(&[("granted", 20), ("ProviderGenerationLimit", 20)]));
    assert_eq!((f.used(1), f.used(2)), (0, 20));
    f.check_snapshot().await;
}

#[actix_web::test]
async fn every_write_that_moves_the_highest_generation_is_refused_and_leaves_no_trace() {
    let mut f = fixture();
    f.host(1, 10).await.unwrap();
    f.model.submit(claim(10, 1, "VCPU", 2, Expected::New)).await.unwrap();
    f.model.submit(adding(1, "DISK_GB", 5)).await.unwrap();
    f.set_generation(1, HIGHEST);
    let refusal = provider_limit(1);
    let replace = replacing(HIGHEST, &[("VCPU", inventory(20))]);
    assert_eq!(f.model.submit(replace).await.unwrap_err(), refusal);
    assert_eq!(f.model.submit(adding(1, "MEMORY_MB", 5)).await.unwrap_err(), refusal);
    let remove = inventories::Remove {
        provider: uuid(1),
        class: "DISK_GB".to_owned(),
    };
    assert_eq!(f.model.submit(remove).await.unwrap_err(), refusal);
    let traits = traits::Replace {
        provider: uuid(1),
        generation: HIGHEST,
        traits: vec!["HW_CPU_X86_AVX".to_owned()],
    };
    assert_eq!(f.model.submit(traits).await.unwrap_err(), refusal);
    let mut aggregates = aggregates::Replace {
        provider: uuid(1),
        generation: Some(HIGHEST),
        aggregates: vec![uuid(900)],
    };
    assert_eq!(f.model.submit(aggregates.clone()).await.unwrap_err(), refusal);
    let wipe = claim_of(vec![consumer_claim(10, vec![], Expected::Is(1))]);
    assert_eq!(f.model.submit(wipe).await.unwrap_err(), refusal);
    assert_eq!((f.generation(1), f.used(1)), (HIGHEST, 2));
    assert_eq!(f.number("SELECT COUNT(*) AS n FROM inventories"), 2);
    assert_eq!(f.number("SELECT COUNT(*) AS n FROM placement_aggregates"), 0);
    f.check_snapshot().await;

    // A command without a move of a generation is granted.
    aggregates.generation = None;
    f.model.submit(aggregates).await.unwrap();
    f.model.submit(Release { consumer: uuid(10) }).await.unwrap();
    assert_eq!((f.generation(1), f.used(1)), (HIGHEST, 0));
    f.check_snapshot().await;
}

/// A reshape moves a provider's generation by up to three.
#[actix_web::test]
async fn a_reshape_is_refused_unless_all_of_its_moves_fit() {
    let mut f = fixture();
    f.host(1, 10).await.unwrap();
    let reshape = |generation: i64| Reshape {
        providers: vec![Reshaped {
            provider: uuid(1),
            generation: generation.into(),
            inventories: vec![("VCPU".to_owned(), inventory(8))],
        }],
        consumers: vec![consumer_claim(10, vec![(1, "VCPU", 1)], Expected::New)],
    };
    f.set_generation(1, HIGHEST - 2);
    let refused = f.model.submit(reshape(HIGHEST - 2)).await;
    assert_eq!(refused, Err(provider_limit(1)));
    assert_eq!((f.generation(1), f.used(1)), (HIGHEST - 2, 0));
    f.set_generation(1, HIGHEST - 3);
    f.model.submit(reshape(HIGHEST - 3)).await.unwrap();
    assert_eq!((f.generation(1), f.used(1)), (HIGHEST, 1));
    f.check_snapshot().await;
}

/// docs/databases.md says to do so.
#[actix_web::test]
async fn a_provider_whose_generation_an_operator_reset_is_changed_again() {
    let mut f = fixture();
    f.host(1, 10).await.unwrap();
    f.set_generation(1, HIGHEST);
    f.execute("UPDATE resource_providers SET generation = 0");
    f.model.submit(claim(10, 1, "VCPU", 1, Expected::New)).await.unwrap();
    assert_eq!((f.generation(1), f.used(1)), (1, 1));
    f.check_snapshot().await;
}

#[actix_web::test]
async fn a_consumer_at_the_highest_generation_is_released_and_claims_again() {
    let mut f = fixture();
    f.host(1, 10).await.unwrap();
    f.model.submit(claim(10, 1, "VCPU", 1, Expected::New)).await.unwrap();
    f.execute(&format!("UPDATE consumers SET generation = {}", HIGHEST - 1));
    let again = |generation: i64| claim(10, 1, "VCPU", 2, Expected::Is(generation));
    f.model.submit(again(HIGHEST - 1)).await.unwrap();
    let refused = f.model.submit(again(HIGHEST)).await;
    assert_eq!(refused, Err(Error::ConsumerGenerationLimit { consumer: uuid(10) }));
    assert_eq!(f.number("SELECT generation AS n FROM consumers"), HIGHEST);
    f.model.submit(Release { consumer: uuid(10) }).await.unwrap();
    f.model.submit(claim(10, 1, "VCPU", 1, Expected::New)).await.unwrap();
    assert_eq!(f.number("SELECT generation AS n FROM consumers"), 1);
    f.check_snapshot().await;
}

/// The log has a line at half of the limit, and a line for each further million of moves.
#[actix_web::test]
async fn a_generation_near_the_limit_is_logged_at_some_claims_only() {
    let mut f = fixture();
    f.host(1, 10).await.unwrap();
    let mut consumer = 10;
    for (before, expected) in [(1_i64 << 30, 1), ((1 << 30) + (1 << 20), 1), (1 << 29, 0)] {
        f.set_generation(1, before - 1);
        let mut process = Process::start(&f.database, true);
        for expected in [expected, 0] {
            let claim = claim_command(consumer, 1, 1);
            consumer += 1;
            let (_, change) = process.decide(&[&claim], false).unwrap().unwrap();
            let change = change.unwrap();
            assert_eq!(change.warnings.len(), expected, "{:?}", change.warnings);
            let committed = process.commit_decided(change).unwrap();
            process.publish(committed);
        }
    }
}
