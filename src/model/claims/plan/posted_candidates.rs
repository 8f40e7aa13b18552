//! The candidates of the caller: finds the first candidate that fits beside the planned places of the consumers before.

use crate::model::claims::ClaimCandidate;
use crate::search::{Placement, PlannedUsage, ProviderState, Snapshot};

/// The placements of the first candidate that fits in the usage within the normal limits. If there is none, of the
/// candidate with the least excess over the normal limits that fits in the usage `beyond`. `own` are the present
/// allocations of the consumer.
pub fn first_that_fits(
    snapshot: &Snapshot,
    (normal, beyond): (&PlannedUsage, Option<&PlannedUsage>),
    list: &[ClaimCandidate],
    own: &[Placement],
    is_strict: bool,
) -> Option<Vec<Placement>> {
    let fitting = |usage| {
        let fitting = fitting(snapshot, usage, list, is_strict);
        fitting.filter(|placements| placements.iter().all(|it| may_take(snapshot, own, it)))
    };
    let first = fitting(normal).next();
    first.or_else(|| fitting(beyond?).min_by_key(|placements| normal.added_over(placements)))
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

/// The placements of each posted candidate that fits. The claim is decided by all rules.
fn fitting<'a>(
    snapshot: &'a Snapshot,
    usage: &'a PlannedUsage,
    list: &'a [ClaimCandidate],
    is_strict: bool,
) -> impl Iterator<Item = Vec<Placement>> + 'a {
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
    list.iter().filter_map(placements)
}
