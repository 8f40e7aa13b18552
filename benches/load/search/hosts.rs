//! The cloud that `load search` searches, in memory: the hosts of `benches/compare/cloud.py`, in any number.

use std::sync::Arc;

use clap::ValueEnum;
use placet::benchmarked::{AggregateId, Catalog, ClassId, Inventory, ProviderId, ProviderRow, TraitId};

use crate::random::Random;
use crate::search_inputs::{BuildRow, row};

const CLASSES: [&str; 4] = ["VCPU", "MEMORY_MB", "DISK_GB", "SRIOV_NET_VF"];
const VCPU: ClassId = ClassId(0);
const MEMORY: ClassId = ClassId(1);
const DISK: ClassId = ClassId(2);
const FUNCTIONS: ClassId = ClassId(3);
/// The number of common traits, of which each host has 40 to 60.
const COMMON_TRAITS: i32 = 200;
/// The trait of one host in a thousand.
const RARE_TRAIT: TraitId = TraitId(COMMON_TRAITS);
/// The trait of pools.
const SHARING_TRAIT: TraitId = TraitId(COMMON_TRAITS + 1);
const HOSTS_PER_POOL: i32 = 100;

#[derive(Clone, Copy, ValueEnum)]
pub enum Shape {
    Flat,
    Nested,
    Shared,
}

#[derive(Clone, Copy, ValueEnum)]
pub enum Usage {
    /// Half, so that all hosts are equal.
    Half,
    /// Between 10 and 90 percent, differently for each provider.
    Varied,
}

pub fn catalog() -> Catalog {
    let classes = (0..).map(ClassId).zip(CLASSES.map(Arc::from)).collect();
    let mut traits: Vec<(TraitId, Arc<str>)> = (0..COMMON_TRAITS)
        .map(|id| (TraitId(id), Arc::from(format!("T{id}"))))
        .collect();
    traits.push((RARE_TRAIT, Arc::from("RARE")));
    traits.push((SHARING_TRAIT, Arc::from("MISC_SHARES_VIA_AGGREGATE")));
    let zones = (0..10).map(|zone| (AggregateId(zone), Arc::from(format!("zone {zone}"))));
    let pool = [(pool_aggregate(3), Arc::from("pool 3"))];
    Catalog::new(classes, traits, zones.chain(pool).collect())
}

/// The aggregate of a pool and its hosts.
fn pool_aggregate(pool: i32) -> AggregateId {
    AggregateId(100 + pool)
}

pub fn rows(hosts: i32, shape: Shape, usage: Usage) -> Vec<ProviderRow> {
    let mut random = Random::new(0);
    let providers_per_host = match shape {
        Shape::Flat | Shape::Shared => 1,
        Shape::Nested => 7,
    };
    let pools = match shape {
        Shape::Shared => hosts / HOSTS_PER_POOL,
        Shape::Flat | Shape::Nested => 0,
    };
    let trees = (0..hosts).flat_map(|host| {
        let root = with_traits_and_aggregates(row(host * providers_per_host + 1), host, &mut random);
        let with_compute = |root| half_used(half_used(root, VCPU, 128, 4.0), MEMORY, 262_144, 1.0);
        match shape {
            Shape::Flat => vec![half_used(with_compute(root), DISK, 4000, 1.0)],
            Shape::Nested => tree(half_used(root, DISK, 4000, 1.0)),
            Shape::Shared => vec![with_compute(root)],
        }
    });
    let pools = (0..pools).map(|number| {
        let mut pool = half_used(row(hosts + 1 + number), DISK, 400_000, 1.0);
        pool.traits.insert(SHARING_TRAIT);
        pool.aggregates.insert(pool_aggregate(number));
        pool
    });
    let mut rows: Vec<ProviderRow> = trees.chain(pools).collect();
    if matches!(usage, Usage::Varied) {
        rows.iter_mut().for_each(|row| vary_usage(row, &mut random));
    }
    rows
}

fn vary_usage(row: &mut ProviderRow, random: &mut Random) {
    for used in row.used.values_mut() {
        let percent = 10 + (random.next() % 81) as i64;
        *used = *used * 2 * percent / 100;
    }
}

/// A root, and below it two NUMA nodes, each with two network functions.
fn tree(root: ProviderRow) -> Vec<ProviderRow> {
    let id = root.id.0;
    let mut rows = vec![root];
    for numa in [id + 1, id + 4] {
        rows.push(half_used(
            half_used(row(numa).below(id), VCPU, 64, 4.0),
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

/// Adds 40 to 60 traits and three aggregates.
fn with_traits_and_aggregates(mut host: ProviderRow, number: i32, random: &mut Random) -> ProviderRow {
    let traits = 40 + random.next() % 21;
    host.traits = (0..traits)
        .map(|_| TraitId((random.next() % COMMON_TRAITS as u64) as i32))
        .collect();
    if number % 1000 == 500 {
        host.traits.insert(RARE_TRAIT);
    }
    let (zone, rack) = (AggregateId(number % 10), AggregateId(1_000_000 + number / 40));
    host.aggregates = [zone, pool_aggregate(number / HOSTS_PER_POOL), rack].into();
    host
}

/// Adds an inventory of which half is used.
fn half_used(mut host: ProviderRow, class: ClassId, total: i32, ratio: f64) -> ProviderRow {
    let reserved = if class == MEMORY { 4096 } else { 0 };
    let inventory = Inventory {
        reserved,
        allocation_ratio: ratio,
        ..Inventory::whole(total)
    };
    host.inventories.insert(class, inventory);
    host.used
        .insert(class, (f64::from(total - reserved) * ratio / 2.0) as i64);
    host
}
