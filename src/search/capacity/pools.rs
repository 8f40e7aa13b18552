//! The pools of all hosts together. A pool serves consumers of several hosts, so its room is shared.

use std::collections::{BTreeSet, HashMap};

use super::bound::{BoundWithClass, ComponentBound};
use super::packing::pack_with_pools;
use super::ways::{HostWays, WayAmount, WayInventory};
use crate::interrupt::{Interrupt, OPERATIONS_A_STEP};
use crate::search::snapshot::{ClassId, Slot};

/// The inventories of the pools in the ways of any host.
#[derive(Debug, Default)]
pub struct WayPools {
    inventories: Vec<WayInventory>,
    positions: HashMap<(Slot, ClassId), usize>,
    /// What ways take from pools. A set, because many hosts take the same.
    parts: Vec<Vec<WayAmount>>,
    part_positions: HashMap<Vec<WayAmount>, usize>,
}

/// A host with ways that take amounts from pools.
#[derive(Debug)]
pub struct PooledHost {
    ways: HostWays,
    /// By inventory of the ways, the index of the pool's inventory, if the inventory is of a pool.
    pools: Vec<Option<usize>>,
    /// The indexes of the parts.
    parts: Vec<usize>,
}

impl WayPools {
    pub fn add(&mut self, ways: HostWays) -> PooledHost {
        let pool = |inventory: &WayInventory| inventory.is_of_pool.then(|| self.position(inventory));
        let pools: Vec<Option<usize>> = ways.inventories.iter().map(pool).collect();
        let of_pools = |(at, amount): WayAmount| (pools[at].unwrap_or_default(), amount);
        let with_pool = ways.iter().filter(|way| ways.has_pool(way));
        let parts = with_pool.map(|way| ways.part(way, true).into_iter().map(of_pools).collect());
        let parts = parts.map(|part| self.part_position(part)).collect();
        PooledHost { ways, pools, parts }
    }

    fn position(&mut self, inventory: &WayInventory) -> usize {
        *self
            .positions
            .entry((inventory.slot, inventory.class))
            .or_insert_with(|| {
                self.inventories.push(*inventory);
                self.inventories.len() - 1
            })
    }

    fn part_position(&mut self, part: Vec<WayAmount>) -> usize {
        *self.part_positions.entry(part).or_insert_with_key(|part| {
            self.parts.push(part.clone());
            self.parts.len() - 1
        })
    }
}

impl PooledHost {
    /// The bound of pools no longer counts the host.
    pub fn forget_parts(&mut self) {
        self.parts.clear();
    }
}

/// The consumers of pools on some hosts.
pub struct PoolUse<'a> {
    pools: &'a WayPools,
    /// By inventory, the free amount that is left.
    left: Vec<i64>,
    /// The parts of the hosts.
    parts: BTreeSet<usize>,
}

impl<'a> PoolUse<'a> {
    pub fn new(pools: &'a WayPools) -> PoolUse<'a> {
        PoolUse {
            pools,
            left: pools.inventories.iter().map(|inventory| inventory.free).collect(),
            parts: BTreeSet::new(),
        }
    }

    /// Packs a host with consumers, and returns their number.
    pub fn add(&mut self, host: &PooledHost, interrupt: &Interrupt) -> u64 {
        self.parts.extend(&host.parts);
        let inventories = host.ways.inventories.iter().zip(&host.pools);
        let left = inventories.map(|(inventory, pool)| pool.map_or(inventory.free, |pool| self.left[pool]));
        let mut left: Vec<i64> = left.collect();
        let consumers = pack_with_pools(&host.ways, &mut left, interrupt);
        for (pool, left) in host.pools.iter().zip(left) {
            pool.iter().for_each(|pool| self.left[*pool] = left);
        }
        consumers
    }

    /// The most consumers of pools, by the pools' inventories.
    pub fn bound(&self, interrupt: &Interrupt) -> BoundWithClass {
        let parts: Vec<&[WayAmount]> = self.parts.iter().map(|part| &*self.pools.parts[*part]).collect();
        let amounts: usize = parts.iter().map(|part| part.len()).sum();
        interrupt.spend(amounts as u64 / OPERATIONS_A_STEP);
        ComponentBound::new(&parts, &self.pools.inventories).of(&self.pools.inventories)
    }
}
