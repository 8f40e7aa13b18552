//! The part of a search that an answer shows: a limited number of candidates, and the providers of its summaries.

use std::ops::Deref;

use super::candidates::{Candidate, Candidates};
use super::explain::Explain;
use super::snapshot::{BlockSlots, Slot, Snapshot};
use crate::error::Result;

/// An iterator over the candidates of an answer. It keeps no candidate, only their providers, for the summaries.
///
/// # Errors
/// The last item is [`crate::error::Error::BadRequest`] if the search ended early and found fewer candidates than the
/// answer may hold.
pub struct Selection<S, E> {
    candidates: Candidates<S, E>,
    /// How many more candidates the answer may hold.
    remaining: usize,
    ended: bool,
    cut: bool,
    /// Whether summaries show whole trees, or only the providers of candidates.
    whole_trees: bool,
    /// The providers that summaries show, or the roots of their trees: as a set, and in the order in which they came.
    shown_set: SlotSet,
    shown: Vec<Slot>,
}

impl<S: Deref<Target = Snapshot>, E: Explain> Selection<S, E> {
    pub(super) fn new(candidates: Candidates<S, E>, whole_trees: bool) -> Self {
        Self {
            remaining: candidates.max_candidates().0,
            ended: false,
            cut: false,
            whole_trees,
            shown_set: SlotSet::new(candidates.snapshot()),
            shown: Vec::new(),
            candidates,
        }
    }

    /// After the last candidate: whether [`super::SearchSettings::ceiling`] left some out.
    pub fn is_cut(&self) -> bool {
        self.cut
    }

    /// The providers that summaries must show, each once: the whole trees of the providers that candidates used so far,
    /// or these providers alone if the request does not know trees.
    pub fn into_summaries(self) -> Vec<BlockSlots> {
        let snapshot = self.candidates.snapshot();
        let mut all = Vec::new();
        for &slot in &self.shown {
            if self.whole_trees {
                snapshot.cached_tree(slot, &mut all);
            } else {
                BlockSlots::add(&mut all, slot.block(), slot.bit());
            }
        }
        all
    }

    fn show(&mut self, candidate: &Candidate) {
        let snapshot = self.candidates.snapshot();
        for placement in &candidate.placements {
            let slot = if self.whole_trees {
                snapshot.cached_root(placement.slot)
            } else {
                placement.slot
            };
            if self.shown_set.insert(slot) {
                self.shown.push(slot);
            }
        }
    }

    fn end(&mut self) -> Result<()> {
        self.ended = true;
        let (_, by_ceiling) = self.candidates.max_candidates();
        self.cut = self.remaining == 0 && by_ceiling && self.candidates.next().is_some();
        if self.remaining > 0 {
            self.candidates.check_complete()?;
        }
        Ok(())
    }
}

impl<S: Deref<Target = Snapshot>, E: Explain> Iterator for Selection<S, E> {
    type Item = Result<Candidate>;

    fn next(&mut self) -> Option<Result<Candidate>> {
        if self.ended {
            return None;
        }
        let next = if self.remaining > 0 {
            self.candidates.next()
        } else {
            None
        };
        let Some(candidate) = next else {
            return self.end().err().map(Err);
        };
        self.remaining -= 1;
        self.show(&candidate);
        Some(Ok(candidate))
    }
}

/// A set of slots, as a bitmap.
struct SlotSet(Vec<u64>);

impl SlotSet {
    fn new(snapshot: &Snapshot) -> Self {
        Self(vec![0; snapshot.blocks().len()])
    }

    /// Adds a slot. False if the set has it already.
    fn insert(&mut self, slot: Slot) -> bool {
        let lanes = &mut self.0[slot.block()];
        let is_new = *lanes & slot.bit() == 0;
        *lanes |= slot.bit();
        is_new
    }
}
