//! The candidates within a limit, and the first candidates.

use std::collections::BTreeMap;

use super::*;
use crate::search::{SharedOrder, candidates};

#[test]
fn a_limit_samples_the_whole_cloud_and_a_seed_repeats_it() {
    let cloud: Vec<ProviderRow> = (1..=6400).map(|id| bare(id).with(VCPU, 4)).collect();
    let snapshot = Snapshot::build(catalog(), cloud);
    let ask = Request {
        limit: Some(100),
        ..request(group(&[("VCPU", 1)]))
    };
    let with = |seed, max| {
        candidates(
            &snapshot,
            &ask,
            &SearchSettings {
                seed,
                max,
                ..settings()
            },
        )
        .unwrap()
        .found()
        .unwrap()
    };
    let found = with(1, None);
    assert_eq!(found.candidates.len(), 100);
    assert_eq!(found.summaries.len(), 100);
    let mut tenths: Vec<i32> = found.summaries.iter().map(|&slot| snapshot.id(slot).0 / 640).collect();
    tenths.sort_unstable();
    tenths.dedup();
    assert!(tenths.len() >= 5, "{tenths:?}");
    assert_eq!(found.candidates, with(1, None).candidates);
    assert_ne!(found.candidates, with(2, None).candidates);
    assert_eq!(with(1, Some(30)).candidates.len(), 30);
    assert_eq!(with(1, Some(0)).candidates.len(), 1);
    let all = candidates(&snapshot, &Request { limit: None, ..ask }, &settings())
        .unwrap()
        .count();
    assert_eq!(all, 6400);
}

#[test]
fn samples_that_share_an_order_are_of_the_same_providers_and_begin_with_different_ones() {
    let snapshot = build_colliding((1..=640).map(|id| bare(id).with(VCPU, 4)).collect());
    let first_and_all = |order: Option<SharedOrder>| {
        let (mut first, mut all) = (BTreeSet::new(), BTreeSet::new());
        for seed in 0..100 {
            let settings = SearchSettings {
                seed: seed * 0x9e37_79b9,
                order,
                ..settings()
            };
            let found = candidates(&snapshot, &request(group(&[("VCPU", 1)])), &settings).unwrap();
            let found: Vec<Slot> = found.take(64).map(|candidate| candidate.placements[0].slot).collect();
            first.insert(found[0]);
            all.extend(found);
        }
        (first.len(), all.len())
    };
    // 64 candidates are eight of each of eight blocks, and the walk begins at one of eight blocks.
    let (first, all) = first_and_all(Some(SharedOrder { seed: 5, sample: 64 }));
    assert!(first > 24 && all <= 80, "{first}, {all}");
    let (first, all) = first_and_all(None);
    assert!(first > 60 && all > 600, "{first}, {all}");
    assert_eq!(first_and_all(Some(SharedOrder { seed: 5, sample: 640 })), (first, all));
}

/// 8 of 200 hosts are in a block of their own; 8 of the 12 have children.
#[test]
fn each_fitting_host_comes_first_about_equally_often() {
    let flat = |count| (1..=count).map(|id| bare(id).with(VCPU, 4)).collect::<Vec<_>>();
    let mut mixed = flat(12);
    mixed.extend((13..=36).map(|id| bare(id).below((id - 13) % 8 + 1, (id - 13) % 8 + 1)));
    for (rows, hosts) in [(flat(12), 12), (flat(200), 200), (mixed, 12)] {
        let snapshot = Snapshot::build(catalog(), rows);
        let mut times = BTreeMap::new();
        for seed in 0..100 * hosts {
            let settings = SearchSettings { seed, ..settings() };
            let found = candidates(&snapshot, &request(group(&[("VCPU", 1)])), &settings).unwrap();
            let first = found.take(1).next().unwrap().placements[0].slot;
            *times.entry(first).or_insert(0) += 1;
        }
        assert_eq!(times.len() as u64, hosts);
        assert!(times.values().all(|times| (50..200).contains(times)), "{times:?}");
    }
}
