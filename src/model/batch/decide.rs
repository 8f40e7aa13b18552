//! The rules of each command: the command changes the batch's state, or is refused. The functions are pure: no SQL, and
//! the only clock is the batch's time.

mod aggregates;
mod allocations;
mod claims;
mod inventories;
mod limits;
pub mod providers;
mod reshaper;
mod resource_classes;
mod resource_providers;
mod traits;
mod workloads;

use super::command::{Answer, Command};
use super::state::{ConsumerRow, State};
use crate::error::{Error, Result};
use crate::model::allocations::{ConsumerClaim, Owner};
use crate::model::claims::WriteAnswer;

/// The rules that hold for each command of this process.
#[derive(Debug, Clone)]
pub struct Rules {
    /// `[placet] strict_step_size`: an amount equal to `min_unit` must be a multiple of `step_size` too.
    pub strict_step_size: bool,
    /// `[placement] incomplete_consumer_project_id` and `…_user_id`: the owner if a claim has none.
    pub incomplete_owner: Owner,
    /// Writes the answer that is stored for a repetition of a call.
    pub write_answer: WriteAnswer,
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

/// Decides a command on the state that the earlier commands of the batch left. A refusal leaves the state unchanged.
pub fn decide(state: &mut State, rules: &Rules, command: &Command) -> Result<Answer> {
    match command {
        Command::CreateProvider(command) => resource_providers::create(state, command).map(Answer::Provider),
        Command::UpdateProvider(command) => resource_providers::update(state, command).map(Answer::Provider),
        Command::DeleteProvider(command) => done(resource_providers::delete(state, command)),
        Command::ReplaceInventories(command) => inventories::replace(state, command).map(Answer::Inventories),
        Command::AddInventory(command) => inventories::add(state, command).map(Answer::Inventories),
        Command::UpdateInventory(command) => inventories::update(state, command).map(Answer::Inventories),
        Command::RemoveInventory(command) => done(inventories::remove(state, command)),
        Command::ClearInventories(command) => done(inventories::clear(state, command)),
        Command::ReplaceTraits(command) => traits::replace(state, command).map(Answer::Traits),
        Command::ClearTraits(command) => done(traits::clear(state, command)),
        Command::ReplaceAggregates(command) => aggregates::replace(state, command).map(Answer::Aggregates),
        Command::EnsureTrait(command) => Ok(traits::ensure(state, command)),
        Command::DeleteTrait(command) => done(traits::delete(state, command)),
        Command::CreateClass(command) => done(resource_classes::create(state, command)),
        Command::EnsureClass(command) => Ok(resource_classes::ensure(state, command)),
        Command::RenameClass(command) => done(resource_classes::rename(state, command)),
        Command::DeleteClass(command) => done(resource_classes::delete(state, command)),
        Command::Claim(command) => done(allocations::claim(state, rules, command)),
        Command::ClaimFirst(command) => claims::claim_first(state, rules, command).map(Answer::Claim),
        Command::PlaceInBatch(_) | Command::PutInBatch(_) => Err(Error::Internal {
            detail: "a command was to be planned before it is decided".to_owned(),
        }),
        Command::SetLimit(command) => limits::set(state, command).map(Answer::Limit),
        Command::SetWorkload(command) => workloads::set(state, rules, command).map(Answer::Workload),
        Command::Release(command) => done(allocations::release(state, command)),
        Command::Describe(command) => providers::describe(state, command).map(Answer::Described),
        Command::SetStates(command) => providers::set_states(state, command).map(Answer::Described),
        Command::Reshape(command) => done(reshaper::reshape(state, rules, command)),
    }
}

fn done(result: Result<()>) -> Result<Answer> {
    result.map(|()| Answer::Done)
}
