//! The hosts that `load search` looks through, in memory: those of `benches/compare/cloud.py`, at any number.

use std::sync::Arc;

use clap::ValueEnum;
use placet::search::{AggregateId, Catalog, ClassId, Inventory, ProviderId, ProviderRow, TraitId};

use crate::cloud::Dice;
use crate::world::{Writing, row};

const CLASSES: [&str; 4] = ["VCPU", "MEMORY_MB", "DISK_GB", "SRIOV_NET_VF"];
const VCPU: ClassId = ClassId(0);
const MEMORY: ClassId = ClassId(1);
const DISK: ClassId = ClassId(2);
const FUNCTIONS: ClassId = ClassId(3);
/// Of those that hosts have 40 to 60 of; after them the one that one host in a thousand has, and that of pools.
const TRAITS: i32 = 200;
const RARE: TraitId = TraitId(TRAITS);
const SHARES: TraitId = TraitId(TRAITS + 1);
/// So many hosts share a pool.
const OF_A_POOL: i32 = 100;

#[derive(Clone, Copy, ValueEnum)]
pub enum Shape {
    Flat,
    Nested,
    Shared,
}

pub fn catalog() -> Catalog {
    let classes = (0..).map(ClassId).zip(CLASSES.map(Arc::from)).collect();
    let mut traits: Vec<(TraitId, Arc<str>)> = (0..TRAITS)
        .map(|id| (TraitId(id), Arc::from(format!("T{id}"))))
        .collect();
    traits.push((RARE, Arc::from("RARE")));
    traits.push((SHARES, Arc::from("MISC_SHARES_VIA_AGGREGATE")));
    let zones = (0..10).map(|zone| (AggregateId(zone), Arc::from(format!("zone {zone}"))));
    let pool = [(in_pool(3), Arc::from("pool 3"))];
    Catalog::new(classes, traits, zones.chain(pool).collect())
}

/// The aggregate of a pool.
fn in_pool(pool: i32) -> AggregateId {
    AggregateId(100 + pool)
}

pub fn rows(hosts: i32, shape: Shape) -> Vec<ProviderRow> {
    let mut dice = Dice::new(0);
    let each = match shape {
        Shape::Flat | Shape::Shared => 1,
        Shape::Nested => 7,
    };
    let pools = match shape {
        Shape::Shared => hosts / OF_A_POOL,
        Shape::Flat | Shape::Nested => 0,
    };
    let hosts_and_below = (0..hosts).flat_map(|host| {
        let root = characterised(row(host * each + 1), host, &mut dice);
        let computing = |root| stocked(stocked(root, VCPU, 128, 4.0), MEMORY, 262_144, 1.0);
        match shape {
            Shape::Flat => vec![stocked(computing(root), DISK, 4000, 1.0)],
            Shape::Nested => tree(stocked(root, DISK, 4000, 1.0)),
            Shape::Shared => vec![computing(root)],
        }
    });
    let pools = (0..pools).map(|number| {
        let mut pool = stocked(row(hosts + 1 + number), DISK, 400_000, 1.0);
        pool.traits.insert(SHARES);
        pool.aggregates.insert(in_pool(number));
        pool
    });
    hosts_and_below.chain(pools).collect()
}

/// Two NUMA nodes, each with two network functions.
fn tree(root: ProviderRow) -> Vec<ProviderRow> {
    let id = root.id.0;
    let mut rows = vec![root];
    for numa in [id + 1, id + 4] {
        rows.push(stocked(
            stocked(row(numa).below(id), VCPU, 64, 4.0),
            MEMORY,
            131_072,
            1.0,
        ));
        for function in [numa + 1, numa + 2] {
            let mut child = row(function).below(id).with(FUNCTIONS, 8);
            child.parent = Some(ProviderId(numa));
            rows.push(child);
        }
    }
    rows
}

/// 40 to 60 traits, and three aggregates.
fn characterised(mut host: ProviderRow, number: i32, dice: &mut Dice) -> ProviderRow {
    let many = 40 + dice.roll() % 21;
    host.traits = (0..many)
        .map(|_| TraitId((dice.roll() % TRAITS as u64) as i32))
        .collect();
    if number % 1000 == 500 {
        host.traits.insert(RARE);
    }
    let (zone, rack) = (AggregateId(number % 10), AggregateId(1_000_000 + number / 40));
    host.aggregates = [zone, in_pool(number / OF_A_POOL), rack].into();
    host
}

/// With half of the room taken.
fn stocked(mut host: ProviderRow, class: ClassId, total: i32, ratio: f64) -> ProviderRow {
    let reserved = if class == MEMORY { 4096 } else { 0 };
    let stock = Inventory {
        reserved,
        allocation_ratio: ratio,
        ..Inventory::whole(total)
    };
    host.inventories.insert(class, stock);
    host.used
        .insert(class, (f64::from(total - reserved) * ratio / 2.0) as i64);
    host
}
