//! The commands of each noun, with the rows in the footprint, the load, and the rule of each command. A command
//! changes the batch's state, or is refused. The rules are pure: no SQL, and the only clock is the batch's time.

mod aggregates;
mod allocations;
mod claims;
mod domains;
mod hosts;
mod inventories;
mod limits;
mod providers;
mod reshaper;
mod resource_classes;
mod resource_providers;
mod traits;
mod types;
mod workloads;

use super::state::ConsumerRow;
use crate::model::allocations::{ConsumerClaim, Owner};
use crate::model::claims::WriteAnswer;
use crate::model::workloads::spec::ReadSpec;

/// The rules that hold for each command of this process.
#[derive(Debug, Clone)]
pub struct Rules {
    /// `[placet] strict_step_size`: an amount equal to `min_unit` must be a multiple of `step_size` too.
    pub strict_step_size: bool,
    /// `[placement] incomplete_consumer_project_id` and `…_user_id`: the owner if a claim has none.
    pub incomplete_owner: Owner,
    /// Writes the answer that is stored for a repetition of a call.
    pub write_answer: WriteAnswer,
    /// Reads the spec of a stored workload.
    pub read_spec: ReadSpec,
}

impl Rules {
    /// The row of a new consumer: the generation begins at 1.
    pub fn new_consumer(&self, claim: &ConsumerClaim) -> ConsumerRow {
        let Owner { project, user } = claim.owner.clone().unwrap_or_else(|| self.incomplete_owner.clone());
        ConsumerRow {
            id: 0,
            generation: 1,
            project,
            user,
            consumer_type: claim.consumer_type.clone(),
        }
    }
}
