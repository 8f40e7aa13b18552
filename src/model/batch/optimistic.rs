//! Decides whether a batch can be planned: decided before BEGIN, on the snapshot alone.
//!
//! Naively, any command could be decided on the snapshot. But the snapshot may lag behind other writers, so each fact
//! behind a decision needs a guard in the statement of the write. Three kinds of command have guards for all facts:
//! - A claim of a consumer that the client declares new, with or without a choice. The insert of the row fails if the
//!   consumer exists, and each provider's generation guards the provider's usage and state.
//! - A new workload, if its replicas are claims of new consumers, and its rules name no other workload. The insert of
//!   the row fails if the workload exists or the name is taken, and the insert of a replica if the consumer belongs to
//!   another workload. A change of a host's domains moves the generations of the host and of all providers below, so
//!   the claim's guard covers the domains.
//! - A replacement of inventories, if the provider keeps the classes. The provider's generation is the guard.
//!
//! All other commands are decided inside the transaction, on rows that the transaction reads.

use std::collections::HashSet;

use super::batch_rows::UUID_CHARS_MAX;
use super::command::Command;
use super::state::State;
use crate::db::writer::{BatchCommand, RowNames};
use crate::model::allocations::{ConsumerClaim, Expected};
use crate::model::workloads;

impl BatchCommand for Command {
    /// As far as the command alone decides. [`fits_one_batch`] and [`keeps_classes`] check the batch and the snapshot.
    fn is_plannable(&self) -> bool {
        match self {
            Command::Claim(claim) => {
                let wipes = |claim: &ConsumerClaim| claim.allocations.is_empty();
                claim.consumers.iter().all(|claim| is_new(claim) && !wipes(claim))
            }
            Command::ClaimFirst(claim) => claim.consumers.iter().all(|consumer| is_new(&consumer.claim)),
            Command::SetWorkload(set) => is_new_workload(set),
            Command::ReplaceInventories(_) | Command::UpdateInventory(_) => true,
            _ => false,
        }
    }

    fn rows(&self) -> usize {
        self.written_rows()
    }

    fn new_rows(&self) -> RowNames {
        RowNames {
            consumers: self
                .consumer_claims()
                .iter()
                .map(|claim| claim.consumer.clone())
                .collect(),
            ..RowNames::default()
        }
    }
}

/// Whether the plan found neither the workload nor the consumers of its replicas. Workloads that are tied by rules have
/// guards only inside the transaction.
fn is_new_workload(set: &workloads::Set) -> bool {
    let are_new = || set.placed.iter().all(|replica| is_new(&replica.claim));
    // The consumers of replicas without a place may exist: the plan does not know.
    let is_untied = set.neighbours.is_empty() && set.referrers.is_empty();
    let is_alone = is_untied && set.standing.is_empty() && set.released.is_empty();
    set.known.is_none() && is_alone && are_new()
}

/// Whether the client declares the consumer new. A uuid longer than the column is not eligible: MariaDB would cut the
/// uuid, possibly to the uuid of another consumer.
fn is_new(claim: &ConsumerClaim) -> bool {
    claim.generation == Expected::New && claim.consumer.chars().count() <= UUID_CHARS_MAX
}

/// The maximum number of rows in a plan, because a single statement sends all rows.
const PLAN_ROWS_MAX: usize = 10_000;

/// Whether the commands can share a plan: the plan is not too large, and no two claims name the same consumer. For the
/// second claim the consumer would not be new.
pub fn fits_one_batch(commands: &[&Command]) -> bool {
    let claims = || commands.iter().flat_map(|command| command.consumer_claims());
    let mut consumers = HashSet::new();
    commands.iter().map(|command| command.written_rows()).sum::<usize>() <= PLAN_ROWS_MAX
        && claims().all(|claim| consumers.insert(claim.consumer.as_str()))
}

/// Whether every provider keeps the classes of its inventories. A class must be unused to be removed, and a new class
/// may be deleted by another process: no constraint ties an inventory to its class.
pub fn keeps_classes(state: &State) -> bool {
    state.providers.values().all(|entry| match (&entry.base, &entry.now) {
        (Some(base), Some(now)) => base.inventories.keys().eq(now.inventories.keys()),
        _ => false,
    })
}
