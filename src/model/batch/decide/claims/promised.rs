//! Keeps the usage before a call for several consumers, and the amounts released by later consumers of the call.

use crate::model::batch::call_usage::CallAmounts;
use crate::model::batch::state::State;
use crate::model::claims::ConsumerChoice;
use crate::mutants::{self, Mutant};

/// Keeps the usage of the providers on which these consumers have allocations, until the end of the call.
pub fn keep_usage<'a>(state: &mut State, consumers: impl Iterator<Item = &'a str>) {
    for consumer in consumers {
        for (provider, class, _) in state.consumer(consumer).allocations.clone() {
            let row = state.provider(provider);
            let used = row.and_then(|row| row.used.get(&class).copied());
            if let Some(used) = used {
                state.call.keep_before(provider, class, used);
            }
        }
    }
}

/// Adds the later releases of these consumers.
pub fn promise(state: &mut State, consumers: &[ConsumerChoice]) {
    for consumer in consumers {
        let amounts = released(state, consumer);
        if !amounts.is_empty() {
            state.call.promise(consumer.uuid(), &amounts);
        }
    }
}

/// Subtracts the amounts of a consumer whose claim comes now.
pub fn redeem(state: &mut State, consumer: &ConsumerChoice) {
    if state.call.take_promise(consumer.uuid()) && !mutants::is(Mutant::NeverRedeem) {
        let amounts = released(state, consumer);
        state.call.redeem(&amounts);
    }
}

/// The amounts of a consumer's release beyond the amounts of its candidate. Empty unless the consumer is required and
/// has a single candidate.
fn released(state: &mut State, consumer: &ConsumerChoice) -> CallAmounts {
    let mut amounts = CallAmounts::new();
    let mut candidates = consumer.candidates.in_order();
    let (Some((_, only)), None) = (candidates.next(), candidates.next()) else {
        return amounts;
    };
    if !consumer.is_required {
        return amounts;
    }
    for (provider, class, used) in &state.consumer(consumer.uuid()).allocations {
        *amounts.entry((*provider, *class)).or_insert(0) += used;
    }
    for (uuid, resources) in &only.allocations {
        for (name, amount) in resources {
            let key = state.find_provider(uuid).zip(state.class_id(name));
            if let Some(left) = key.and_then(|key| amounts.get_mut(&key)) {
                *left -= amount;
            }
        }
    }
    amounts.retain(|_, amount| *amount > 0);
    amounts
}
