//! What a request about a workload learns from its plans that were refused, and when it ends.
//!
//! A refused plan is made again, because another command may have won. If the writer then refuses the same places for
//! the same reasons, and no claim has moved the generations of the providers in between, no race explains it. The
//! snapshot is compared with the tables once, and after that the refusal is the answer.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::{Set, found};
use crate::db::boot_instant::BootInstant;
use crate::error::{ClaimRefusal, Error, ReasonCode, Result};
use crate::model::Model;
use crate::model::allocations::Expected;
use crate::model::claims::{ClaimCandidate, Contradiction, Contradictions};
use crate::search::Snapshot;

/// The places of one plan.
pub struct Attempt {
    /// The consumers of new replicas, in natural order of their ids.
    new: Vec<String>,
    /// Consumers with the places that they were to get.
    places: Vec<(String, Arc<[ClaimCandidate]>)>,
    snapshot: Arc<Snapshot>,
}

impl Attempt {
    /// `snapshot` is the one on which it was planned.
    pub fn of(set: &Set, snapshot: Arc<Snapshot>) -> Attempt {
        let new = set.placed.iter().filter(|it| it.claim.generation == Expected::New);
        let places = set.placed.iter();
        Attempt {
            new: new.map(|it| it.claim.consumer.clone()).collect(),
            places: places
                .map(|it| (it.claim.consumer.clone(), Arc::clone(&it.candidates.list)))
                .collect(),
            snapshot,
        }
    }

    /// What the writer refused.
    fn refused(self, refusal: Arc<ClaimRefusal>) -> Refused {
        let reasons = refusal.consumers.iter().flat_map(|it| it.reasons.kept());
        let providers = reasons.filter_map(|it| self.snapshot.by_uuid(it.resource_provider.as_deref()?));
        let generations = providers.map(|slot| self.snapshot.generation(slot));
        Refused {
            generations: generations.collect(),
            places: self.places,
            refusal,
        }
    }
}

/// Places that were refused.
#[derive(PartialEq)]
struct Refused {
    places: Vec<(String, Arc<[ClaimCandidate]>)>,
    refusal: Arc<ClaimRefusal>,
    /// Of the providers that the reasons name, as the plan saw them. A claim moves them; a release does not.
    generations: Vec<i64>,
}

/// The plans of one request so far.
#[derive(Default)]
pub struct Attempts {
    /// What the rows contradicted in the last snapshot.
    pub contradictions: Contradictions,
    is_compared: bool,
    /// New consumers that were refused last, because something changed since the plan.
    existing: BTreeSet<String>,
    refused: Option<Refused>,
}

impl Attempts {
    /// Before a refusal is the answer: whether the plan has to be made again, because another program may have written
    /// what the snapshot does not show. Once in a request.
    pub async fn must_compare(&mut self, model: &Model, deadline: BootInstant) -> Result<bool> {
        if self.is_compared {
            return Ok(false);
        }
        self.is_compared = model.compare_before_refusal(deadline).await?;
        Ok(self.is_compared)
    }

    /// Notes that the writer refused a plan.
    ///
    /// # Errors
    /// The answer, if another plan cannot help.
    pub async fn note(
        &mut self,
        model: &Model,
        attempt: Attempt,
        refusal: Arc<ClaimRefusal>,
        deadline: BootInstant,
    ) -> Result<()> {
        let conflicting = conflicting(&refusal);
        let now = attempt.new.iter().filter(|it| conflicting.contains(it.as_str()));
        let now: Vec<String> = now.cloned().collect();
        // The workload was read again since, and has no such replica. So a consumer that exists is no race.
        let again: Vec<String> = now.iter().filter(|it| self.existing.contains(*it)).cloned().collect();
        let read = move |conn: &mut _| found::existing(conn, &again);
        if let Some(refusal) = model.reader(false).read(read).await? {
            return Err(refusal);
        }
        self.existing = now.into_iter().collect();
        // A replica has one candidate, so its own reasons name what may be shown wrongly.
        self.contradictions.refusals = refusal.consumers.iter().flat_map(Contradiction::of).collect();
        // Another generation of a consumer is a race.
        let refused = (!refusal.is_stale()).then(|| attempt.refused(Arc::clone(&refusal)));
        let is_repeated = refused.is_some() && refused == self.refused;
        self.refused = refused;
        if is_repeated && !self.must_compare(model, deadline).await? {
            return Err(Error::ClaimRefused(refusal));
        }
        Ok(())
    }
}

/// The consumers that were refused because something changed since the plan.
fn conflicting(refusal: &ClaimRefusal) -> BTreeSet<&str> {
    let conflicting = refusal
        .consumers
        .iter()
        .filter(|it| it.reasons.has(ReasonCode::ConcurrentUpdate));
    conflicting.map(|it| it.consumer.as_str()).collect()
}
