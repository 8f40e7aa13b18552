//! The rule of claims with a choice: each consumer gets the first of its candidates that fits, as if it had claimed them
//! one after the other. If one consumer gets none, the whole call is refused. A call with an id that was answered before
//! claims nothing, and gets the same answer.

use std::sync::Arc;

use super::{Rules, allocations};
use crate::error::{ClaimRefusal, Error, Reason, ReasonCode, Reasons, RefusedConsumer, Result};
use crate::model::allocations::{Claim, ProviderShare};
use crate::model::batch::state::{AnswerEntry, State};
use crate::model::claims::{ClaimAnswer, ClaimCandidate, ClaimFirst, ClaimedConsumer, ConsumerChoice};
use crate::mutants::{self, Mutant};

/// Claims for all consumers, or for none.
///
/// # Errors
/// - [`Error::ClaimRefused`], with the reasons of every consumer that gets no place.
/// - [`Error::IdReused`] if another call had the id.
pub fn claim_first(state: &mut State, rules: &Rules, command: &ClaimFirst) -> Result<ClaimAnswer> {
    let Some(memory) = &command.memory else {
        return claim_all(state, rules, command).map(ClaimAnswer::Claimed);
    };
    if let Some(entry) = state.answers.get(memory.id()) {
        return entry.stored.repeated(&memory.call).map(ClaimAnswer::Repeated);
    }
    let claimed = claim_all(state, rules, command)?;
    let answer = AnswerEntry {
        stored: memory.answer(&claimed),
        is_new: true,
    };
    state.answers.insert(memory.id().clone(), answer);
    Ok(ClaimAnswer::Claimed(claimed))
}

fn claim_all(state: &mut State, rules: &Rules, command: &ClaimFirst) -> Result<Arc<[ClaimedConsumer]>> {
    // A single claim checks everything before it changes anything.
    if command.consumers.len() > 1 {
        state.set_savepoint();
    }
    let consumers = command.consumers.iter();
    let taken: Vec<_> = consumers
        .map(|consumer| (consumer, take_first(state, rules, consumer)))
        .collect();
    if taken.iter().any(|(_, taken)| taken.is_err()) {
        if !mutants::is(Mutant::KeepLostGang) {
            state.roll_back();
        }
        return Err(Error::ClaimRefused(Arc::new(refusal(taken))));
    }
    state.release_savepoint();
    let granted = taken
        .into_iter()
        .filter_map(|(consumer, taken)| Some((consumer, taken.ok()?)));
    Ok(granted
        .map(|(consumer, candidate)| claimed(state, consumer, candidate))
        .collect())
}

fn refusal(taken: Vec<(&ConsumerChoice, std::result::Result<usize, Reasons>)>) -> ClaimRefusal {
    let consumers = taken.into_iter().map(|(consumer, taken)| RefusedConsumer {
        consumer: consumer.claim.consumer.clone(),
        reasons: taken.err().unwrap_or_default(),
    });
    ClaimRefusal {
        consumers: consumers.collect(),
    }
}

/// Claims the first candidate that fits, and returns its index.
///
/// # Errors
/// Why each of them does not fit. That the consumer has another generation is a reason without candidates, too.
fn take_first(state: &mut State, rules: &Rules, consumer: &ConsumerChoice) -> std::result::Result<usize, Reasons> {
    if let Err(stale) = allocations::check_consumer(state, &consumer.claim) {
        return Err(Reason::new(ReasonCode::ConcurrentUpdate, stale.to_string()).into());
    }
    let mut reasons = Reasons::default();
    for (index, candidate) in consumer.candidates.in_order() {
        let claim = Claim {
            consumers: vec![consumer.claim_of(candidate)],
            names_consumer: false,
        };
        let Err(error) = allocations::claim(state, rules, &claim) else {
            return Ok(index);
        };
        let reason = reason(state, consumer, candidate, &error);
        if reason.code.concerns_consumer() {
            return Err(reason.into());
        }
        reasons.add(Reason {
            candidate: Some(index),
            ..reason
        });
        if mutants::is(Mutant::FirstCandidateOnly) {
            break;
        }
    }
    Err(reasons)
}

/// The refusal of a candidate, with the numbers that it rests on.
fn reason(state: &mut State, consumer: &ConsumerChoice, candidate: &ClaimCandidate, error: &Error) -> Reason {
    let (code, provider, class) = match error {
        Error::CapacityExceeded { class, provider, .. } => (ReasonCode::NoRoom, Some(provider), Some(class)),
        Error::ConstraintsViolated { class, provider } => (ReasonCode::Units, Some(provider), Some(class)),
        // The error may name several, separated by commas.
        Error::ClaimWithoutInventory { .. } => {
            let missing = without_inventory(state, candidate);
            (
                ReasonCode::NoInventory,
                missing.map(|(uuid, _)| uuid),
                missing.map(|(_, class)| class),
            )
        }
        Error::ClaimProviderNotFound { uuid } => (ReasonCode::ProviderNotFound, Some(uuid), None),
        Error::ClaimClassNotFound { class, .. } => (ReasonCode::ClassNotFound, None, Some(class)),
        Error::ProviderGenerationLimit { provider } => (ReasonCode::ProviderGenerationLimit, Some(provider), None),
        // A claim has no other refusal.
        _ => (ReasonCode::ConsumerGenerationLimit, None, None),
    };
    let amounts = provider.zip(class);
    Reason {
        resource_provider: provider.cloned(),
        resource_class: class.cloned(),
        requested: amounts.and_then(|(provider, class)| requested(candidate, provider, class)),
        free: amounts.and_then(|(provider, class)| free(state, consumer, provider, class)),
        ..Reason::new(code, error.to_string())
    }
}

/// The first provider and class of a candidate without an inventory.
fn without_inventory<'a>(state: &mut State, candidate: &'a ClaimCandidate) -> Option<(&'a String, &'a String)> {
    let pairs = candidate.allocations.iter();
    let mut pairs = pairs.flat_map(|(uuid, resources)| resources.iter().map(move |(class, _)| (uuid, class)));
    pairs.find(|(uuid, class)| {
        let row = state.find_provider(uuid).zip(state.class_id(class));
        let has = |(provider, class)| {
            let row = state.provider(provider);
            row.is_some_and(|row| row.inventories.contains_key(&class))
        };
        !row.is_some_and(has)
    })
}

fn requested(candidate: &ClaimCandidate, provider: &str, class: &str) -> Option<i64> {
    let (_, resources) = candidate.allocations.iter().find(|(uuid, _)| uuid == provider)?;
    resources
        .iter()
        .find(|(name, _)| name == class)
        .map(|(_, amount)| *amount)
}

/// The room of a provider for this consumer, whose own allocations count as free.
fn free(state: &mut State, consumer: &ConsumerChoice, provider: &str, class: &str) -> Option<i64> {
    let (provider, class) = (state.find_provider(provider)?, state.class_id(class)?);
    let allocations = &state.consumer(&consumer.claim.consumer).allocations;
    let own: i64 = allocations
        .iter()
        .filter(|(its_provider, its_class, _)| (*its_provider, *its_class) == (provider, class))
        .map(|(_, _, used)| used)
        .sum();
    let row = state.provider(provider)?;
    let used = row.used.get(&class).copied().unwrap_or(0);
    Some(row.inventories.get(&class)?.limit().saturating_sub(used - own))
}

/// What a consumer got, with the generations that the whole call left.
fn claimed(state: &mut State, consumer: &ConsumerChoice, index: usize) -> ClaimedConsumer {
    let candidate = &consumer.candidates.list[index];
    let generation = state.consumer(&consumer.claim.consumer).now.as_ref();
    ClaimedConsumer {
        consumer: consumer.claim.consumer.clone(),
        candidate: index,
        mappings: candidate.mappings.clone(),
        generation: generation.map_or(0, |row| row.generation),
        providers: candidate
            .allocations
            .iter()
            .map(|(uuid, resources)| share(state, uuid, resources))
            .collect(),
    }
}

fn share(state: &mut State, uuid: &str, resources: &[(String, i64)]) -> ProviderShare {
    let provider = state.find_provider(uuid);
    let row = provider.and_then(|id| state.provider(id));
    ProviderShare {
        provider: uuid.into(),
        generation: row.map_or(0, |row| row.generation),
        resources: resources
            .iter()
            .map(|(class, amount)| (class.as_str().into(), *amount))
            .collect(),
    }
}
