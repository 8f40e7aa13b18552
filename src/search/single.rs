//! Candidates of a single provider each: a scan over blocks finds the providers without looking at trees.

use std::sync::Arc;

use super::block_walk::{BlockWalk, StripeLanes};
use super::candidate::{Candidate, Placement};
use super::provider_filter::ProviderFilter;
use super::rank::{BestOf, BoundQueue, Scoring};
use super::request::Request;
use super::scan;
use super::settings::SearchSettings;
use super::snapshot::{BlockSlots, ClassId, LANES, Slot, Snapshot};
use super::zone_filter::ZoneFilter;
use crate::interrupt::Interrupt;

/// An iterator over the candidates of one group, each a single provider.
pub(super) struct SingleProvider {
    pub filter: ProviderFilter,
    walk: BlockWalk,
    zones: ZoneFilter,
    /// The candidates of the current stripe not returned yet.
    stripe: StripeLanes,
    suffix: Arc<str>,
    interrupt: Interrupt,
    steps_a_block: u64,
}

impl SingleProvider {
    pub fn new(snapshot: &Snapshot, request: &Request, filter: ProviderFilter, settings: &SearchSettings) -> Self {
        Self {
            walk: BlockWalk::to_providers(snapshot, filter.tree, (settings.seed, settings.order)),
            zones: ZoneFilter::new(filter.tree, &filter.amount_rules),
            filter,
            stripe: StripeLanes::default(),
            suffix: Arc::from(&*request.groups[0].suffix),
            interrupt: settings.interrupt.clone(),
            steps_a_block: request.steps_a_block(),
        }
    }

    /// Before the first candidate: only providers among these blocks and lanes are wanted.
    pub fn restrict(&mut self, to: &[(usize, u64)]) {
        self.walk.restrict(to);
        self.zones = ZoneFilter::off();
    }

    pub fn next(&mut self, snapshot: &Snapshot) -> Option<Candidate> {
        loop {
            if let Some(slot) = self.stripe.next() {
                return Some(self.candidate(slot));
            }
            if self.interrupt.count(self.steps_a_block) {
                return None;
            }
            let (filter, zones) = (&self.filter, &mut self.zones);
            let fit = |block, lanes| {
                if zones.can_skip(block, || snapshot.zone_map(block).may_fit(&filter.amounts)) {
                    return 0;
                }
                scan::fitting(snapshot, filter, block, lanes)
            };
            self.stripe = self.walk.next(fit)?;
        }
    }

    fn candidate(&self, slot: Slot) -> Candidate {
        Candidate {
            placements: self.placements(slot).collect(),
            mappings: vec![(self.suffix.clone(), slot.into())],
        }
    }

    fn placements(&self, slot: Slot) -> impl Iterator<Item = Placement> {
        let placement = move |&(class, amount): &(ClassId, i64)| Placement { slot, class, amount };
        self.filter.amounts.iter().map(placement)
    }

    /// The best `count` of all candidates with their costs, best first. Blocks are visited in the order of bounds.
    pub fn best(&mut self, snapshot: &Snapshot, scoring: Scoring, count: usize) -> Vec<(f64, Candidate)> {
        let mut best = BestOf::new(count);
        let (filter, zones) = (&self.filter, &mut self.zones);
        let bounded = self.walk.blocks().filter_map(|(number, (block, lanes))| {
            let can_skip = zones.can_skip(block, || snapshot.zone_map(block).may_fit(&filter.amounts));
            let bound = || scoring.bound_in_block(snapshot, block, &filter.amounts);
            (!can_skip).then(|| (bound(), number, (block, lanes)))
        });
        let mut blocks = BoundQueue::of_blocks(bounded, &self.interrupt);
        while let Some((_, (block, lanes))) = blocks.pop_if(|bound| bound < best.max_cost()) {
            if self.interrupt.count(self.steps_a_block) {
                break;
            }
            let fitting = scan::fitting(snapshot, &self.filter, block, lanes);
            let (better, costs) =
                scoring.costs_below(best.max_cost(), snapshot, (block, fitting), &self.filter.amounts);
            for slot in self.walk.shuffled(block, better) {
                best.offer(costs[slot.lane()], || slot);
            }
        }
        let best = best.into_sorted();
        best.map(|(cost, slot)| (cost, self.candidate(slot))).collect()
    }

    /// As `Candidates::each_host`, with all candidates.
    pub fn each_host(
        &self,
        snapshot: &Snapshot,
        scoring: Option<Scoring>,
        mut found: impl FnMut(Slot, f64, &dyn Fn() -> Candidate),
    ) {
        self.each_provider(snapshot, scoring, |host, provider, cost| {
            found(host, cost, &|| self.candidate(provider));
        });
    }

    /// As `Candidates::each_way`, with all candidates.
    pub fn each_way(&self, snapshot: &Snapshot, mut found: impl FnMut(Slot, &[Placement], &dyn Fn() -> Candidate)) {
        let mut ways: Vec<(Slot, Slot)> = Vec::new();
        self.each_provider(snapshot, None, |host, provider, _| ways.push((host, provider)));
        // The providers of further trees may lie between two providers of a tree.
        ways.sort_unstable();
        let mut placements: Vec<Placement> = Vec::new();
        for (host, provider) in ways {
            // `found` may count steps.
            if self.interrupt.has_ended() {
                return;
            }
            placements.clear();
            placements.extend(self.placements(provider));
            found(host, &placements, &|| self.candidate(provider));
        }
    }

    /// Calls `found` with the host, the provider and the cost of each candidate.
    fn each_provider(&self, snapshot: &Snapshot, scoring: Option<Scoring>, mut found: impl FnMut(Slot, Slot, f64)) {
        for (_, (block, lanes)) in self.walk.blocks() {
            if self.interrupt.count(self.steps_a_block) {
                return;
            }
            let fitting = scan::fitting(snapshot, &self.filter, block, lanes);
            let (fitting, costs) = match scoring {
                Some(scoring) => scoring.costs_below(f64::INFINITY, snapshot, (block, fitting), &self.filter.amounts),
                None => (fitting, [0.0; LANES]),
            };
            let roots = snapshot.blocks.get(block).roots;
            for slot in BlockSlots::new(block, fitting) {
                let host = if roots & slot.bit() == 0 {
                    snapshot.cached_root(slot)
                } else {
                    slot
                };
                found(host, slot, costs[slot.lane()]);
            }
        }
    }
}
