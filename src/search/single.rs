//! Candidates that are one provider each: a scan over blocks finds them, without looking at trees.

use std::sync::Arc;

use super::block_walk::{BlockWalk, StripeLanes};
use super::candidates::{Candidate, Placement, SearchSettings};
use super::explain::Explain;
use super::interrupt::Interrupt;
use super::request::Request;
use super::resolve::ProviderFilter;
use super::scan;
use super::snapshot::{ClassId, Snapshot};
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
        let slot = loop {
            if let Some(slot) = self.stripe.next() {
                break slot;
            }
            if self.interrupt.is_set() {
                return None;
            }
            let (filter, zones, explain) = (&self.filter, &mut self.zones, &mut self.explain);
            let fit = |block, lanes| {
                if zones.can_skip::<E>(block, || snapshot.may_fit(block, &filter.amounts)) {
                    return 0;
                }
                scan::fitting(snapshot, filter, block, lanes, explain)
            };
            self.stripe = self.walk.next(fit)?;
        };
        let placement = |&(class, amount): &(ClassId, i64)| Placement { slot, class, amount };
        Some(Candidate {
            placements: self.filter.amounts.iter().map(placement).collect(),
            mappings: vec![(self.suffix.clone(), slot.into())],
        })
    }
}
