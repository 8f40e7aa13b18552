//! The part of a search that an answer shows: a limited number of candidates, and the providers of its summaries.

use std::ops::Deref;

use super::candidate::Candidate;
use super::candidates::CandidateIter;
use super::shown_providers::ShownProviders;
use super::snapshot::{BlockSlots, Snapshot};
use crate::error::Result;

/// An iterator over the candidates of an answer. The iterator keeps no candidate, only the providers for the summaries.
///
/// # Errors
/// The last item is [`crate::error::Error::BadRequest`] if the search ended early and found fewer candidates than the
/// answer may hold.
pub struct Selection<S> {
    candidates: CandidateIter<S>,
    /// How many more candidates the answer may hold.
    remaining: usize,
    ended: bool,
    cut: bool,
    shown: ShownProviders,
}

impl<S: Deref<Target = Snapshot>> CandidateIter<S> {
    /// At most as many candidates as the request and the deployment allow, then the providers of the summaries.
    pub fn select(self) -> Selection<S> {
        Selection {
            remaining: self.max_candidates.0,
            ended: false,
            cut: false,
            shown: ShownProviders::new(&self.snapshot, self.whole_trees),
            candidates: self,
        }
    }
}

impl<S: Deref<Target = Snapshot>> Selection<S> {
    /// After the last candidate: whether [`super::SearchSettings::ceiling`] left out candidates.
    pub fn is_cut(&self) -> bool {
        self.cut
    }

    /// The providers that summaries must show: the providers of the candidates so far, each once.
    pub fn into_summaries(self) -> Vec<BlockSlots> {
        self.shown.into_blocks(&self.candidates.snapshot)
    }

    fn end(&mut self) -> Result<()> {
        self.ended = true;
        let (_, by_ceiling) = self.candidates.max_candidates;
        self.cut = self.remaining == 0 && by_ceiling && self.candidates.next().is_some();
        if self.remaining > 0 {
            self.candidates.check_complete()?;
        }
        Ok(())
    }
}

impl<S: Deref<Target = Snapshot>> Iterator for Selection<S> {
    type Item = Result<Candidate>;

    fn next(&mut self) -> Option<Result<Candidate>> {
        if self.ended {
            return None;
        }
        let next = (self.remaining > 0).then(|| self.candidates.next());
        let Some(candidate) = next.flatten() else {
            return self.end().err().map(Err);
        };
        self.remaining -= 1;
        self.shown.add(&self.candidates.snapshot, &candidate);
        Some(Ok(candidate))
    }
}
