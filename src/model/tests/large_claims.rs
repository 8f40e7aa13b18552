//! Large claims, whose rows are inserted while others are committed.

use super::multi_process::submit_together;
use super::*;
use crate::error::Error;

/// A claim for many consumers, one unit each, spread over two providers.
fn large_claim(first: u32) -> Claim {
    let claims = (first..first + CONSUMERS).map(|n| consumer_claim(n, vec![(1 + n % 2, "VCPU", 1)], Expected::New));
    claim_of(claims.collect())
}

/// A claim for this many consumers has more than 256 rows.
const CONSUMERS: u32 = 200;

/// Two processes fill two providers with large and small claims. Room is left for some of them.
#[actix_web::test]
async fn large_and_small_claims_of_two_processes_never_oversubscribe() {
    let mut f = fixture();
    let other = f.start_peer();
    let (total, rounds) = (700, 6);
    f.host(1, total).await.unwrap();
    f.host(2, total).await.unwrap();
    let model = f.model.clone();
    let models = [&model, other.as_ref().map_or(&model, |(peer, _)| peer)];
    let mut units = 0;
    for round in 0..rounds {
        let first = 10_000 * (1 + round);
        let mut work: Vec<_> = models
            .iter()
            .zip([first, first + CONSUMERS])
            .map(|(model, first)| (*model, large_claim(first)))
            .collect();
        for n in 0..32 {
            let small = claim(first + 5000 + n, 1 + n % 2, "VCPU", 1, Expected::New);
            work.push((models[n as usize % 2], small));
        }
        for (at, answer) in submit_together(work).await.into_iter().enumerate() {
            match answer {
                Ok(()) => units += if at < 2 { i64::from(CONSUMERS) } else { 1 },
                Err(error) => assert!(matches!(error, Error::CapacityExceeded { .. }), "{error:?}"),
            }
        }
        f.check_consumers();
        assert!(f.used(1) <= total.into() && f.used(2) <= total.into());
        assert_eq!(
            f.used(1) + f.used(2),
            units,
            "what is granted is written, all or nothing"
        );
    }
    assert!(
        2 * i64::from(total) - units < i64::from(CONSUMERS),
        "the last large claim was refused"
    );
    f.check_snapshot().await;
}
