//! What of a search belongs into an answer: so many candidates, and the providers that its summaries show.

use std::ops::Deref;

use super::candidates::{Candidate, Candidates};
use super::observer::Observer;
use super::snapshot::{Bunch, Slot, Snapshot};
use crate::error::Result;

/// The candidates of an answer, one after the other. Of those that came only the providers are kept.
///
/// # Errors
/// Instead of the next candidate comes [`crate::error::Error::BadRequest`] where the search had to end before as many
/// were found as were asked for.
pub struct Selection<S, O> {
    candidates: Candidates<S, O>,
    /// How many more there may be.
    left: usize,
    ended: bool,
    cut: bool,
    /// Are whole trees shown, or only the providers of candidates?
    whole_trees: bool,
    seen: Seen,
    /// The providers that are shown, or the roots of their trees.
    used: Vec<Slot>,
}

impl<S: Deref<Target = Snapshot>, O: Observer> Selection<S, O> {
    pub(super) fn new(candidates: Candidates<S, O>, whole_trees: bool) -> Self {
        Self {
            left: candidates.most().0,
            ended: false,
            cut: false,
            whole_trees,
            seen: Seen::of(candidates.snapshot()),
            used: Vec::new(),
            candidates,
        }
    }

    /// After the last candidate: were there more than [`super::Settings::ceiling`] lets through?
    pub fn is_cut(&self) -> bool {
        self.cut
    }

    /// The providers that summaries must show, none twice: the whole trees of the providers that the candidates used so
    /// far, or those providers alone where the request knows no trees.
    pub fn into_summaries(self) -> Vec<Bunch> {
        let snapshot = self.candidates.snapshot();
        let mut all = Vec::new();
        for &slot in &self.used {
            if self.whole_trees {
                snapshot.near_tree(slot, &mut all);
            } else {
                Bunch::add(&mut all, slot.block(), slot.bit());
            }
        }
        all
    }

    fn note(&mut self, candidate: &Candidate) {
        let snapshot = self.candidates.snapshot();
        for placement in &candidate.placements {
            let slot = if self.whole_trees {
                snapshot.near_root(placement.slot)
            } else {
                placement.slot
            };
            if self.seen.first_time(slot) {
                self.used.push(slot);
            }
        }
    }

    fn end(&mut self) -> Result<()> {
        self.ended = true;
        let (_, by_ceiling) = self.candidates.most();
        self.cut = self.left == 0 && by_ceiling && self.candidates.next().is_some();
        if self.left > 0 {
            self.candidates.check_whole()?;
        }
        Ok(())
    }
}

impl<S: Deref<Target = Snapshot>, O: Observer> Iterator for Selection<S, O> {
    type Item = Result<Candidate>;

    fn next(&mut self) -> Option<Result<Candidate>> {
        if self.ended {
            return None;
        }
        let next = if self.left > 0 { self.candidates.next() } else { None };
        let Some(candidate) = next else {
            return self.end().err().map(Err);
        };
        self.left -= 1;
        self.note(&candidate);
        Some(Ok(candidate))
    }
}

/// A set of slots, a bit each.
struct Seen(Vec<u64>);

impl Seen {
    fn of(snapshot: &Snapshot) -> Self {
        Self(vec![0; snapshot.blocks().len()])
    }

    fn first_time(&mut self, slot: Slot) -> bool {
        let lanes = &mut self.0[slot.block()];
        let first = *lanes & slot.bit() == 0;
        *lanes |= slot.bit();
        first
    }
}
