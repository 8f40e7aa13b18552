//! Sharing providers: who they are, and which trees they reach.

use std::collections::HashMap;

use super::super::observer::Observer;
use super::super::snapshot::{AggregateId, Slot, Snapshot, TraitId};
use super::ask::Ask;
use super::fits::Fits;

/// The sharing providers that could serve a part of a request for a tree that is not theirs.
#[derive(Debug, Default)]
pub(in crate::search) struct Pools {
    pub all: Vec<Pool>,
    /// Sorted.
    by_aggregate: Vec<(AggregateId, usize)>,
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
    pub fn of<O: Observer>(snapshot: &Snapshot, ask: &Ask, fits: &Fits<O>) -> Self {
        let mut pools = Self::default();
        let bound = ask.whole.as_ref().is_some_and(|whole| whole.tree.is_some());
        for slot in snapshot.sharing() {
            let inside = fits.is_inside(snapshot, slot);
            let serves =
                |&kind: &usize| (ask.kinds[kind].granular || inside && !bound) && fits.one(snapshot, ask, slot, kind);
            let kinds: Vec<usize> = (0..ask.kinds.len()).filter(serves).collect();
            if kinds.is_empty() {
                continue;
            }
            let aggregates = snapshot.aggregates(slot);
            pools
                .by_aggregate
                .extend(aggregates.map(|aggregate| (aggregate, pools.all.len())));
            let root = snapshot.root(slot);
            pools.all.push(Pool { slot, root, kinds });
        }
        pools.by_aggregate.sort_unstable();
        pools
    }

    /// Could any serve a part of this kind?
    pub fn serve(&self, kind: usize) -> bool {
        self.all.iter().any(|pool| pool.kinds.contains(&kind))
    }

    /// Has any of them one of these traits?
    pub fn have(&self, snapshot: &Snapshot, any_of: &[TraitId]) -> bool {
        let has = |slot| any_of.iter().any(|&it| snapshot.has_trait(slot, it));
        self.all.iter().any(|pool| has(pool.slot))
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
            let pools = |(aggregate, lanes)| {
                let first = by_aggregate.partition_point(|&(other, _)| other < aggregate);
                let those = by_aggregate[first..].iter().take_while(move |it| it.0 == aggregate);
                those.map(move |&(_, pool)| (lanes, pool))
            };
            aggregates.flat_map(pools).collect()
        });
        found.extend(
            reach
                .iter()
                .filter(|(those, _)| those & lanes != 0)
                .map(|&(_, pool)| pool),
        );
    }
}
