//! Random small worlds: providers in trees, with inventories, usage, traits and aggregates.

use proptest::collection::{btree_map, btree_set, vec};
use proptest::prelude::*;

use super::oracle::World;
use super::{DISK, VCPU, bare, required, rows, set};
use crate::search::request::{Group, GroupPolicy, Request, Traits};
use crate::search::snapshot::{AggregateId, ClassId, Inventory, ProviderRow, TraitId};

fn inventory() -> impl Strategy<Value = Inventory> {
    let ratio = prop_oneof![4 => Just(1.0), 1 => Just(0.9), 1 => Just(1.5)];
    (1..9, 0..3, 1..3, 1..9, prop_oneof![3 => Just(1), 1 => 1..4], ratio).prop_map(
        |(total, reserved, min_unit, max_unit, step_size, allocation_ratio)| Inventory {
            total,
            reserved,
            min_unit,
            max_unit,
            step_size,
            allocation_ratio,
        },
    )
}

pub(super) fn row() -> BoxedStrategy<ProviderRow> {
    let inventories = btree_map((0..3).prop_map(ClassId), inventory(), 0..4);
    let used = btree_map((0..3).prop_map(ClassId), prop_oneof![1 => -2i64..0, 4 => 1i64..5], 0..3);
    // The first trait makes a provider a sharing provider, so the first trait is rarer than the rest.
    let traits = btree_set(prop_oneof![1 => Just(1), 3 => 2..5].prop_map(TraitId), 0..3);
    let aggregates = btree_set((1..4).prop_map(AggregateId), 0..3);
    (inventories, used, traits, aggregates)
        .prop_map(|(inventories, used, traits, aggregates)| ProviderRow {
            inventories,
            used,
            traits,
            aggregates,
            ..bare(0)
        })
        .boxed()
}

/// As `row`, with more room.
fn rich_row() -> BoxedStrategy<ProviderRow> {
    let plenty = prop_oneof![6 => (3..9).prop_map(super::stock), 1 => inventory()];
    (
        row(),
        btree_map((0..3).prop_map(ClassId), plenty, 1..4),
        prop_oneof![3 => Just(true), 1 => Just(false)],
    )
        .prop_map(|(row, inventories, unused)| ProviderRow {
            inventories,
            used: if unused { Default::default() } else { row.used.clone() },
            ..row
        })
        .boxed()
}

/// Fewer than `end` providers, possibly none. A provider may be the child of an earlier provider.
fn forest(row: BoxedStrategy<ProviderRow>, roots: u32, children: u32, end: usize) -> BoxedStrategy<World> {
    let parent = prop_oneof![roots => Just(None), children => any::<prop::sample::Index>().prop_map(Some)];
    vec((row, parent), 0..end)
        .prop_map(|all| {
            let mut world: Vec<ProviderRow> = Vec::new();
            for (id, (row, parent)) in (1..).zip(all) {
                let identity = bare(id);
                let parent = parent.filter(|_| !world.is_empty()).map(|parent| parent.get(&world));
                let root = parent.map_or(identity.id, |parent| parent.root);
                let parent = parent.map(|parent| parent.id);
                world.push(ProviderRow {
                    id: identity.id,
                    uuid: identity.uuid,
                    name: identity.name,
                    parent,
                    root,
                    ..row
                });
            }
            rows(world)
        })
        .boxed()
}

pub(super) fn world() -> impl Strategy<Value = World> {
    prop_oneof![1 => forest(row(), 2, 1, 10), 2 => forest(rich_row(), 1, 4, 10), 2 => forest(rich_row(), 1, 1, 8)]
}

/// Hosts with cores and perhaps a disk, pools of disks (some with cores) at the top or below hosts, and requests for
/// both. Hosts and pools are in few aggregates.
pub(super) fn pools() -> impl Strategy<Value = (World, Request)> {
    let some = |range: std::ops::Range<i32>| prop_oneof![2 => Just(None), 1 => range.prop_map(Some)];
    let aggregates = |min| btree_set((1..4).prop_map(AggregateId), min..3);
    let host = (2..8, some(1..6), 0i64..3, aggregates(0), any::<bool>());
    let pool = (2..8, some(1..6), 0i64..3, aggregates(1), some(0..6));
    let amounts = (1i64..3, 1i64..3, some(1..3));
    let asked = (
        amounts,
        prop_oneof![2 => Just("both"), 1 => Just("apart"), 1 => Just("cores")],
        prop_oneof![3 => Just(Traits::default()), 1 => Just(required(&["T2"])), 2 => Just(forbidden("T2"))],
    );
    (vec(host, 1..5), vec(pool, 1..4), asked).prop_map(|(hosts, pools, asked)| {
        let mut world: Vec<ProviderRow> = Vec::new();
        for (id, (cores, disk, used, aggregates, is_marked)) in (1..).zip(hosts) {
            let traits = is_marked.then_some(TraitId(2)).into_iter().collect();
            let row = ProviderRow {
                aggregates,
                traits,
                ..bare(id).with(VCPU, cores).using(VCPU, used)
            };
            world.push(disk.into_iter().fold(row, |row, disk| row.with(DISK, disk)));
        }
        let roots = world.len() as i32;
        for (id, (disk, cores, used, aggregates, parent)) in (roots + 1..).zip(pools) {
            let row = ProviderRow {
                aggregates,
                ..bare(id).with(DISK, disk).using(DISK, used).traits([1])
            };
            let row = cores.into_iter().fold(row, |row, cores| row.with(VCPU, cores));
            let parent = parent.map(|parent| 1 + parent % roots);
            world.push(parent.into_iter().fold(row, |row, parent| row.below(parent, parent)));
        }
        (rows(world), pooled(asked))
    })
}

fn forbidden(name: &str) -> Traits {
    Traits {
        forbidden: set(&[name]),
        ..Traits::default()
    }
}

fn pooled(((cores, disk, more), form, root_required): ((i64, i64, Option<i32>), &str, Traits)) -> Request {
    let group = |suffix: &str, resources: &[(&str, i64)]| Group {
        suffix: suffix.to_owned(),
        ..super::group(resources)
    };
    let mut groups = match form {
        "both" => vec![group("", &[("VCPU", cores), ("DISK_GB", disk)])],
        "apart" => vec![group("", &[("VCPU", cores)]), group("_D", &[("DISK_GB", disk)])],
        _ => vec![group("", &[("VCPU", cores)])],
    };
    groups.extend(more.map(|more| group("_E", &[("DISK_GB", more.into())])));
    Request {
        groups,
        group_policy: Some(GroupPolicy::None),
        root_required,
        ..super::request(Group::default())
    }
}
