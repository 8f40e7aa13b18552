//! Calls with candidates for which the usage of a full host stays equal.

use super::placing::{gang, place, query};
use super::*;
use crate::model::claims::{ClaimCandidate, PlaceRequest, RequestedConsumer, Wanted};

/// Existing consumers, each with a single candidate: the number, the generation, the host and the amount.
fn fixed(consumers: &[(u32, Expected, u32, i64)]) -> PlaceRequest {
    let consumers = consumers.iter().map(|(consumer, generation, host, amount)| {
        let candidate = ClaimCandidate {
            allocations: vec![(uuid(*host), vec![("VCPU".to_owned(), *amount)])],
            mappings: None,
        };
        RequestedConsumer {
            claim: consumer_claim(*consumer, Vec::new(), generation.clone()),
            wanted: Wanted::Candidates([candidate].into()),
        }
    });
    PlaceRequest {
        consumers: consumers.collect(),
        queries: Vec::new(),
        ..gang(0..0, query(1, None))
    }
}

#[actix_web::test]
async fn found_p8_a_gang_that_does_not_raise_the_usage_of_a_full_host_is_granted() {
    for is_giver_first in [true, false] {
        for total in [16, 10] {
            let mut f = fixture();
            f.host(1, 16).await.unwrap();
            f.model.submit(claim(1, 1, "VCPU", 16, Expected::New)).await.unwrap();
            // The host is full, or its usage is over its capacity.
            f.execute(&format!("UPDATE inventories SET total = {total}"));
            comparisons::compare(&f.model, 0, 1000).unwrap();
            let mut wanted = vec![(1, Expected::Is(1), 1, 8), (2, Expected::New, 1, 9)];
            if !is_giver_first {
                wanted.reverse();
            }
            let refused = place(&f.model, fixed(&wanted)).await;
            assert!(
                matches!(refused, Err(Error::ClaimRefused(_))),
                "one more is refused: {refused:?}"
            );
            assert_eq!(f.used(1), 16);
            let taker = wanted.iter().position(|it| it.0 == 2).unwrap();
            wanted[taker].3 = 8;
            place(&f.model, fixed(&wanted)).await.unwrap();
            assert_eq!(f.used(1), 16);
            f.check_snapshot().await;
        }
    }
}
