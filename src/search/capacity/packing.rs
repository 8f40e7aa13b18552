//! Packs hosts with consumers: a lower bound of the number of consumers that fit.

use std::cmp::Reverse;
use std::collections::HashMap;

use super::{HostWays, Ways, count_alone, free};
use crate::interrupt::{Interrupt, OPERATIONS_A_STEP};
use crate::search::candidate::Placement;
use crate::search::snapshot::{ClassId, Slot, Snapshot};

/// Of ways with common providers, a way gets this share of its room before the ways are compared again.
const SHARE: i64 = 8;

/// The consumers placed so far.
pub struct ConsumerPacking<'a> {
    snapshot: &'a Snapshot,
    amounts: &'a [(ClassId, i64)],
    /// The free amounts of providers that serve consumers of the packing.
    left: HashMap<(Slot, ClassId), i64>,
    interrupt: &'a Interrupt,
    pub consumers: u64,
}

impl<'a> ConsumerPacking<'a> {
    pub fn new(snapshot: &'a Snapshot, amounts: &'a [(ClassId, i64)], interrupt: &'a Interrupt) -> Self {
        ConsumerPacking {
            snapshot,
            amounts,
            left: HashMap::new(),
            interrupt,
            consumers: 0,
        }
    }

    /// Fills a host. Ways without sharing providers come first, because further hosts may need the sharing providers.
    pub fn add(&mut self, host: &HostWays) {
        let Ways::Several(ways, _) = &host.ways else {
            let (count, _) = count_alone(self.snapshot, host.host, self.amounts);
            self.consumers = self.consumers.saturating_add(count);
            return;
        };
        let pool_placements = |way: &[Placement]| way.iter().filter(|it| self.snapshot.is_sharing(it.slot)).count();
        let mut by_pools: Vec<(usize, &[Placement])> = ways.iter().map(|way| (pool_placements(way), &**way)).collect();
        by_pools.sort_by_key(|(placements, _)| *placements);
        for ways in by_pools.chunk_by(|one, next| one.0 == next.0) {
            self.fill(ways);
        }
    }

    /// Places consumers in the way with the most room, again and again. The interrupt ends the packing.
    fn fill(&mut self, ways: &[(usize, &[Placement])]) {
        let share = if ways.len() == 1 { 1 } else { SHARE };
        let operations: usize = ways.iter().map(|(_, way)| way.len()).sum();
        while !self.interrupt.count((operations as u64).div_ceil(OPERATIONS_A_STEP)) {
            let rooms = ways
                .iter()
                .enumerate()
                .map(|(at, (_, way))| (self.room(way), Reverse(at)));
            let Some((room @ 1.., Reverse(at))) = rooms.max() else {
                return;
            };
            self.place(ways[at].1, (room / share).max(1));
        }
    }

    fn place(&mut self, way: &[Placement], count: i64) {
        for Placement { slot, class, amount } in way {
            let left = self.left.entry((*slot, *class));
            *left.or_insert_with(|| free(self.snapshot, *slot, *class)) -= amount * count;
        }
        self.consumers = self.consumers.saturating_add(count.unsigned_abs());
    }

    /// How many consumers the way can serve.
    fn room(&self, way: &[Placement]) -> i64 {
        let rooms = way.iter().map(|Placement { slot, class, amount }| {
            let left = self.left.get(&(*slot, *class)).copied();
            left.unwrap_or_else(|| free(self.snapshot, *slot, *class)) / amount
        });
        rooms.min().unwrap_or_default()
    }
}
