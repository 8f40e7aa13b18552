//! What a request about a workload learns from its plans that were refused, and when it ends.
//!
//! A refused plan is made again, because another command may have won. If the writer then refuses the same places for the same
//! reasons, no race explains it. The snapshot is compared with the tables once, and after that the refusal is the answer.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::{Set, found};
use crate::db::boot_instant::BootInstant;
use crate::error::{ClaimRefusal, Error, ReasonCode, Result};
use crate::model::Model;
use crate::model::allocations::Expected;
use crate::model::claims::{ClaimCandidate, Contradiction};

/// The places of one plan.
pub struct Attempt {
    /// The consumers of new replicas, in natural order of their ids.
    new: Vec<String>,
    /// Consumers with the places that they were to get.
    places: Vec<(String, Arc<[ClaimCandidate]>)>,
}

impl Attempt {
    pub fn of(set: &Set) -> Attempt {
        let new = set.placed.iter().filter(|it| it.claim.generation == Expected::New);
        let places = set.placed.iter();
        Attempt {
            new: new.map(|it| it.claim.consumer.clone()).collect(),
            places: places
                .map(|it| (it.claim.consumer.clone(), Arc::clone(&it.candidates.list)))
                .collect(),
        }
    }
}

/// The plans of one request so far.
#[derive(Default)]
pub struct Attempts {
    /// What the rows contradicted in the last snapshot.
    pub contradictions: Vec<Contradiction>,
    is_compared: bool,
    /// New consumers that were refused last, because something changed since the plan.
    existing: BTreeSet<String>,
    refused: Option<(Attempt, Arc<ClaimRefusal>)>,
}

impl Attempts {
    /// Before a refusal is the answer: whether the plan has to be made again, because another program may have written what
    /// the snapshot does not show. Once in a request.
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
        if self.is_repeated(&attempt, &refusal) && !self.must_compare(model, deadline).await? {
            return Err(Error::ClaimRefused(refusal));
        }
        self.existing = now.into_iter().collect();
        self.contradictions = refusal.consumers.iter().flat_map(Contradiction::of).collect();
        self.refused = Some((attempt, refusal));
        Ok(())
    }

    /// Whether the last plan had the same places, and was refused for the same reasons. Another generation is a race.
    fn is_repeated(&self, attempt: &Attempt, refusal: &Arc<ClaimRefusal>) -> bool {
        let last = self.refused.as_ref();
        !refusal.is_stale() && last.is_some_and(|(last, why)| last.places == attempt.places && why == refusal)
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
