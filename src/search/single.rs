//! Candidates that are one provider each: a scan over blocks finds them, without looking at trees.

use std::sync::Arc;

use super::block_walk::{BlockWalk, StripeLanes};
use super::candidates::{Candidate, Placement, SearchSettings};
use super::explain::Explain;
use super::interrupt::Interrupt;
use super::rank::{BestOf, Scoring};
use super::request::Request;
use super::resolve::ProviderFilter;
use super::scan;
use super::snapshot::{ClassId, Slot, Snapshot, lanes_of};
use super::zone_filter::ZoneFilter;

/// An iterator over the candidates of one group, each a single provider.
pub(super) struct SingleProvider<E> {
    filter: ProviderFilter,
    walk: BlockWalk,
    zones: ZoneFilter,
    /// The candidates of the current stripe that were not returned yet.
    stripe: StripeLanes,
    suffix: Arc<str>,
    interrupt: Interrupt,
    explain: E,
}

impl<E: Explain> SingleProvider<E> {
    pub fn new(
        snapshot: &Snapshot,
        request: &Request,
        filter: ProviderFilter,
        settings: &SearchSettings,
        explain: E,
    ) -> Self {
        Self {
            walk: BlockWalk::to_providers(snapshot, filter.tree, settings.seed),
            zones: ZoneFilter::new(filter.tree),
            filter,
            stripe: StripeLanes::default(),
            suffix: request
                .groups
                .first()
                .map_or_else(|| Arc::from(""), |group| Arc::from(&*group.suffix)),
            interrupt: settings.interrupt.clone(),
            explain,
        }
    }

    pub fn next(&mut self, snapshot: &Snapshot) -> Option<Candidate> {
        let slot = self.advance(snapshot, |_, _, lanes| lanes)?;
        Some(self.candidate(slot))
    }

    /// The next provider. `keep` receives each block with its fitting lanes, and returns those that are wanted.
    fn advance(
        &mut self,
        snapshot: &Snapshot,
        mut keep: impl FnMut(&ProviderFilter, usize, u64) -> u64,
    ) -> Option<Slot> {
        loop {
            if let Some(slot) = self.stripe.next() {
                return Some(slot);
            }
            if self.interrupt.is_set() {
                return None;
            }
            let (filter, zones, explain) = (&self.filter, &mut self.zones, &mut self.explain);
            let fit = |block, lanes| {
                if zones.can_skip::<E>(block, || snapshot.may_fit(block, &filter.amounts)) {
                    return 0;
                }
                match scan::fitting(snapshot, filter, block, lanes, explain) {
                    0 => 0,
                    lanes => keep(filter, block, lanes),
                }
            };
            self.stripe = self.walk.next(fit)?;
        }
    }

    fn candidate(&self, slot: Slot) -> Candidate {
        let placement = |&(class, amount): &(ClassId, i64)| Placement { slot, class, amount };
        Candidate {
            placements: self.filter.amounts.iter().map(placement).collect(),
            mappings: vec![(self.suffix.clone(), slot.into())],
        }
    }

    /// The best `count` of all candidates, best first. A provider that cannot be one of them is dropped with its block.
    pub fn best(&mut self, snapshot: &Snapshot, scoring: Scoring, count: usize) -> Vec<Candidate> {
        let mut best = BestOf::new(count);
        let mut costs = scoring.no_costs();
        self.walk.in_one_round();
        loop {
            let max = best.max_cost();
            let keep = |filter: &ProviderFilter, block, lanes| {
                costs = scoring.no_costs();
                scoring.add_block(&mut costs, snapshot, block, lanes, &filter.amounts);
                lanes_of(lanes).fold(0, |kept, lane| kept | u64::from(costs[lane] < max) << lane)
            };
            let Some(slot) = self.advance(snapshot, keep) else {
                break;
            };
            best.offer(costs[slot.lane()], || slot);
        }
        best.into_sorted().map(|slot| self.candidate(slot)).collect()
    }
}
