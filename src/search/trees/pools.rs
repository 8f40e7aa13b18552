//! Sharing providers: who they are, and which trees they reach.

use std::collections::HashMap;

use super::super::observer::Observer;
use super::super::snapshot::{AggregateId, Slot, Snapshot};
use super::ask::Ask;
use super::fits::Fits;

/// The sharing providers that could serve a part of a request for a tree that is not theirs.
#[derive(Debug, Default)]
pub(in crate::search) struct Pools {
    pub all: Vec<Pool>,
    by_aggregate: HashMap<AggregateId, Vec<usize>>,
    /// By block, once asked: lanes, and a pool that they reach.
    reach: HashMap<usize, Box<[(u64, usize)]>>,
}

#[derive(Debug)]
pub(in crate::search) struct Pool {
    pub slot: Slot,
    pub root: Slot,
    pub kinds: Vec<usize>,
}

impl Pools {
    pub fn of<O: Observer>(snapshot: &Snapshot, ask: &Ask, fits: &mut Fits<O>) -> Self {
        let mut pools = Self::default();
        let bound = ask.whole.as_ref().is_some_and(|whole| whole.tree.is_some());
        for slot in snapshot.sharing() {
            let inside = fits.inside(snapshot, slot.block()) & slot.bit() != 0;
            let mut serves = |&kind: &usize| {
                (ask.kinds[kind].granular || inside && !bound)
                    && fits.of(snapshot, ask, slot.block(), kind) & slot.bit() != 0
            };
            let kinds: Vec<usize> = (0..ask.kinds.len()).filter(&mut serves).collect();
            if kinds.is_empty() {
                continue;
            }
            for aggregate in snapshot.aggregates(slot) {
                pools.by_aggregate.entry(aggregate).or_default().push(pools.all.len());
            }
            let root = snapshot.root(slot);
            pools.all.push(Pool { slot, root, kinds });
        }
        pools
    }

    /// Could any serve a part of this kind?
    pub fn serve(&self, kind: usize) -> bool {
        self.all.iter().any(|pool| pool.kinds.contains(&kind))
    }

    /// Is it one of them, so that other trees may use it too?
    pub fn contains(&self, slot: Slot) -> bool {
        self.all.binary_search_by_key(&slot, |pool| pool.slot).is_ok()
    }

    /// Adds those that these lanes reach; the same one may come again.
    pub fn reached(&mut self, snapshot: &Snapshot, block: usize, lanes: u64, found: &mut Vec<usize>) {
        if self.all.is_empty() {
            return;
        }
        let by_aggregate = &self.by_aggregate;
        let reach = self.reach.entry(block).or_insert_with(|| {
            let aggregates = snapshot.blocks().get(block).fixed.aggregates.iter();
            let pools = aggregates.filter_map(|(aggregate, lanes)| Some((by_aggregate.get(&aggregate)?, lanes)));
            pools
                .flat_map(|(pools, lanes)| pools.iter().map(move |&pool| (lanes, pool)))
                .collect()
        });
        found.extend(
            reach
                .iter()
                .filter(|(those, _)| those & lanes != 0)
                .map(|&(_, pool)| pool),
        );
    }
}
