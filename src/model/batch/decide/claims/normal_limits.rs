//! Finds the classes of which a candidate would take more than the normal limit allows.

use crate::error::{Reason, ReasonCode};
use crate::model::batch::decide::allocations::{AllocationRequest, CheckedClaim};
use crate::model::batch::decide::limits;
use crate::model::batch::state::State;
use crate::mutants::{self, Mutant};

/// A class of a provider whose usage would exceed the normal limit.
pub struct OverNormal {
    /// Why the candidate is refused within the normal limits.
    pub reason: Reason,
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
        uuid,
        class_name,
    } = request;
    let limit = limits::of_class(state, class)?;
    let own = state.allocated(consumer, provider, class);
    let (at_first, later) = (state.call.before(provider, class), state.call.later(provider, class));
    let row = state.provider(provider)?;
    let normal = limit.of(row.inventories.get(&class)?);
    let before = row.used.get(&class).copied().unwrap_or(0);
    // A claim before may have taken the amounts of `later` already, so `before` may be above the usage to compare with.
    let unchanged = before - later;
    let others = unchanged - own;
    let after = others.saturating_add(amount);
    if after <= normal || after <= at_first.unwrap_or(before) {
        return None;
    }
    // The consumer's own allocations count as free.
    let free = normal.saturating_sub(others);
    let detail = format!(
        "{class_name} on resource provider {uuid} would exceed its normal limit: {amount} requested, {free} free within \
         it."
    );
    let reason = Reason {
        resource_provider: Some(uuid.to_owned()),
        provider_name: state.provider_name(uuid),
        resource_class: Some(class_name.to_owned()),
        requested: Some(amount),
        free: Some(free),
        ..Reason::new(ReasonCode::NoRoomNormal, detail)
    };
    let added = after.saturating_sub(normal.max(unchanged));
    Some(OverNormal { reason, added })
}
