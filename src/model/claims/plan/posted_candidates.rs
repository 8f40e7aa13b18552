//! The candidates of the caller: finds the first candidate that fits beside the planned places of the consumers before.

use super::Planning;
use crate::model::claims::{ClaimCandidate, Limits};
use crate::search::{Placement, PlannedUsage, ProviderState, Snapshot};

impl Planning<'_> {
    /// The first posted candidate within the normal limits. If there is none and the purpose allows an excess, the
    /// candidate with the least excess over the normal limits. Returns the index, the placements and the limits.
    pub(super) fn first_that_fits(
        &self,
        list: &[ClaimCandidate],
        own: &[Placement],
    ) -> (Option<(usize, Vec<Placement>)>, Limits) {
        let (snapshot, is_strict) = (&self.job.snapshot, self.settings.strict_step);
        let limits = Limits::of(self.job.request.purpose);
        let fitting = |usage| {
            let fitting = fitting(snapshot, usage, list, is_strict);
            fitting.filter(|(_, placements)| placements.iter().all(|it| may_take(snapshot, own, it)))
        };
        if let Some(first) = fitting(&self.usage).next() {
            return (Some(first), limits);
        }
        let beyond = self.beyond.as_ref().filter(|_| limits == Limits::NormalFirst);
        let added_over = |(_, placements): &(usize, Vec<Placement>)| self.usage.added_over(placements);
        (beyond.and_then(|beyond| fitting(beyond).min_by_key(added_over)), limits)
    }
}

/// Whether the provider is up, or the consumer has as much there already.
fn may_take(snapshot: &Snapshot, own: &[Placement], placement: &Placement) -> bool {
    if snapshot.are_all_up() || snapshot.state(placement.slot) == ProviderState::Up {
        return true;
    }
    let same = own
        .iter()
        .filter(|it| (it.slot, it.class) == (placement.slot, placement.class));
    placement.amount <= same.map(|it| it.amount).sum()
}

/// The index and the placements of each posted candidate that fits. The claim is decided by all rules.
fn fitting<'a>(
    snapshot: &'a Snapshot,
    usage: &'a PlannedUsage,
    list: &'a [ClaimCandidate],
    is_strict: bool,
) -> impl Iterator<Item = (usize, Vec<Placement>)> + 'a {
    let placements = move |candidate: &ClaimCandidate| {
        let of_provider = candidate.allocations.iter().map(|(uuid, resources)| {
            let slot = snapshot.by_uuid(uuid)?;
            let of_class = resources.iter().map(move |(class, amount)| {
                let (class, amount) = (snapshot.catalog().class_id(class)?, *amount);
                let inventory = snapshot.inventory(slot, class)?;
                let is_allowed = inventory.allows_amount(amount, is_strict);
                is_allowed.then_some(Placement { slot, class, amount })
            });
            of_class.collect::<Option<Vec<Placement>>>()
        });
        let all = of_provider.collect::<Option<Vec<_>>>()?.concat();
        usage.has_room(&all).then_some(all)
    };
    let with_index = move |(index, candidate)| Some((index, placements(candidate)?));
    list.iter().enumerate().filter_map(with_index)
}
