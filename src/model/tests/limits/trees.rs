//! Normal limits of nested providers, of shared providers, and of gangs with both.

use super::*;
use crate::model::{aggregates, traits};

/// A host with two NUMA nodes of 100 VCPU each.
const HOST: u32 = 10;
const NODES: [u32; 2] = [11, 12];
/// A provider with 100 DISK_GB, which the host shares.
const STORAGE: u32 = 20;

/// The host and its nodes with these usages, and the storage.
async fn tree(model: &Model, used: [i64; 2], storage_used: i64) {
    let named = [
        (HOST, None),
        (NODES[0], Some(HOST)),
        (NODES[1], Some(HOST)),
        (STORAGE, None),
    ];
    for (provider, parent) in named {
        let create = Create {
            uuid: uuid(provider),
            name: format!("provider-{provider}"),
            parent: parent.map(uuid),
        };
        model.submit(create).await.unwrap();
    }
    let inventories = [
        (NODES[0], "VCPU", used[0]),
        (NODES[1], "VCPU", used[1]),
        (STORAGE, "DISK_GB", storage_used),
    ];
    for (provider, class, used) in inventories {
        model.submit(adding(provider, class, 100)).await.unwrap();
        if used > 0 {
            let claim = claim(HIGH_CONSUMERS + provider, provider, class, used, Expected::New);
            model.submit(claim).await.unwrap();
        }
    }
    for provider in [HOST, STORAGE] {
        let join = aggregates::Replace {
            provider: uuid(provider),
            aggregates: vec![uuid(999)],
            generation: None,
        };
        model.submit(join).await.unwrap();
    }
    let generation = model
        .reader(false)
        .ask(|conn| traits::of_provider(conn, &uuid(STORAGE)))
        .await
        .unwrap()
        .generation;
    let share = traits::Replace {
        provider: uuid(STORAGE),
        generation,
        traits: vec!["MISC_SHARES_VIA_AGGREGATE".to_owned()],
    };
    model.submit(share).await.unwrap();
}

/// A fifth of each class is kept for bad days.
async fn limits(model: &Model) {
    for class in ["VCPU", "DISK_GB"] {
        let set = Set {
            class: class.to_owned(),
            generation: None,
            normal: Some("0.2".parse().unwrap()),
        };
        model.submit(set).await.unwrap();
    }
}

/// Consumers which each want an amount of VCPU, and an amount of DISK_GB unless `disk` is 0.
fn asking(consumers: std::ops::Range<u32>, vcpu: i64, disk: i64, purpose: Purpose) -> PlaceRequest {
    let mut request = gang(consumers, None, vcpu, purpose);
    if disk > 0 {
        let resources = &mut request.queries[0].request.groups[0].resources;
        resources.push(("DISK_GB".to_owned(), disk));
    }
    request
}

/// Of each consumer the classes beyond their normal limits.
fn over(placed: &PlacedCall) -> Vec<Vec<String>> {
    let granted = placed.consumers.iter().flatten();
    granted.map(|it| it.over_normal.clone()).collect()
}

fn codes(refused: Error) -> Vec<ReasonCode> {
    reasons(refused).into_iter().map(|(code, ..)| code).collect()
}

#[actix_web::test]
async fn each_provider_of_a_tree_has_the_normal_limit_for_itself() {
    let mut f = fixture();
    tree(&f.model, [78, 70], 0).await;
    limits(&f.model).await;
    // The nodes have normal room for 2 and for 10.
    place(&f.model, asking(1..2, 5, 0, Purpose::Normal)).await.unwrap();
    assert_eq!((f.used(NODES[0]), f.used(NODES[1])), (78, 75));
    let refused = codes(place(&f.model, asking(2..3, 6, 0, Purpose::Normal)).await.unwrap_err());
    assert!(refused.contains(&ReasonCode::NoRoomNormal), "{refused:?}");
    let placed = place(&f.model, asking(2..3, 6, 0, Purpose::Replace)).await.unwrap();
    assert_eq!(
        got(&placed),
        [(uuid(NODES[1]), true)],
        "81 is 1 over, and 84 would be 4"
    );
    let posted: [&[u32]; 1] = [&[NODES[0]]];
    let refused = place(&f.model, gang(3..4, Some(&posted), 5, Purpose::Normal))
        .await
        .unwrap_err();
    assert_eq!(reasons(refused), [(ReasonCode::NoRoomNormal, Some(5), Some(2))]);
}

#[actix_web::test]
async fn a_gang_on_a_shared_provider_stays_within_its_normal_limit_in_sum() {
    let mut f = fixture();
    tree(&f.model, [0, 0], 10).await;
    limits(&f.model).await;
    // Each of three has room for itself. 10 + 3 * 30 is over the limit of 80, and fills the capacity.
    let refused = codes(place(&f.model, asking(1..4, 1, 30, Purpose::Normal)).await.unwrap_err());
    assert!(!refused.is_empty());
    let used = |f: &mut Fixture| (f.used(NODES[0]) + f.used(NODES[1]), f.used(STORAGE));
    assert_eq!(used(&mut f), (0, 10), "a refused gang takes nothing");
    let placed = place(&f.model, asking(1..4, 1, 30, Purpose::Failover)).await.unwrap();
    let none: Vec<String> = Vec::new();
    assert_eq!(over(&placed), [none.clone(), none, vec!["DISK_GB".to_owned()]]);
    assert_eq!(used(&mut f), (3, 100));
}

#[actix_web::test]
async fn two_hosts_share_the_normal_limit_of_a_shared_provider() {
    let mut f = fixture();
    tree(&f.model, [0, 0], 0).await;
    limits(&f.model).await;
    f.host(30, 100).await.unwrap();
    let join = aggregates::Replace {
        provider: uuid(30),
        aggregates: vec![uuid(999)],
        generation: None,
    };
    f.model.submit(join).await.unwrap();
    // The nodes have room for 2 of 60, the second host for 1. The storage has normal room for 2 of 40.
    for (purpose, consumers, granted) in [
        (Purpose::Normal, 1..4, false),
        (Purpose::Normal, 1..3, true),
        (Purpose::Balance, 3..4, false),
    ] {
        let placed = place(&f.model, asking(consumers.clone(), 60, 40, purpose)).await;
        assert_eq!(placed.is_ok(), granted, "{purpose:?} {consumers:?}: {placed:?}");
    }
    assert_eq!(f.used(STORAGE), 80);
}

/// The number of equal consumers which fit below `limit`, beside the usages in `used`.
fn room(used: &[i64], limit: i64, amount: i64) -> i64 {
    used.iter().map(|used| (limit - used).max(0) / amount).sum()
}

#[actix_web::test]
async fn random_gangs_in_trees_are_granted_if_and_only_if_all_have_room() {
    let (mut grants, mut refusals) = (0, 0);
    for seed in 0..10 {
        let mut rng = Rng::new(seed);
        let mut f = fixture();
        let used = [rng.below(60) as i64, rng.below(60) as i64];
        tree(&f.model, used, rng.below(60) as i64).await;
        limits(&f.model).await;
        for round in 0..6 {
            let (_, purpose) = Purpose::ALL[rng.below(9) as usize];
            let (vcpu, disk) = (1 + rng.below(20) as i64, 1 + rng.below(20) as i64);
            let count = 1 + rng.below(4) as u32;
            let limit = if purpose.may_exceed_normal() { 100 } else { 80 };
            let nodes = NODES.map(|node| f.used(node));
            let expected = room(&nodes, limit, vcpu).min(room(&[f.used(STORAGE)], limit, disk)) >= count.into();
            let before = (nodes.iter().sum::<i64>(), f.used(STORAGE));
            let consumers = 10 * round..10 * round + count;
            let granted = place(&f.model, asking(consumers, vcpu, disk, purpose)).await.is_ok();
            assert_eq!(
                granted, expected,
                "seed {seed}, round {round}: {count} x {vcpu}, {disk} {purpose:?}"
            );
            let taken = if granted { i64::from(count) } else { 0 };
            let after = (f.used(NODES[0]) + f.used(NODES[1]), f.used(STORAGE));
            assert_eq!(
                after,
                (before.0 + taken * vcpu, before.1 + taken * disk),
                "seed {seed}, round {round}"
            );
            grants += i32::from(granted);
            refusals += i32::from(!granted);
        }
    }
    assert!(grants >= 10 && refusals >= 10, "{grants} granted, {refusals} refused");
}
