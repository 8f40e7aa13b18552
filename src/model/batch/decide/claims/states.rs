//! Refuses new allocations from a provider if its own state, or the state of a provider above, is not up.

use crate::error::{Reason, ReasonCode};
use crate::model::batch::decide::allocations::{AllocationRequest, CheckedClaim};
use crate::model::batch::state::State;
use crate::mutants::{self, Mutant};
use crate::search::ProviderState;

/// The reason if a provider's state refuses the claim. The consumer's present amounts there are nothing new.
pub fn refused_state(state: &mut State, claim: &CheckedClaim<'_>) -> Option<Reason> {
    if state.are_all_up() || mutants::is(Mutant::SkipState) {
        return None;
    }
    claim.sums().into_iter().find_map(|request| {
        let AllocationRequest {
            consumer,
            uuid,
            class_name,
            ..
        } = request;
        let its_state = state.provider_state(request.provider);
        let is_new = request.amount > state.allocated(consumer, request.provider, request.class);
        let is_refused = is_new && its_state != ProviderState::Up;
        is_refused.then(|| Reason {
            resource_provider: Some(uuid.to_owned()),
            provider_name: state.provider_name(uuid),
            resource_class: Some(class_name.to_owned()),
            requested: Some(request.amount),
            ..Reason::new(ReasonCode::State, sentence(uuid, its_state.name()))
        })
    })
}

fn sentence(provider: &str, state: &str) -> String {
    format!("Resource provider {provider} is {state}, or is below one that is {state}: it gets nothing new.")
}
