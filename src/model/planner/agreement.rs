//! Whether a refusal on rows agrees with the snapshot of the refused plan.
//!
//! No row is read here. A refusal on rows corrects the snapshot before the caller is answered (`batch::refusals`,
//! `Batch::follow`). So the newest snapshot shows the rows that refused the plan, or newer rows.

use std::collections::HashSet;

use crate::model::claims::ConsumerChoice;
use crate::model::snapshot::reload::row_without_time;
use crate::model::snapshot::store::SnapshotStore;
use crate::search::{Interrupt, Snapshot};

/// Whether the newest snapshot and the snapshot of a plan show the candidates of these choices alike, in everything on
/// which a claim is decided. False if `interrupt` ended the comparison. Each allocation of a candidate counts as a
/// step. False too if the newest snapshot is invalid: an invalid snapshot is not corrected, and may be the snapshot of
/// the plan.
pub fn agrees(plan: &Snapshot, store: &SnapshotStore, choices: &[ConsumerChoice], interrupt: &Interrupt) -> bool {
    if store.is_invalid() {
        return false;
    }
    let newest = &*store.newest();
    let limit = |snapshot: &Snapshot, class: &str| snapshot.catalog().normal_limit(class);
    let provider = |snapshot: &Snapshot, uuid: &str| {
        let slot = snapshot.by_uuid(uuid)?;
        Some((row_without_time(snapshot, snapshot.id(slot)), snapshot.state(slot)))
    };
    // The consumers of a gang share a list, and several lists may name a provider.
    let (mut shared, mut compared) = (HashSet::new(), HashSet::new());
    let lists = choices.iter().map(|choice| &choice.candidates.list);
    let lists = lists.filter(|list| shared.insert(list.as_ptr()));
    let candidates = lists.flat_map(|list| list.iter());
    let mut allocations = candidates.flat_map(|candidate| &candidate.allocations);
    std::ptr::eq(plan, newest)
        || allocations.all(|(uuid, amounts)| {
            let mut classes = amounts.iter().map(|(class, _)| class);
            !interrupt.is_set()
                && (!compared.insert(uuid) || provider(plan, uuid) == provider(newest, uuid))
                && classes.all(|class| limit(plan, class) == limit(newest, class))
        })
}
