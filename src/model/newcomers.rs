//! Claims of consumers that are said to be new: nothing of such a consumer has to be read, for its row can only be made where
//! there is none.

use std::collections::HashSet;

use super::allocations::{ConsumerClaim, Expected};
use super::command::Command;
use super::gather::UUID_MAX;

/// Whether a command is a claim, and its consumers are all said to be new.
pub fn are_all_it_claims_for(command: &Command) -> bool {
    match command {
        Command::Claim(claim) => claim.consumers.iter().all(is_new),
        _ => false,
    }
}

/// A name that the column does not hold MariaDB would cut to that of somebody else.
fn is_new(one: &ConsumerClaim) -> bool {
    one.generation == Expected::New && !one.allocations.is_empty() && one.consumer.chars().count() <= UUID_MAX
}

/// Whether no consumer is claimed for twice: the second of two claims finds it there.
pub fn are_named_once(commands: &[&Command]) -> bool {
    let mut named = HashSet::new();
    commands.iter().all(|command| match command {
        Command::Claim(claim) => claim.consumers.iter().all(|one| named.insert(one.consumer.as_str())),
        _ => false,
    })
}
