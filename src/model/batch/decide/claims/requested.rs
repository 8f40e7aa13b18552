//! The amounts that a claim requests of each provider and class.

use std::collections::BTreeMap;

use crate::model::allocations::ConsumerClaim;
use crate::model::batch::state::State;
use crate::search::{ClassId, ProviderId};

/// The amount of a class of a provider. On MariaDB a claim may name a provider in several spellings. The amount is the
/// sum of these requests, under the names of the first.
pub struct RequestedAmount<'a> {
    pub id: ProviderId,
    pub class_id: ClassId,
    pub provider: &'a str,
    pub class: &'a str,
    pub amount: i64,
}

/// The amounts in the order of the claim. Providers and classes that do not exist are left out.
pub fn requested_amounts<'a>(state: &State, claim: &'a ConsumerClaim) -> Vec<RequestedAmount<'a>> {
    let (mut all, mut known): (Vec<RequestedAmount<'a>>, BTreeMap<_, usize>) = (Vec::new(), BTreeMap::new());
    for (provider, resources) in &claim.allocations {
        let Some(id) = state.find_provider(provider) else {
            continue;
        };
        for (class, amount) in resources {
            let Some(class_id) = state.class_id(class) else {
                continue;
            };
            let at = *known.entry((id, class_id)).or_insert_with(|| {
                all.push(RequestedAmount {
                    id,
                    class_id,
                    provider,
                    class,
                    amount: 0,
                });
                all.len() - 1
            });
            all[at].amount = all[at].amount.saturating_add(*amount);
        }
    }
    all
}
