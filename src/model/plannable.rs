//! What may be decided before its transaction begins, because nothing of it has to be read: claims of consumers that are said
//! to be new, whose rows can only be made where there is none, and inventories that are written anew, which the provider's
//! generation guards.

use std::collections::HashSet;

use super::allocations::{ConsumerClaim, Expected};
use super::command::Command;
use super::gather::UUID_MAX;
use super::state::State;

/// Whether nothing but what guards vouch for has to be known for a command, as far as itself can say.
pub fn may_be_planned(command: &Command) -> bool {
    match command {
        Command::Claim(claim) => claim.consumers.iter().all(is_new),
        Command::ReplaceInventories(_) | Command::UpdateInventory(_) => true,
        _ => false,
    }
}

/// A name that the column does not hold MariaDB would cut to that of somebody else.
fn is_new(one: &ConsumerClaim) -> bool {
    one.generation == Expected::New && !one.allocations.is_empty() && one.consumer.chars().count() <= UUID_MAX
}

/// So many rows are planned together at most: all of them are sent at once.
const PLANNED_MAX: usize = 10_000;
/// And so many inventories: the look at the names of custom classes is as deep an expression as there are, of which SQLite
/// takes a thousand levels.
const INVENTORIES_MAX: usize = 500;

/// Whether no consumer is claimed for twice, for the second of two claims finds it there; and whether it is not too much.
pub fn may_share_a_plan(commands: &[&Command]) -> bool {
    let claims = || commands.iter().flat_map(|command| claims_of(command));
    let mut named = HashSet::new();
    commands.iter().map(|command| rows(command)).sum::<usize>() <= PLANNED_MAX
        && commands.iter().map(|command| inventories(command)).sum::<usize>() <= INVENTORIES_MAX
        && claims().all(|one| named.insert(one.consumer.as_str()))
}

/// Whether providers keep the classes of which they have inventories. Who gives one up must know that nobody uses it, and
/// nothing in the tables keeps a class from being deleted that is being given to somebody.
pub fn keeps_classes(state: &State) -> bool {
    state.providers.values().all(|entry| match (&entry.base, &entry.now) {
        (Some(base), Some(now)) => base.inventories.keys().eq(now.inventories.keys()),
        _ => false,
    })
}

fn rows(command: &Command) -> usize {
    let of_claim = |one: &ConsumerClaim| one.allocations.iter().map(|(_, it)| it.len()).sum::<usize>();
    claims_of(command).iter().map(of_claim).sum::<usize>() + inventories(command)
}

fn inventories(command: &Command) -> usize {
    match command {
        Command::ReplaceInventories(it) => it.inventories.len(),
        Command::UpdateInventory(_) => 1,
        _ => 0,
    }
}

fn claims_of(command: &Command) -> &[ConsumerClaim] {
    match command {
        Command::Claim(claim) => &claim.consumers,
        _ => &[],
    }
}
