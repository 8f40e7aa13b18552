//! What each command does to the newest state, or why not. Pure: no SQL, and no clock but the batch's own.

mod aggregates;
mod allocations;
mod inventories;
mod reshaper;
mod resource_classes;
mod resource_providers;
mod traits;

use super::allocations::{ConsumerClaim, Owner};
use super::command::{Answer, Command};
use super::state::{ConsumerRow, State};
use crate::error::Result;

/// What an operator may choose of the rules.
#[derive(Debug, Clone)]
pub struct Rules {
    /// `[placet] strict_step_size`: an amount equal to `min_unit` must be a multiple of `step_size` too.
    pub strict_step_size: bool,
    /// `[placement] incomplete_consumer_project_id` and `…_user_id`: whose a claim is that names no owner.
    pub incomplete_owner: Owner,
}

impl Rules {
    /// What a claim makes of a consumer that is not there: its generation begins at 1.
    pub fn new_consumer(&self, one: &ConsumerClaim) -> ConsumerRow {
        let Owner { project, user } = one.owner.clone().unwrap_or_else(|| self.incomplete_owner.clone());
        ConsumerRow {
            id: 0,
            generation: 1,
            project,
            user,
            consumer_type: one.consumer_type.clone(),
        }
    }
}

/// Decides one command on the state that those before it left. A refusal leaves the state as it was.
pub fn decide(state: &mut State, rules: &Rules, command: &Command) -> Result<Answer> {
    match command {
        Command::CreateProvider(it) => resource_providers::create(state, it).map(Answer::Provider),
        Command::UpdateProvider(it) => resource_providers::update(state, it).map(Answer::Provider),
        Command::DeleteProvider(it) => done(resource_providers::delete(state, it)),
        Command::ReplaceInventories(it) => inventories::replace(state, it).map(Answer::Inventories),
        Command::AddInventory(it) => inventories::add(state, it).map(Answer::Inventories),
        Command::UpdateInventory(it) => inventories::update(state, it).map(Answer::Inventories),
        Command::RemoveInventory(it) => done(inventories::remove(state, it)),
        Command::ClearInventories(it) => done(inventories::clear(state, it)),
        Command::ReplaceTraits(it) => traits::replace(state, it).map(Answer::Traits),
        Command::ClearTraits(it) => done(traits::clear(state, it)),
        Command::ReplaceAggregates(it) => aggregates::replace(state, it).map(Answer::Aggregates),
        Command::EnsureTrait(it) => Ok(traits::ensure(state, it)),
        Command::DeleteTrait(it) => done(traits::delete(state, it)),
        Command::CreateClass(it) => done(resource_classes::create(state, it)),
        Command::EnsureClass(it) => Ok(resource_classes::ensure(state, it)),
        Command::RenameClass(it) => done(resource_classes::rename(state, it)),
        Command::DeleteClass(it) => done(resource_classes::delete(state, it)),
        Command::Claim(it) => done(allocations::claim(state, rules, it)),
        Command::Release(it) => done(allocations::release(state, it)),
        Command::Reshape(it) => done(reshaper::reshape(state, rules, it)),
    }
}

fn done(result: Result<()>) -> Result<Answer> {
    result.map(|()| Answer::Done)
}
