//! Whether a candidate takes something new from a provider that is not up, or is below one that is not.

use crate::error::{Reason, ReasonCode};
use crate::model::allocations::ConsumerClaim;
use crate::model::batch::state::State;
use crate::mutants::{self, Mutant};
use crate::search::ProviderState;

/// Why the claim is refused because of a provider's state. What the consumer has there already is nothing new.
pub fn refused_state(state: &mut State, claim: &ConsumerClaim) -> Option<Reason> {
    if state.are_all_up() || mutants::is(Mutant::SkipState) {
        return None;
    }
    let own = state.consumer(&claim.consumer).allocations.clone();
    for (provider, resources) in &claim.allocations {
        let Some(id) = state.find_provider(provider) else {
            continue;
        };
        let its_state = state.provider_state(id);
        if its_state == ProviderState::Up {
            continue;
        }
        let new = resources.iter().find(|(class, amount)| {
            let class = state.class_id(class);
            let same = own
                .iter()
                .filter(|(its, its_class, _)| *its == id && Some(*its_class) == class);
            *amount > same.map(|(_, _, used)| used).sum()
        });
        if let Some((class, amount)) = new {
            return Some(reason(provider, its_state, class, *amount));
        }
    }
    None
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
