//! Finds the classes of which a candidate would take more than the normal limit allows.

use super::requested::{RequestedAmount, requested_amounts};
use crate::model::allocations::ConsumerClaim;
use crate::model::batch::decide::limits;
use crate::model::batch::state::State;
use crate::mutants::{self, Mutant};

/// A class of a provider whose usage would exceed the normal limit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OverNormal {
    pub provider: String,
    pub class: String,
    pub requested: i64,
    /// The normal room for the consumer, whose own allocations count as free.
    pub free: i64,
    /// The growth of the excess over the limit.
    pub added: i64,
}

/// The classes that the claim would take beyond the normal limits. As with the capacity, an excess may stay if the
/// claim does not raise the usage.
pub fn over_normal(state: &mut State, claim: &ConsumerClaim) -> Vec<OverNormal> {
    if !limits::has_any(state) || mutants::is(Mutant::SkipNormalLimit) {
        return Vec::new();
    }
    let requested = requested_amounts(state, claim);
    let over = requested
        .iter()
        .filter_map(|requested| over_of_class(state, &claim.consumer, requested));
    over.collect()
}

fn over_of_class(state: &mut State, consumer: &str, requested: &RequestedAmount<'_>) -> Option<OverNormal> {
    let &RequestedAmount {
        id, class_id, amount, ..
    } = requested;
    let limit = limits::of_class(state, class_id)?;
    let own = state.allocated(consumer, id, class_id);
    let row = state.provider(id)?;
    let normal = limit.of(row.inventories.get(&class_id)?);
    let before = row.used.get(&class_id).copied().unwrap_or(0);
    let others = before - own;
    let after = others.saturating_add(amount);
    let over = OverNormal {
        provider: requested.provider.to_owned(),
        class: requested.class.to_owned(),
        requested: amount,
        free: normal.saturating_sub(others),
        added: after.saturating_sub(normal.max(before)),
    };
    (after > normal && after > before).then_some(over)
}
