//! Cached texts of providers are dropped when they are outdated, and their size is bounded.

use std::collections::BTreeMap;
use std::sync::Arc;

use proptest::prelude::*;
use serde_json::Value;

use super::super::resource_providers::List;
use super::*;
use crate::interrupt::Interrupt;
use crate::search::{
    AggregateId, Catalog, Delta, Inventory, ProviderId, ProviderQuery, ProviderRow, SnapshotChange, TraitId, providers,
};
use crate::version::Version;
use crate::wire::tests;

fn inventory_of(total: i32) -> Inventory {
    Inventory {
        allocation_ratio: 4.0,
        ..Inventory::whole(total)
    }
}

fn row(id: i32, traits: impl IntoIterator<Item = i32>) -> ProviderRow {
    let uuid = format!("{id:08x}-0000-4000-8000-000000000000");
    ProviderRow {
        inventories: BTreeMap::from([(ClassId(0), inventory_of(64)), (ClassId(1), inventory_of(262_144))]),
        traits: traits.into_iter().map(TraitId).collect(),
        ..ProviderRow::bare(ProviderId(id), uuid, format!("host-{id}"))
    }
}

fn catalog(class: &str, trait_name: &str) -> Catalog {
    let mut traits: Vec<(TraitId, Arc<str>)> = (1..80)
        .map(|id| (TraitId(id), format!("HW_CPU_X86_AVX512_{id:05}").into()))
        .collect();
    traits[0].1 = trait_name.into();
    let classes = vec![
        (ClassId(0), "VCPU".into()),
        (ClassId(1), class.into()),
        (ClassId(2), "DISK_GB".into()),
    ];
    Catalog::new(classes, traits, vec![(AggregateId(1), "a".into())])
}

/// The list of all providers and the summaries of all providers, in the newest version.
fn shown(snapshot: &Arc<Snapshot>) -> (String, Value) {
    let found = providers(snapshot, &ProviderQuery::default(), false, &Interrupt::default()).unwrap();
    let mut list = Vec::new();
    List::new(Version::MAX, "/placement", Arc::clone(snapshot), found).write(&mut list, usize::MAX);
    let mut answer = Vec::new();
    let mut found = tests::answer(Version::MAX, snapshot, "", 1);
    found.write(&mut answer, usize::MAX).unwrap();
    let mut answer: Value = serde_json::from_slice(&answer).unwrap();
    (String::from_utf8(list).unwrap(), answer["provider_summaries"].take())
}

/// A model of the tables, to which changes are applied.
struct Cloud {
    rows: BTreeMap<i32, ProviderRow>,
    catalog: Catalog,
}

impl Cloud {
    fn is_parent(&self, id: i32) -> bool {
        self.rows.values().any(|row| row.parent == Some(ProviderId(id)))
    }

    /// Makes a change of this kind; `number` determines the new value.
    fn change(&mut self, kind: usize, id: i32, number: i32) -> SnapshotChange {
        let is_parent = self.is_parent(id);
        let mut change = SnapshotChange::default();
        if kind == 0 {
            self.catalog = catalog(&format!("CUSTOM_{number}"), &format!("CUSTOM_{number}"));
            change.catalog = Some(self.catalog.clone());
            return change;
        }
        let next = self.rows.keys().last().map_or(1, |last| last + 1);
        let Some(row) = self.rows.get_mut(&id) else {
            let row = self.rows.entry(next).or_insert(row(next, [number]));
            change.reloaded.push(row.clone());
            return change;
        };
        match kind {
            1 => drop(row.traits.insert(TraitId(number))),
            2 => drop(row.inventories.insert(ClassId(number % 3), inventory_of(number + 8))),
            3 => row.name = format!("name-{number}").into(),
            // As if the id was reused, even the id of a parent.
            4 => row.uuid = format!("{number:08x}-{id:04x}-4000-8000-000000000001").into(),
            5 if !is_parent => {
                let parent = (id != 1 && number % 3 > 0).then_some(ProviderId(1));
                (row.parent, row.root) = (parent, parent.unwrap_or(row.id));
            }
            6 if !is_parent && id != 1 => {
                self.rows.remove(&id);
                change.removed.push(ProviderId(id));
                return change;
            }
            _ => {
                *row.used.entry(ClassId(0)).or_default() += 1;
                row.generation += 1;
                change.deltas.push(Delta {
                    provider: row.id,
                    moves: 1,
                    generation: row.generation,
                    modified: None,
                    used: vec![(ClassId(0), 1)],
                });
                return change;
            }
        }
        change.reloaded.push(row.clone());
        change
    }
}

/// Uses 70 providers in two blocks, so a child and its root may be in different blocks.
#[test]
fn an_outdated_text_is_dropped() {
    let changes = proptest::collection::vec((0..8usize, 1..75i32, 1..70i32), 1..24);
    let config = ProptestConfig {
        cases: 60,
        failure_persistence: None,
        ..ProptestConfig::default()
    };
    proptest!(config, |(changes in changes)| {
        let mut cloud = Cloud {
            rows: (1..=70).map(|id| (id, row(id, [id % 5 + 1]))).collect(),
            catalog: catalog("MEMORY_MB", "T"),
        };
        let mut snapshot = Arc::new(Snapshot::build(cloud.catalog.clone(), cloud.rows.values().cloned().collect()));
        shown(&snapshot);
        for (kind, id, number) in changes {
            let build = |cloud: &Cloud| Snapshot::build(cloud.catalog.clone(), cloud.rows.values().cloned().collect());
            let (earlier, unread) = (build(&cloud), Arc::new(build(&cloud)));
            let change = cloud.change(kind, id, number);
            shown(&Arc::new(unread.apply(&change)));
            prop_assert_eq!(shown(&unread), shown(&Arc::new(earlier)), "the snapshot before change {} of {}", kind, id);
            snapshot = Arc::new(snapshot.apply(&change));
            prop_assert_eq!(shown(&snapshot), shown(&Arc::new(build(&cloud))), "after change {} of {} to {}", kind, id, number);
        }
    });
}

/// 50 traits with long names, and no two hosts with the same traits.
#[test]
fn the_cached_texts_of_a_host_take_less_than_two_kilobytes() {
    let traits = |host: i32| (0..50).map(move |at| 1 + (host + at * (1 + host % 7)) % 79);
    let rows = (0..640).map(|host| {
        let mut row = row(host + 1, traits(host));
        row.inventories.insert(ClassId(2), inventory_of(4000));
        row
    });
    let snapshot = Arc::new(Snapshot::build(catalog("MEMORY_MB", "T"), rows.collect()));
    shown(&snapshot);
    let bytes: usize = snapshot
        .iter()
        .step_by(LANES)
        .map(|slot| ProviderTexts::of(&snapshot, slot).size())
        .sum();
    assert!((1000..2048).contains(&(bytes / 640)), "{} bytes a host", bytes / 640);
}

#[test]
fn hosts_of_the_same_kind_share_the_text_of_their_traits() {
    let rows = (1..=64).map(|id| row(id, 1..=50));
    let snapshot = Arc::new(Snapshot::build(catalog("MEMORY_MB", "T"), rows.collect()));
    shown(&snapshot);
    let slot = snapshot.iter().next().unwrap();
    assert!(ProviderTexts::of(&snapshot, slot).size() / 64 < 300);
}

/// Otherwise, after a day of claims, all summaries would have to be assembled from parts.
#[test]
fn texts_are_rebuilt_after_some_claims() {
    let mut snapshot = Arc::new(Snapshot::build(
        catalog("MEMORY_MB", "T"),
        (1..=64).map(|id| row(id, [1])).collect(),
    ));
    for claim in 0..200 {
        let mut change = SnapshotChange::default();
        change.deltas.push(Delta {
            provider: ProviderId(claim % 64 + 1),
            moves: 1,
            generation: 1,
            modified: None,
            used: vec![(ClassId(0), 1)],
        });
        snapshot = Arc::new(snapshot.apply(&change));
        shown(&snapshot);
        let slot = snapshot.iter().next().unwrap();
        let outdated = ProviderTexts::of(&snapshot, slot)
            .summaries(&snapshot, slot)
            .outdated(&snapshot, slot);
        assert!(outdated.count_ones() < 32, "after {claim} claims {outdated:b}");
    }
}

/// A snapshot is replaced before a read. The reader of the next snapshot builds the texts for both, with newer usage.
#[test]
fn the_set_of_stale_lanes_is_dropped_together_with_the_texts() {
    let rows = || (1..=64).map(|id| row(id, [1]));
    let claim = |id: i32| SnapshotChange {
        deltas: vec![Delta {
            provider: ProviderId(id),
            moves: 1,
            generation: 1,
            modified: None,
            used: vec![(ClassId(0), 1)],
        }],
        ..SnapshotChange::default()
    };
    let rename = SnapshotChange {
        catalog: Some(catalog("CUSTOM_MEMORY", "T")),
        ..SnapshotChange::default()
    };
    let build = || Arc::new(Snapshot::build(catalog("MEMORY_MB", "T"), rows().collect()));
    let first = build();
    shown(&first);
    let claimed = Arc::new(first.apply(&claim(1)));
    shown(&claimed);
    let unread = Arc::new(claimed.apply(&rename));
    shown(&Arc::new(unread.apply(&claim(3))));
    let rebuilt = Arc::new(build().apply(&claim(1)).apply(&rename));
    assert_eq!(shown(&unread), shown(&rebuilt));
}

/// As Python's `int()`.
#[test]
fn a_capacity_is_an_integer_of_any_length() {
    for (capacity, shown) in [
        (f64::from(i32::MAX) * 1e30, "2147483647000000178770167919580356280320"),
        (2147483647e10, "21474836470000001024"),
        (1e18, "1000000000000000000"),
        (6.9, "6"),
        (-0.5, "0"),
        (f64::INFINITY, "null"),
    ] {
        let mut out = Vec::new();
        write_class(&mut out, b"\"VCPU\"", capacity);
        assert_eq!(
            String::from_utf8(out).unwrap(),
            format!("\"VCPU\":{{\"capacity\":{shown},\"used\":")
        );
    }
}
