//! The rules of workloads. A request is decided in three steps:
//!
//! 1. Compare the rows with the plan: the workload, its consumers, the workloads tied by rules in either direction, the
//!    states of lost hosts, and the domains of the hosts.
//! 2. Release the replicas that leave, and the allocations of replicas that get a new place, so that replicas may take
//!    this room.
//! 3. Place the replicas as by any claim, all or none.

use std::sync::Arc;

use super::{Rules, claims};
use crate::error::{ClaimRefusal, Error, Reason, ReasonCode, RefusedConsumer, Result};
use crate::model::allocations::Expected;
use crate::model::batch::call_usage::CallUsage;
use crate::model::batch::command::{Load, Write};
use crate::model::batch::footprint::{Footprint, Reach};
use crate::model::batch::optimistic::is_new;
use crate::model::batch::own_rows::WorkloadRows;
use crate::model::batch::state::State;
use crate::model::claims::ConsumerChoice;
use crate::model::workloads::{Incarnation, Neighbour, Set, SetAnswer, WorkloadRow};
use crate::mutants::{self, Mutant};
use crate::search::{ProviderId, ProviderState};

/// `PUT` and `DELETE /v1/workloads/{uuid}`. Decided as claims and releases are.
impl Write for Set {
    type Answer = SetAnswer;

    fn add_to<'a>(&'a self, footprint: &mut Footprint<'a>) {
        footprint.workloads.insert(&self.uuid);
        let tied = self.neighbours.iter().chain(&self.referrers);
        footprint.neighbours.extend(tied.map(|it| it.uuid.as_str()));
        footprint
            .workload_names
            .extend(self.row.iter().map(|row| row.name.as_str()));
        footprint.adopted.extend(self.adopted.iter().map(String::as_str));
        let standing = self.standing.iter().map(|(consumer, _)| consumer.as_str());
        let released = self.released.iter().map(|(consumer, _)| consumer.as_str());
        footprint.consumers.extend(standing.chain(released));
        footprint.providers.extend(self.lost.iter().map(|it| it.host.as_str()));
        footprint.needs_states |= !self.lost.is_empty();
        let hosts = self.hosts.iter().map(|it| it.host.as_str());
        footprint.providers.extend(hosts.clone());
        footprint.compared_hosts.extend(hosts);
        footprint.add_choices(&self.placed);
    }

    fn load(&self) -> Load {
        Load {
            rows: self.rows(),
            is_plannable: is_new_workload(self),
            reach: Reach::Claims,
            searched: None,
        }
    }

    fn claimed_consumers(&self) -> Vec<&str> {
        self.placed.iter().map(ConsumerChoice::uuid).collect()
    }

    /// # Errors
    /// - [`Error::StaleGeneration`], [`Error::DuplicateWorkload`], [`Error::ConsumerTaken`].
    /// - [`Error::ClaimRefused`] if a replica gets no place, or if the rows differ from the plan: the caller plans
    ///   again.
    fn decide(&self, state: &mut State, rules: &Rules) -> Result<SetAnswer> {
        let current = state.workload(&self.uuid);
        let (generation, named) = (current.map(|row| row.generation), current.map_or(0, |row| row.named));
        if generation != self.known {
            return Err(Error::stale_generation(
                format!("Workload {}", self.uuid),
                generation,
                self.known,
            ));
        }
        if generation.is_some() && Incarnation::of(named) != Incarnation::of(self.named) {
            return Err(created_again(self));
        }
        check_names(state, self)?;
        check_consumers(state, self)?;
        check_neighbours(state, self, named)?;
        check_lost(state, self)?;
        let unclaimed = check_hosts(state, self)?;
        let moves = state.check_moves(unclaimed)?;
        let claimed = claim(state, rules, self)?;
        state.move_generations(moves);
        let now = self.row.clone().map(|row| WorkloadRows {
            row: WorkloadRow {
                named: generation.map_or(row.named, |_| named),
                ..*row
            },
            replicas: self.replicas.clone(),
            neighbours: self.neighbours.iter().map(|it| it.uuid.clone()).collect(),
        });
        state.set_workload(&self.uuid, now);
        if !mutants::is(Mutant::SkipNeighbours) {
            let tied = self.neighbours.iter().chain(&self.referrers);
            tied.for_each(|it| state.note_named(&it.uuid));
        }
        Ok(claimed)
    }
}

/// Whether the plan found neither the workload nor the consumers of its replicas. Workloads that are tied by rules have
/// guards only inside the transaction.
fn is_new_workload(set: &Set) -> bool {
    // The consumers of replicas without a place may exist: the plan does not know.
    let is_untied = set.neighbours.is_empty() && set.referrers.is_empty();
    let is_alone = is_untied && set.standing.is_empty() && set.released.is_empty();
    set.known.is_none() && is_alone && set.placed.iter().all(|replica| is_new(&replica.claim))
}

/// Releases the replicas that leave, and claims for the replicas that get a place: all or none.
fn claim(state: &mut State, rules: &Rules, set: &Set) -> Result<SetAnswer> {
    state.set_savepoint();
    let consumers = set.released.iter().map(|(consumer, _)| consumer.as_str());
    claims::keep_usage(state, consumers.chain(set.placed.iter().map(ConsumerChoice::uuid)));
    for (consumer, _) in &set.released {
        state.release_allocations(consumer);
        state.consumer(consumer).now = None;
    }
    give_back(state, &set.placed);
    let outcomes = claims::claim_each(state, rules, &set.placed);
    state.call = CallUsage::default();
    match outcomes {
        Ok(outcomes) => {
            state.release_savepoint();
            Ok(outcomes.into_iter().filter_map(std::result::Result::ok).collect())
        }
        Err(refused) => {
            state.roll_back();
            Err(refused)
        }
    }
}

/// Releases the allocations of consumers that get a new place, as the plan did. The consumers' rows stay, because the
/// claims compare the generations.
fn give_back(state: &mut State, placed: &[ConsumerChoice]) {
    let has_row = |it: &&ConsumerChoice| matches!(it.claim.generation, Expected::Is(_));
    for choice in placed.iter().filter(has_row) {
        state.release_allocations(&choice.claim.consumer);
    }
}

/// Refuses a name that is taken in the project, and consumers of a different workload.
fn check_names(state: &State, set: &Set) -> Result<()> {
    let known = &state.own.workload_names;
    if let Some(row) = &set.row
        && let Some(other) = known.names.get(&(row.project.clone(), row.name.clone()))
        && *other != set.uuid
    {
        return Err(Error::DuplicateWorkload { name: row.name.clone() });
    }
    let mut taken = set.adopted.iter();
    let taken = taken.find_map(|consumer| Some((consumer, known.taken.get(consumer)?)));
    match taken.filter(|(_, workload)| **workload != set.uuid) {
        Some((consumer, workload)) => Err(Error::ConsumerTaken {
            consumer: consumer.clone(),
            workload: workload.clone(),
        }),
        None => Ok(()),
    }
}

/// Checks the workloads tied to this workload by rules. If replicas get a place, no tied workload has changed since the
/// plan. If this workload is deleted, no rule has begun to name it. In any case a workload that the rules name still
/// exists, if the plan saw the workload.
fn check_neighbours(state: &State, set: &Set, named: i64) -> Result<()> {
    let now = |uuid: &str| {
        let row = state.workload(uuid);
        row.map_or_else(|| Neighbour::missing(uuid), Neighbour::of)
    };
    let mut tied = set.neighbours.iter().chain(&set.referrers);
    let are_known = named == set.named && tied.all(|known| now(&known.uuid) == *known);
    let is_gone = |known: &Neighbour| known.generation.is_some() && now(&known.uuid).generation.is_none();
    let rests_on_them = !set.placed.is_empty() || set.row.is_none();
    let has_changed = rests_on_them && !are_known || set.neighbours.iter().any(is_gone);
    if !has_changed || mutants::is(Mutant::SkipNeighbours) {
        return Ok(());
    }
    let detail = "A workload to which a rule ties this one has changed.".to_owned();
    let placed = set.placed.iter().map(|choice| &choice.claim.consumer);
    let consumers = placed.chain(set.released.iter().map(|(consumer, _)| consumer));
    Err(changed(consumers, &Reason::new(ReasonCode::ConcurrentUpdate, detail)))
}

/// Checks that every host is in the domains of the plan. A change of domains moves the generations of the host and of
/// all providers below, which a claim guards. Returns the hosts without a claim: their generations move as a guard.
fn check_hosts(state: &mut State, set: &Set) -> Result<Vec<ProviderId>> {
    let mut unclaimed = Vec::new();
    for planned in &set.hosts {
        // A deleted host refuses the claim.
        let Some(id) = state.find_provider(&planned.host) else {
            continue;
        };
        let mut domains = planned.domains.iter();
        let has_moved = domains.any(|(dimension, path)| state.domain(id, dimension) != *path);
        if has_moved && !mutants::is(Mutant::SkipDomains) {
            let detail = format!("The domains of host {} have changed.", planned.host);
            let reason = Reason {
                resource_provider: Some(planned.host.clone()),
                provider_name: state.provider_name(&planned.host),
                ..Reason::new(ReasonCode::ConcurrentUpdate, detail)
            };
            let consumers = set.placed.iter().map(|choice| &choice.claim.consumer);
            return Err(changed(consumers, &reason));
        }
        unclaimed.extend(planned.is_unclaimed.then_some(id));
    }
    Ok(unclaimed)
}

/// Checks that hosts whose replicas give up their places have not come back since the plan.
fn check_lost(state: &mut State, set: &Set) -> Result<()> {
    for planned in &set.lost {
        let Some(id) = state.find_provider(&planned.host) else {
            continue;
        };
        let now = state.provider_state(id);
        if now == planned.state || now == ProviderState::Lost {
            continue;
        }
        let detail = format!("Host {} is {} again.", planned.host, now.name());
        let reason = Reason {
            resource_provider: Some(planned.host.clone()),
            provider_name: state.provider_name(&planned.host),
            ..Reason::new(ReasonCode::ConcurrentUpdate, detail)
        };
        let placed = set.placed.iter().map(|choice| &choice.claim.consumer);
        let consumers = placed.chain(set.released.iter().map(|(consumer, _)| consumer));
        return Err(changed(consumers, &reason));
    }
    Ok(())
}

/// The refusal if the workload was deleted and created again. Both workloads had the same uuid and generation, and the
/// consumers' generations may be equal too.
fn created_again(set: &Set) -> Error {
    let detail = format!("Workload {} was deleted and created again.", set.uuid);
    let placed = set.placed.iter().map(|choice| &choice.claim.consumer);
    let standing = set.standing.iter().map(|(consumer, _)| consumer);
    let released = set.released.iter().map(|(consumer, _)| consumer);
    let consumers = placed.chain(standing).chain(released);
    changed(consumers, &Reason::new(ReasonCode::ConcurrentUpdate, detail))
}

/// The refusal of these consumers, because something changed since the plan.
fn changed<'a>(consumers: impl Iterator<Item = &'a String>, reason: &Reason) -> Error {
    let refused = consumers.map(|consumer| RefusedConsumer {
        consumer: consumer.clone(),
        reasons: reason.clone().into(),
    });
    Error::ClaimRefused(Arc::new(ClaimRefusal {
        consumers: refused.collect(),
    }))
}

/// Checks the generations of consumers that stay or go against the plan.
fn check_consumers(state: &mut State, set: &Set) -> Result<()> {
    let released = set.released.iter().map(|(consumer, known)| (consumer, Some(*known)));
    let standing = set.standing.iter().map(|(consumer, known)| (consumer, *known));
    let mut moved = Vec::new();
    for (consumer, known) in standing.chain(released) {
        let row = state.consumer(consumer).now.as_ref();
        // A consumer of a foreign project is no longer a replica.
        let row = row.filter(|row| set.row.as_ref().is_none_or(|workload| workload.project == row.project));
        let current = row.map(|row| row.generation);
        if current != known {
            let detail = format!("Another client changed the allocations of consumer {consumer}.");
            moved.push(RefusedConsumer {
                consumer: consumer.clone(),
                reasons: Reason::new(ReasonCode::ConcurrentUpdate, detail).into(),
            });
        }
    }
    if moved.is_empty() {
        return Ok(());
    }
    Err(Error::ClaimRefused(Arc::new(ClaimRefusal { consumers: moved })))
}
