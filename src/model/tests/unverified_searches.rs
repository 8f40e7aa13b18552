//! Claims by query without a read of the change feed, because peers are idle: the writer verifies the claims.

use std::time::Duration;

use super::foreign::foreign_claim;
use super::placing::{gang, place_or_repeat, query};
use super::*;
use crate::model::allocations::Release;
use crate::model::claims::{ClaimQuery, PlaceAnswer, PlacedCall};
use crate::model::traits;

const TRAIT: &str = "HW_CPU_X86_AVX2";

fn requiring() -> ClaimQuery {
    let mut wanted = query(1, None);
    wanted.request.groups[0].traits.required = vec![[TRAIT.to_owned()].into()];
    wanted
}

async fn place(model: &Model, consumer: u32, wanted: ClaimQuery) -> Result<PlacedCall> {
    match place_or_repeat(model, gang(consumer..consumer + 1, wanted)).await? {
        PlaceAnswer::Placed(placed) => Ok(placed),
        PlaceAnswer::Repeated(answer) => panic!("a call without an id was repeated: {answer}"),
    }
}

/// Reads the change feed until the store takes peers to be idle.
async fn follow_until_idle(model: &Model) {
    while model.store.newest_if_idle().is_none() {
        model.snapshot().await.unwrap();
    }
}

async fn set_trait(f: &mut Fixture, provider: u32, has: bool) {
    let replace = traits::Replace {
        provider: uuid(provider),
        generation: f.generation(provider),
        traits: has.then(|| TRAIT.to_owned()).into_iter().collect(),
    };
    f.model.submit(replace).await.unwrap();
}

#[actix_web::test]
async fn what_a_peer_acknowledged_before_counts_although_it_was_taken_to_be_idle() {
    let mut f = fixture();
    f.host(1, 100).await.unwrap();
    f.host(2, 100).await.unwrap();
    let Some((peer, _running)) = f.start_peer() else {
        return;
    };
    for (round, consumer) in (0..30).zip(100..) {
        let (with, without) = if round % 2 == 0 { (1, 2) } else { (2, 1) };
        follow_until_idle(&peer).await;
        set_trait(&mut f, without, false).await;
        set_trait(&mut f, with, true).await;
        let placed = place(&peer, consumer, requiring()).await.unwrap();
        let taken = placed.consumers[0].as_ref().unwrap();
        assert_eq!(*taken.providers[0].provider, *uuid(with), "round {round}");
    }
    f.check_snapshot().await;
}

#[actix_web::test]
async fn nothing_is_refused_before_the_change_feed_is_read() {
    let mut f = fixture();
    f.host(1, 1).await.unwrap();
    f.model.submit(claim(1, 1, "VCPU", 1, Expected::New)).await.unwrap();
    let Some((peer, _running)) = f.start_peer() else {
        return;
    };
    assert!(place(&peer, 2, query(1, None)).await.is_err());
    follow_until_idle(&peer).await;
    f.model.submit(Release { consumer: uuid(1) }).await.unwrap();
    place(&peer, 2, query(1, None)).await.unwrap();
    assert_eq!(f.used(1), 1);
}

#[actix_web::test]
async fn the_change_feed_is_not_read_for_a_claim_while_peers_are_idle() {
    let mut f = fixture();
    f.host(1, 10).await.unwrap();
    let Some((peer, _running)) = f.start_peer() else {
        return;
    };
    follow_until_idle(&peer).await;
    let pause = Duration::from_millis(50);
    actix_web::rt::time::sleep(pause).await;
    for consumer in 1..5 {
        place(&peer, consumer, query(1, None)).await.unwrap();
        assert!(peer.follower.age() >= pause, "the change feed was read");
    }
    assert_eq!(f.used(1), 4);
}

#[actix_web::test]
async fn room_that_a_foreign_writer_took_is_searched_for_once() {
    let mut f = fixture();
    f.host(1, 1).await.unwrap();
    f.host(2, 1).await.unwrap();
    let Some((peer, _running)) = f.start_peer() else {
        return;
    };
    follow_until_idle(&peer).await;
    foreign_claim(&mut f, 20, 1, 1);
    place(&peer, 2, query(1, None)).await.unwrap();
    let refused = place(&peer, 3, query(1, None)).await.unwrap_err();
    assert!(matches!(refused, Error::ClaimRefused(_)), "{refused:?}");
    assert_eq!((f.used(1), f.used(2)), (1, 1));
}
