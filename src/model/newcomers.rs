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

/// So many allocations are planned together at most: all of them are sent at once.
const PLANNED_MAX: usize = 10_000;

/// Whether no consumer is claimed for twice, for the second of two claims finds it there; and whether it is not too much.
pub fn may_share_a_plan(commands: &[&Command]) -> bool {
    let claims = || commands.iter().flat_map(|command| claims_of(command));
    let mut named = HashSet::new();
    let rows = |one: &ConsumerClaim| {
        one.allocations
            .iter()
            .map(|(_, resources)| resources.len())
            .sum::<usize>()
    };
    claims().map(rows).sum::<usize>() <= PLANNED_MAX && claims().all(|one| named.insert(one.consumer.as_str()))
}

fn claims_of(command: &Command) -> &[ConsumerClaim] {
    match command {
        Command::Claim(claim) => &claim.consumers,
        _ => &[],
    }
}
