//! The candidates of the caller: finds the first candidate that fits beside the planned places of the consumers before.

use crate::model::claims::ClaimCandidate;
use crate::search::{Placement, PlannedUsage, ProviderState, Snapshot};

/// The first candidate that fits in the usage within the normal limits: the index and the placements. If there is none,
/// the candidate with the least excess over the normal limits that fits in the usage `beyond`. `own` are the present
/// allocations of the consumer.
pub fn first_that_fits(
    snapshot: &Snapshot,
    (normal, beyond): (&PlannedUsage, Option<&PlannedUsage>),
    list: &[ClaimCandidate],
    own: &[Placement],
    is_strict: bool,
) -> Option<(usize, Vec<Placement>)> {
    let fitting = |usage| {
        let fitting = fitting(snapshot, usage, list, is_strict);
        fitting.filter(|(_, placements)| placements.iter().all(|it| may_take(snapshot, own, it)))
    };
    let added_over = |(_, placements): &(usize, Vec<Placement>)| normal.added_over(placements);
    let first = fitting(normal).next();
    first.or_else(|| fitting(beyond?).min_by_key(added_over))
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
