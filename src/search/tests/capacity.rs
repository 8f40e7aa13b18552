//! The number of further consumers, beside all ways to claim for one consumer after the other.

use std::collections::HashMap;

use proptest::prelude::*;

use super::oracle::{self, World};
use super::properties::{config, scatter};
use super::requests::request;
use super::worlds::{pools, world};
use super::*;
use crate::search::capacity::Capacity;

/// A world in which more states are reached proves nothing in this time.
const MAX_STATES: usize = 3_000;

/// The usage of a world.
type State = Vec<(ProviderId, ClassId, i64)>;

/// The largest numbers of claims, one after the other, by state.
struct Claims<'a> {
    request: &'a Request,
    known: HashMap<State, u64>,
}

impl Claims<'_> {
    /// `None` if there are too many states.
    fn most(&mut self, world: &World) -> Option<u64> {
        let state: State = world
            .values()
            .flat_map(|row| row.used.iter().map(|(class, used)| (row.id, *class, *used)))
            .collect();
        if let Some(known) = self.known.get(&state) {
            return Some(*known);
        }
        if self.known.len() >= MAX_STATES {
            return None;
        }
        let mut most = 0;
        for (amounts, _) in oracle::candidates(&catalog(), world, self.request, false).unwrap_or_default() {
            // Without an amount there is no end.
            if amounts.is_empty() {
                return None;
            }
            let mut next = world.clone();
            for ((id, class), amount) in &amounts {
                *next.get_mut(id)?.used.entry(*class).or_default() += amount;
            }
            most = most.max(1 + self.most(&next)?);
        }
        self.known.insert(state, most);
        Some(most)
    }
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
    let mut claims = Claims {
        request,
        known: HashMap::new(),
    };
    // The providers of a tree lie apart in memory.
    let snapshot = scatter(world);
    let (Some(most), Ok(capacity)) = (claims.most(world), Capacity::of(&snapshot, request, &settings())) else {
        return Ok(());
    };
    let count = capacity.total(&settings()).unwrap();
    prop_assert!(count.found <= most && most <= count.most, "{} of {:?}", most, count);
    let hosts: BTreeSet<Slot> = capacity.eligible().iter().copied().collect();
    prop_assert_eq!(hosts.len(), capacity.eligible().len());
    for host in hosts {
        let mut claims = Claims {
            request,
            known: HashMap::new(),
        };
        let alone = world_of_host(world, snapshot.id(host));
        let pools = alone.values().any(|row| row.traits.contains(&TraitId(1)));
        let count = capacity.on(&[host], &settings()).unwrap();
        if let Some(most) = claims.most(&alone).filter(|_| !pools) {
            prop_assert!(
                count.found <= most && most <= count.most,
                "{} of {:?} on {:?}",
                most,
                count,
                host
            );
        }
        for free in capacity.free(&[host]) {
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
