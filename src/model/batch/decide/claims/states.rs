//! Refuses new allocations from a provider if its own state, or the state of a provider above, is not up.

use super::requested::requested_amounts;
use crate::error::{Reason, ReasonCode};
use crate::model::allocations::ConsumerClaim;
use crate::model::batch::state::State;
use crate::mutants::{self, Mutant};
use crate::search::ProviderState;

/// The reason if a provider's state refuses the claim. The consumer's present amounts there are nothing new.
pub fn refused_state(state: &mut State, claim: &ConsumerClaim) -> Option<Reason> {
    if state.are_all_up() || mutants::is(Mutant::SkipState) {
        return None;
    }
    let requested = requested_amounts(state, claim);
    requested.iter().find_map(|requested| {
        let its_state = state.provider_state(requested.id);
        let is_new = requested.amount > state.allocated(&claim.consumer, requested.id, requested.class_id);
        let is_refused = is_new && its_state != ProviderState::Up;
        is_refused.then(|| Reason {
            provider_name: state.provider_name(requested.provider),
            ..reason(requested.provider, its_state, requested.class, requested.amount)
        })
    })
}

fn reason(provider: &str, state: ProviderState, class: &str, requested: i64) -> Reason {
    let state = state.name();
    Reason {
        resource_provider: Some(provider.to_owned()),
        resource_class: Some(class.to_owned()),
        requested: Some(requested),
        ..Reason::new(
            ReasonCode::State,
            format!("Resource provider {provider} is {state}, or is below one that is {state}: it gets nothing new."),
        )
    }
}
