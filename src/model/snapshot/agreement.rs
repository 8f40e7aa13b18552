//! Whether rows that refused a plan agree with the snapshot of the plan. If the rows agree the refusal is final: a
//! second plan on the same state would be the same plan.
//!
//! No row is read here. A refusal on rows corrects the snapshot before the caller is answered (`batch::refusals`,
//! `Batch::follow`). So the newest snapshot shows these rows, or newer rows.

use super::reload::row_without_time;
use crate::search::Snapshot;

/// Whether two versions show these providers alike, in everything on which a claim is decided. `providers` are uuids,
/// `classes` names.
pub fn shows_alike<'a>(
    plan: &Snapshot,
    newest: &Snapshot,
    mut providers: impl Iterator<Item = &'a str>,
    mut classes: impl Iterator<Item = &'a str>,
) -> bool {
    let limit = |snapshot: &Snapshot, class: &str| snapshot.catalog().normal_limit(class);
    let provider = |snapshot: &Snapshot, uuid: &str| {
        let slot = snapshot.by_uuid(uuid)?;
        Some((row_without_time(snapshot, snapshot.id(slot)), snapshot.state(slot)))
    };
    std::ptr::eq(plan, newest)
        || providers.all(|uuid| provider(plan, uuid) == provider(newest, uuid))
            && classes.all(|class| limit(plan, class) == limit(newest, class))
}
