//! The rule of workloads: the row is the one that the plan saw, and its consumers stand where the plan saw them. Then
//! replicas are released and placed as by any claim, all or none.

use std::sync::Arc;

use super::{Rules, claims};
use crate::error::{ClaimRefusal, Error, Reason, ReasonCode, RefusedConsumer, Result};
use crate::model::batch::state::State;
use crate::model::workloads::{Set, SetAnswer};

/// `PUT` and `DELETE /v1/workloads/{uuid}`.
///
/// # Errors
/// - [`Error::StaleWorkload`], [`Error::DuplicateWorkload`], [`Error::ConsumerTaken`].
/// - [`Error::ClaimRefused`] if a replica gets no place, or stands elsewhere than the plan saw: then it is planned again.
pub fn set(state: &mut State, rules: &Rules, set: &Set) -> Result<SetAnswer> {
    let current = state.workload(&set.uuid).map(|row| row.generation);
    if current != set.known {
        return Err(Error::stale_workload(&set.uuid, current, set.known));
    }
    check_names(state, set)?;
    check_consumers(state, set)?;
    state.set_savepoint();
    for (consumer, _) in &set.released {
        state.release_allocations(consumer);
        state.consumer(consumer).now = None;
    }
    let claimed = match claims::claim_each(state, rules, &set.placed) {
        Ok(claimed) => claimed,
        Err(refused) => {
            state.roll_back();
            return Err(refused);
        }
    };
    state.release_savepoint();
    let row = set.row.clone();
    state.set_workload(&set.uuid, row.map(|row| (row, set.replicas.clone())));
    Ok(claimed)
}

/// The name is free in the project, and no consumer belongs to another workload.
fn check_names(state: &State, set: &Set) -> Result<()> {
    let known = &state.workload_names;
    if let Some(row) = &set.row
        && let Some(other) = known.names.get(&(row.project.clone(), row.name.clone()))
        && *other != set.uuid
    {
        return Err(Error::DuplicateWorkload { name: row.name.clone() });
    }
    let mut taken = set.adopted.iter();
    let taken = taken.find_map(|consumer| Some((consumer, known.taken.get(consumer)?)));
    match taken.filter(|(_, workload)| **workload != set.uuid) {
        Some((consumer, workload)) => Err(Error::ConsumerTaken {
            consumer: consumer.clone(),
            workload: workload.clone(),
        }),
        None => Ok(()),
    }
}

/// Consumers that stay or go have the generations that the plan saw.
fn check_consumers(state: &mut State, set: &Set) -> Result<()> {
    let released = set.released.iter().map(|(consumer, known)| (consumer, Some(*known)));
    let standing = set.standing.iter().map(|(consumer, known)| (consumer, *known));
    let mut moved = Vec::new();
    for (consumer, known) in standing.chain(released) {
        let current = state.consumer(consumer).now.as_ref().map(|row| row.generation);
        if current != known {
            let detail = format!("Another client changed the allocations of consumer {consumer}.");
            moved.push(RefusedConsumer {
                consumer: consumer.clone(),
                reasons: Reason::new(ReasonCode::ConcurrentUpdate, detail).into(),
            });
        }
    }
    if moved.is_empty() {
        return Ok(());
    }
    Err(Error::ClaimRefused(Arc::new(ClaimRefusal { consumers: moved })))
}
