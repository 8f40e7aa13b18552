//! Finds the classes of which a candidate would take more than the normal limit allows.

use crate::model::batch::decide::allocations::{AllocationRequest, CheckedClaim};
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
pub fn over_normal(state: &mut State, claim: &CheckedClaim<'_>) -> Vec<OverNormal> {
    if !limits::has_any(state) || mutants::is(Mutant::SkipNormalLimit) {
        return Vec::new();
    }
    let requests = claim.sums().into_iter();
    requests.filter_map(|request| over_of_class(state, request)).collect()
}

fn over_of_class(state: &mut State, request: AllocationRequest<'_>) -> Option<OverNormal> {
    let AllocationRequest {
        consumer,
        provider,
        class,
        amount,
        ..
    } = request;
    let limit = limits::of_class(state, class)?;
    let own = state.allocated(consumer, provider, class);
    let row = state.provider(provider)?;
    let normal = limit.of(row.inventories.get(&class)?);
    let before = row.used.get(&class).copied().unwrap_or(0);
    let others = before - own;
    let after = others.saturating_add(amount);
    let over = OverNormal {
        provider: request.uuid.to_owned(),
        class: request.class_name.to_owned(),
        requested: amount,
        free: normal.saturating_sub(others),
        added: after.saturating_sub(normal.max(before)),
    };
    (after > normal && after > before).then_some(over)
}
