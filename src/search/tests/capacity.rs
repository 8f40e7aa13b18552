//! The number of further consumers, beside all sequences of claims.

use std::collections::{BTreeMap, HashMap};

use proptest::prelude::*;

use super::interrupts::asking;
use super::oracle::{self, World};
use super::properties::{config, scatter};
use super::requests::request;
use super::worlds::{pools, world};
use super::*;
use crate::interrupt::Interrupt;
use crate::search::capacity::{Capacity, FitCount};
use crate::search::request::GroupPolicy;

/// A world in which more states are reached proves nothing in this time.
const MAX_STATES: usize = 3_000;

/// The amounts of a claim, by provider and class.
type ClaimAmounts = BTreeMap<(ProviderId, ClassId), i64>;

/// The largest numbers of claims in turn, by the free amounts of a world.
struct Claims {
    /// By inventory of a way.
    free: BTreeMap<(ProviderId, ClassId), i64>,
    ways: BTreeSet<ClaimAmounts>,
    known: HashMap<Vec<i64>, u64>,
}

impl Claims {
    fn of(world: &World, request: &Request) -> Claims {
        let ways = ways(world, request);
        let free = |&(id, class): &(ProviderId, ClassId)| {
            let row = &world[&id];
            let used = row.used.get(&class).copied().unwrap_or_default();
            row.inventories.get(&class).map_or(0, Inventory::limit) - used
        };
        let inventories = ways.iter().flat_map(|way| way.keys());
        Claims {
            free: inventories.map(|at| (*at, free(at))).collect(),
            known: HashMap::new(),
            ways,
        }
    }

    fn has_room(&self, way: &ClaimAmounts) -> bool {
        way.iter().all(|(at, amount)| *amount <= self.free[at])
    }

    fn claim(&mut self, way: &ClaimAmounts, times: i64) {
        for (at, amount) in way {
            *self.free.entry(*at).or_default() -= amount * times;
        }
    }

    /// `None` if there are too many states. A claim takes room, so a later claim has no further way.
    fn most(&mut self) -> Option<u64> {
        let state: Vec<i64> = self.free.values().copied().collect();
        if let Some(known) = self.known.get(&state) {
            return Some(*known);
        }
        if self.known.len() >= MAX_STATES {
            return None;
        }
        let mut most = 0;
        let open: Vec<ClaimAmounts> = self.ways.iter().filter(|way| self.has_room(way)).cloned().collect();
        for way in open {
            // Without an amount there is no end.
            if way.is_empty() {
                return None;
            }
            self.claim(&way, 1);
            let further = self.most();
            self.claim(&way, -1);
            most = most.max(1 + further?);
        }
        self.known.insert(state, most);
        Some(most)
    }
}

fn ways(world: &World, request: &Request) -> BTreeSet<ClaimAmounts> {
    let candidates = oracle::candidates(&catalog(), world, request, false).unwrap_or_default();
    candidates.into_iter().map(|(amounts, _)| amounts).collect()
}

/// After a claim, the ways are the ways from before with enough room.
fn check_a_claim(world: &World, request: &Request) -> std::result::Result<(), TestCaseError> {
    let mut claims = Claims::of(world, request);
    let Some(way) = claims.ways.first().cloned() else {
        return Ok(());
    };
    let mut next = world.clone();
    for ((id, class), amount) in &way {
        let row = next.get_mut(id).expect("a provider of the world");
        *row.used.entry(*class).or_default() += amount;
    }
    claims.claim(&way, 1);
    let open = claims.ways.iter().filter(|way| claims.has_room(way));
    let open: BTreeSet<ClaimAmounts> = open.cloned().collect();
    prop_assert_eq!(ways(&next, request), open);
    Ok(())
}

fn total(snapshot: &Snapshot, request: &Request) -> FitCount {
    let capacity = Capacity::of(snapshot, request, &settings()).unwrap();
    capacity.total(&settings()).unwrap()
}

/// The world of one host, and of the sharing providers.
fn world_of_host(world: &World, host: ProviderId) -> World {
    let is_shared = |row: &ProviderRow| row.traits.contains(&TraitId(1));
    let root = |row: &ProviderRow| {
        let mut root = row;
        while let Some(parent) = root.parent {
            root = &world[&parent];
        }
        root.id
    };
    let pool_trees: BTreeSet<ProviderId> = world.values().filter(|row| is_shared(row)).map(root).collect();
    let rows = world
        .iter()
        .filter(|(_, row)| root(row) == host || pool_trees.contains(&root(row)));
    rows.map(|(id, row)| (*id, row.clone())).collect()
}

fn check(world: &World, request: &Request) -> std::result::Result<(), TestCaseError> {
    check_a_claim(world, request)?;
    // The providers of a tree lie apart in memory.
    let snapshot = scatter(world);
    let (Some(most), Ok(capacity)) = (
        Claims::of(world, request).most(),
        Capacity::of(&snapshot, request, &settings()),
    ) else {
        return Ok(());
    };
    let count = capacity.total(&settings()).unwrap();
    prop_assert!(count.found <= most && most <= count.most, "{} of {:?}", most, count);
    let hosts: BTreeSet<Slot> = capacity.eligible().iter().copied().collect();
    prop_assert_eq!(hosts.len(), capacity.eligible().len());
    for host in hosts {
        let alone = world_of_host(world, snapshot.id(host));
        let pools = alone.values().any(|row| row.traits.contains(&TraitId(1)));
        let count = capacity.on(&[host], &settings()).unwrap();
        if let Some(most) = Claims::of(&alone, request).most().filter(|_| !pools) {
            prop_assert!(
                count.found <= most && most <= count.most,
                "{} of {:?} on {:?}",
                most,
                count,
                host
            );
        }
        for free in capacity.free(&[host], &settings()).unwrap() {
            let rows = alone.values().filter(|row| !pools || row.id == snapshot.id(host));
            let amounts = rows.map(|row| {
                row.inventories.get(&free.class).map_or(0, |inventory| {
                    let used = row.used.get(&free.class).copied().unwrap_or_default();
                    (inventory.limit() - used).max(0)
                })
            });
            let amounts: Vec<i64> = amounts.collect();
            let largest = amounts.iter().copied().max().unwrap_or_default();
            prop_assert!(free.largest >= largest);
            prop_assert!(pools || free.largest == largest && free.sum == amounts.iter().sum::<i64>());
        }
    }
    let is_flat = world
        .values()
        .all(|row| row.parent.is_none() && !row.traits.contains(&TraitId(1)));
    prop_assert!(count.is_exact() || !is_flat, "{:?}", count);
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: config().cases / 4, ..config() })]

    #[test]
    fn the_number_is_between_the_bounds(world in world(), request in request()) {
        check(&world, &request)?;
    }

    #[test]
    fn the_number_with_pools_is_between_the_bounds((world, request) in pools()) {
        check(&world, &request)?;
    }
}

#[test]
fn a_host_with_more_ways_than_are_compared_is_bounded_by_its_tree() {
    // Eight children of a host have 4 VCPUs each, and a consumer takes a VCPU of any child three times.
    let (snapshot, request) = asking(3);
    let count = total(&snapshot, &request);
    assert_eq!(count.most, 200 * (8 * 4 / 3));
    assert!(0 < count.found && count.found < count.most, "{count:?}");
}

#[test]
fn all_ways_of_a_host_count_if_each_is_a_single_provider() {
    let children = (2..102).map(|id| bare(id).with(VCPU, 4).below(1, 1));
    let rows: Vec<ProviderRow> = std::iter::once(bare(1)).chain(children).collect();
    let request = super::request(group(&[("VCPU", 3)]));
    let count = |rows| {
        let count = total(&Snapshot::build(catalog(), rows), &request);
        (count.found, count.most, count.is_exact())
    };
    assert_eq!(count(rows.clone()), (100, 100, true));
    // Beside a pool, a host keeps a bounded number of ways.
    let pool = bare(200).with(DISK, 1).traits([1]).in_aggregates([1]);
    assert_eq!(count([rows, vec![pool]].concat()), (64, 100 * 4 / 3, false));
}

#[test]
fn a_count_ends_with_its_budget() {
    let (snapshot, request) = asking(3);
    let limited = |steps| SearchSettings {
        interrupt: Interrupt::after(steps),
        ..settings()
    };
    assert!(Capacity::of(&snapshot, &request, &limited(500)).is_err());
    let capacity = Capacity::of(&snapshot, &request, &settings()).unwrap();
    assert!(capacity.total(&limited(20)).is_err());
    assert!(capacity.free(capacity.eligible(), &limited(20)).is_err());
}

/// A host that a pool in the same aggregate serves, too.
fn served(id: i32) -> ProviderRow {
    bare(id).in_aggregates([1])
}

fn pool(class: ClassId, amount: i32) -> ProviderRow {
    served(100).with(class, amount).traits([1])
}

#[test]
fn the_class_of_the_tighter_bound_limits_the_number() {
    const MEMORY: ClassId = ClassId(1);
    // The bound of all consumers is 5, by memory. Without the pool there is room for two consumers, by VCPUs; with the
    // pool for two, by VCPUs of the second child.
    let rows = vec![
        served(1),
        bare(2).with(VCPU, 8).below(1, 1),
        bare(3).with(VCPU, 2).with(MEMORY, 5).below(1, 1),
        pool(VCPU, 1_000),
    ];
    let named = |suffix: &str, resources: &[(&str, i64)]| Group {
        suffix: suffix.to_owned(),
        ..group(resources)
    };
    let request = Request {
        groups: vec![
            named("_A", &[("VCPU", 4)]),
            named("_B", &[("VCPU", 1), ("MEMORY_MB", 1)]),
        ],
        group_policy: Some(GroupPolicy::None),
        ..super::request(Group::default())
    };
    let count = total(&Snapshot::build(catalog(), rows), &request);
    assert_eq!((count.found, count.most, count.limited_by), (2, 4, Some(VCPU)));
}

#[test]
fn a_pool_limits_the_number_unless_hosts_without_the_pool_have_most_room() {
    let request = super::request(group(&[("VCPU", 1), ("DISK_GB", 10)]));
    let shared = vec![served(1).with(VCPU, 8), pool(DISK, 30)];
    let count = |rows| {
        let count = total(&Snapshot::build(catalog(), rows), &request);
        (count.found, count.most, count.limited_by)
    };
    assert_eq!(count(shared.clone()), (3, 3, Some(DISK)));
    let own = [2, 3].map(|id| bare(id).with(VCPU, 4).with(DISK, 1_000)).to_vec();
    assert_eq!(count([shared, own].concat()), (11, 11, Some(VCPU)));
}

#[test]
fn the_class_that_full_hosts_lack_bounds_the_number() {
    let host = |id, used| bare(id).with(VCPU, 8).with(DISK, 100).using(VCPU, used);
    let snapshot = Snapshot::build(catalog(), vec![host(1, 7), host(2, 8), host(3, 0).using(DISK, 95)]);
    let request = super::request(group(&[("VCPU", 2), ("DISK_GB", 10)]));
    let capacity = Capacity::of(&snapshot, &request, &settings()).unwrap();
    let count = capacity.total(&settings()).unwrap();
    assert_eq!((count.found, count.most, count.limited_by), (0, 0, Some(VCPU)));
    let third = capacity.eligible()[2];
    assert_eq!(capacity.on(&[third], &settings()).unwrap().limited_by, Some(DISK));
}
