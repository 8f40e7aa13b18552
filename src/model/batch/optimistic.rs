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

impl BatchCommand for Command {
    /// As far as the command alone decides. [`fits_one_batch`] and [`keeps_classes`] check the batch and the snapshot.
    fn is_plannable(&self) -> bool {
        self.load.is_plannable
    }

    fn rows(&self) -> usize {
        self.load.rows
    }

    fn new_rows(&self) -> RowNames {
        RowNames {
            consumers: self.claimed_consumers().into_iter().map(str::to_owned).collect(),
            ..RowNames::default()
        }
    }
}

/// Whether the client declares the consumer new. A uuid longer than the column is not eligible: MariaDB would cut the
/// uuid, possibly to the uuid of another consumer.
pub fn is_new(claim: &ConsumerClaim) -> bool {
    claim.generation == Expected::New && claim.consumer.chars().count() <= UUID_CHARS_MAX
}

/// The maximum number of rows in a plan, because a single statement sends all rows.
const PLAN_ROWS_MAX: usize = 10_000;

/// Whether the commands can share a plan: the plan is not too large, and no two claims name the same consumer. For the
/// second claim the consumer would not be new.
pub fn fits_one_batch(commands: &[&Command]) -> bool {
    let mut consumers = HashSet::new();
    let mut claimed = commands.iter().flat_map(|command| command.claimed_consumers());
    commands.iter().map(|command| command.load.rows).sum::<usize>() <= PLAN_ROWS_MAX
        && claimed.all(|consumer| consumers.insert(consumer))
}

/// Whether every provider keeps the classes of its inventories. A class must be unused to be removed, and a new class
/// may be deleted by another process: no constraint ties an inventory to its class.
pub fn keeps_classes(state: &State) -> bool {
    state.providers.values().all(|entry| match (&entry.base, &entry.now) {
        (Some(base), Some(now)) => base.inventories.keys().eq(now.inventories.keys()),
        _ => false,
    })
}
