//! The rules of claims with a choice of candidates. Each consumer gets the first candidate that fits, as if the
//! consumer had claimed the candidates in order. A candidate fits within the normal limits, or if the purpose allows
//! within the capacity, and takes nothing new from a provider that is not up.
//!
//! If a required consumer gets no candidate, the whole call is refused. A consumer that is not required may be refused
//! alone, but on rows of the database: no refusal rests on the snapshot. A repeated call with an id claims nothing, and
//! gets the stored answer.
//!
//! A call for several consumers may keep a usage that is over a capacity, as `POST /allocations` may: the usage before
//! the call counts, and not the usage between two consumers (`call_usage`).
//!
//! Candidates with a held provider (`db::writer::held_rows`) are left out. If a refused consumer might get a place with
//! these candidates, [`State::waits_for_held`] is set. A consumer without a held candidate may wait too: a consumer
//! before it with a held candidate may have taken its place.

mod normal_limits;
mod promised;
mod states;

use std::sync::Arc;

use self::normal_limits::{OverNormal, over_normal};
pub use self::promised::keep_usage;
use self::states::refused_state;
use super::{Rules, allocations};
use crate::error::{ClaimRefusal, Error, Reason, ReasonCode, Reasons, RefusedConsumer, Result};
use crate::model::allocations::{Claim, ProviderShare};
use crate::model::batch::call_usage::CallUsage;
use crate::model::batch::command::{Load, Write};
use crate::model::batch::footprint::{Footprint, Reach};
use crate::model::batch::optimistic::is_new;
use crate::model::batch::state::State;
use crate::model::claims::{
    ClaimAnswer, ClaimCandidate, ClaimFirst, ClaimOutcome, ClaimedConsumer, ConsumerChoice, Limits,
};
use crate::mutants::{self, Mutant};

/// Claims for all required consumers, or for none.
impl Write for ClaimFirst {
    type Answer = ClaimAnswer;

    fn add_to<'a>(&'a self, footprint: &mut Footprint<'a>) {
        footprint.claim_ids.extend(self.memory.iter().map(|memory| memory.id()));
        footprint.add_choices(&self.consumers);
    }

    fn load(&self) -> Load {
        Load {
            rows: self.rows(),
            is_plannable: self.consumers.iter().all(|consumer| is_new(&consumer.claim)),
            reach: Reach::Claims,
            searched: self.searched,
        }
    }

    fn claimed_consumers(&self) -> Vec<&str> {
        self.consumers.iter().map(ConsumerChoice::uuid).collect()
    }

    /// # Errors
    /// - [`Error::ClaimRefused`], with the reasons of every consumer without a place.
    /// - [`Error::IdReused`] if a different call had the id.
    fn decide(&self, state: &mut State, rules: &Rules) -> Result<ClaimAnswer> {
        let Some(memory) = &self.memory else {
            return claim_all(state, rules, self).map(ClaimAnswer::Claimed);
        };
        let entry = state.own.answers.get(memory.id());
        if let Some(stored) = entry.and_then(|entry| entry.now.as_ref()) {
            return stored.repeated(&memory.call).map(ClaimAnswer::Repeated);
        }
        let outcomes = claim_all(state, rules, self)?;
        let entry = state.own.answers.entry(memory.id().clone()).or_default();
        entry.now = Some(memory.answer(&outcomes, rules.write_answer));
        Ok(ClaimAnswer::Claimed(outcomes))
    }
}

fn claim_all(state: &mut State, rules: &Rules, command: &ClaimFirst) -> Result<Arc<[ClaimOutcome]>> {
    // A single claim changes nothing before all checks.
    if command.consumers.len() > 1 {
        state.set_savepoint();
        keep_usage(state, command.consumers.iter().map(ConsumerChoice::uuid));
        promised::promise(state, &command.consumers);
    }
    let outcomes = claim_each(state, rules, &command.consumers).map(Arc::from);
    state.call = CallUsage::default();
    if outcomes.is_ok() {
        state.release_savepoint();
    } else if !mutants::is(Mutant::KeepLostGang) {
        state.roll_back();
    }
    outcomes
}

/// Claims for the consumers in order. If the whole call is refused, the caller undoes the claims.
///
/// # Errors
/// [`Error::ClaimRefused`] if a required consumer or every consumer gets no candidate, or if a refusal would rest on
/// the snapshot or on a held row.
pub fn claim_each(state: &mut State, rules: &Rules, consumers: &[ConsumerChoice]) -> Result<Vec<ClaimOutcome>> {
    // Whether a refused consumer, or a consumer before a refused consumer, has a held candidate.
    let mut waits = false;
    let mut taken = Vec::with_capacity(consumers.len());
    for consumer in consumers {
        promised::redeem(state, consumer);
        let outcome = take_first(state, rules, consumer);
        waits |= outcome.is_err() && state.waits_for_held;
        taken.push((consumer, outcome));
    }
    state.waits_for_held = waits;
    let refused = || taken.iter().filter(|(_, taken)| taken.is_err());
    let may_refuse_some = state.is_of_rows() && !state.waits_for_held && refused().count() < taken.len();
    if refused().any(|(consumer, _)| consumer.is_required || !may_refuse_some) {
        let mut reasons = refused().filter_map(|(_, taken)| taken.as_ref().err());
        state.waits_for_held &= !reasons.any(Reasons::concern_consumer);
        return Err(Error::ClaimRefused(Arc::new(refusal(taken))));
    }
    let outcome = |(consumer, taken): (&ConsumerChoice, std::result::Result<TakenCandidate, Reasons>)| {
        taken.map(|taken| claimed(state, consumer, taken))
    };
    Ok(taken.into_iter().map(outcome).collect())
}

fn refusal(taken: Vec<(&ConsumerChoice, std::result::Result<TakenCandidate, Reasons>)>) -> ClaimRefusal {
    let consumers = taken.into_iter().map(|(consumer, taken)| RefusedConsumer {
        consumer: consumer.claim.consumer.clone(),
        reasons: taken.err().unwrap_or_default(),
    });
    ClaimRefusal {
        consumers: consumers.collect(),
    }
}

/// The candidate that a consumer got.
struct TakenCandidate {
    /// The position in the consumer's list.
    index: usize,
    over_normal: Vec<String>,
}

/// Claims the first candidate within the normal limits. If there is none and the consumer may exceed the limits, claims
/// the candidate with the smallest excess.
///
/// # Errors
/// Why each candidate does not fit. A stale generation of the consumer is a reason without candidates, too.
fn take_first(
    state: &mut State,
    rules: &Rules,
    consumer: &ConsumerChoice,
) -> std::result::Result<TakenCandidate, Reasons> {
    if let Err(stale) = allocations::check_consumer(state, &consumer.claim) {
        return Err(Reason::new(ReasonCode::ConcurrentUpdate, stale.to_string()).into());
    }
    let held = Arc::clone(&state.held);
    let mut reasons = Reasons::default();
    // The smallest excess over the normal limits, with the index and the classes of the candidate.
    let mut least: Option<(i64, usize, Vec<OverNormal>)> = None;
    for (index, candidate) in consumer.candidates.in_order() {
        if candidate.names_any(&held) {
            state.waits_for_held = true;
            continue;
        }
        let claim = claim_of(consumer, candidate);
        let checked = match allocations::check(state, rules, &claim) {
            Ok(checked) => refused_state(state, &checked).map_or(Ok(checked), Err),
            Err(error) if reasons.count_unkept(code_of(&error).0) => continue,
            Err(error) => Err(reason(state, consumer, candidate, &error)),
        };
        let reason = match checked {
            Ok(checked) => {
                let over = over_normal(state, &checked);
                let Some(first) = over.first() else {
                    allocations::grant(state, rules, &claim, checked);
                    return Ok(TakenCandidate {
                        index,
                        over_normal: Vec::new(),
                    });
                };
                let reason = first.reason.clone();
                let added = over.iter().map(|over| over.added).fold(0, i64::saturating_add);
                if least.as_ref().is_none_or(|(least, ..)| added < *least) {
                    least = Some((added, index, over));
                }
                reason
            }
            Err(reason) => reason,
        };
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
    match least {
        Some((_, index, over)) if consumer.limits == Limits::NormalFirst => {
            take_over_normal(state, rules, consumer, index, over).ok_or(reasons)
        }
        _ => Err(reasons),
    }
}

fn claim_of(consumer: &ConsumerChoice, candidate: &ClaimCandidate) -> Claim {
    Claim {
        consumers: vec![consumer.claim_of(candidate)],
        names_consumer: false,
    }
}

/// Claims a candidate that fits only beyond the normal limits.
fn take_over_normal(
    state: &mut State,
    rules: &Rules,
    consumer: &ConsumerChoice,
    index: usize,
    over: Vec<OverNormal>,
) -> Option<TakenCandidate> {
    let claim = claim_of(consumer, &consumer.candidates.list[index]);
    let checked = allocations::check(state, rules, &claim).ok()?;
    allocations::grant(state, rules, &claim, checked);
    let mut over_normal: Vec<String> = over.into_iter().filter_map(|over| over.reason.resource_class).collect();
    over_normal.sort_unstable();
    over_normal.dedup();
    Some(TakenCandidate { index, over_normal })
}

/// The code of a refusal, with the provider and the class in question.
fn code_of(error: &Error) -> (ReasonCode, Option<&String>, Option<&String>) {
    match error {
        Error::CapacityExceeded { class, provider, .. } => (ReasonCode::NoRoom, Some(provider), Some(class)),
        Error::ConstraintsViolated { class, provider } => (ReasonCode::Units, Some(provider), Some(class)),
        // The error may name several providers or classes, separated by commas.
        Error::ClaimWithoutInventory { .. } => (ReasonCode::NoInventory, None, None),
        Error::ClaimProviderNotFound { uuid } => (ReasonCode::ProviderNotFound, Some(uuid), None),
        Error::ClaimClassNotFound { class, .. } => (ReasonCode::ClassNotFound, None, Some(class)),
        Error::ProviderGenerationLimit { provider } => (ReasonCode::ProviderGenerationLimit, Some(provider), None),
        // A claim has no further refusals.
        _ => (ReasonCode::ConsumerGenerationLimit, None, None),
    }
}

/// The reason why a candidate is refused, with the numbers behind the refusal.
fn reason(state: &mut State, consumer: &ConsumerChoice, candidate: &ClaimCandidate, error: &Error) -> Reason {
    let (code, mut provider, mut class) = code_of(error);
    if code == ReasonCode::NoInventory {
        (provider, class) = without_inventory(state, candidate).unzip();
    }
    let amounts = provider.zip(class);
    Reason {
        resource_provider: provider.cloned(),
        provider_name: provider.and_then(|uuid| state.provider_name(uuid)),
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

/// The provider's free capacity for the consumer. The consumer's own allocations count as free, and so do the amounts
/// that later consumers of the call release.
fn free(state: &mut State, consumer: &ConsumerChoice, provider: &str, class: &str) -> Option<i64> {
    let (provider, class) = (state.find_provider(provider)?, state.class_id(class)?);
    let own = state.allocated(consumer.uuid(), provider, class);
    let later = state.call.later(provider, class);
    let row = state.provider(provider)?;
    let used = row.used.get(&class).copied().unwrap_or(0);
    Some(row.inventories.get(&class)?.limit().saturating_sub(used - own - later))
}

/// The place of a consumer, with the generations after the whole call.
fn claimed(state: &mut State, consumer: &ConsumerChoice, taken: TakenCandidate) -> ClaimedConsumer {
    let candidate = &consumer.candidates.list[taken.index];
    let generation = state.consumer(&consumer.claim.consumer).now.as_ref();
    ClaimedConsumer {
        consumer: consumer.claim.consumer.clone(),
        candidate: taken.index,
        over_normal: taken.over_normal,
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
        name: row.map(|row| Arc::clone(&row.name)),
        generation: row.map_or(0, |row| row.generation),
        resources: resources
            .iter()
            .map(|(class, amount)| (class.as_str().into(), *amount))
            .collect(),
    }
}
