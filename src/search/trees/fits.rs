//! Who could serve which kind of part, by block; looked at once, and only where somebody asks.

use super::super::observer::Observer;
use super::super::plan::Plan;
use super::super::scan;
use super::super::snapshot::Snapshot;
use super::ask::Ask;

/// A mask for each block and question. The questions are the kinds, and after them: who is itself inside the aggregates
/// of the group without a suffix?
pub(in crate::search) struct Fits<O> {
    questions: usize,
    inside: Option<Plan>,
    masks: Vec<u64>,
    known: Vec<bool>,
    observer: O,
}

impl<O: Observer> Fits<O> {
    pub fn new(snapshot: &Snapshot, ask: &Ask, observer: O) -> Self {
        let members = ask.whole.as_ref().map(|whole| whole.members.any_of.clone());
        let inside = members.filter(|any_of| !any_of.is_empty()).map(|any_of| {
            let mut plan = Plan::default();
            plan.members.any_of = any_of;
            plan
        });
        let questions = ask.kinds.len() + 1;
        let size = questions * snapshot.blocks().len();
        Self {
            questions,
            inside,
            masks: vec![0; size],
            known: vec![false; size],
            observer,
        }
    }

    /// Those who could serve a part of `kind` in some tree.
    pub fn of(&mut self, snapshot: &Snapshot, ask: &Ask, block: usize, kind: usize) -> u64 {
        let at = block * self.questions + kind;
        if !self.known[at] {
            let kind = &ask.kinds[kind];
            let lanes = match &kind.lanes {
                Some(lanes) => lanes.get(&block).copied().unwrap_or(0),
                None => u64::MAX,
            };
            self.masks[at] = scan::fitting(snapshot, &kind.plan, block, lanes, &mut self.observer);
            self.known[at] = true;
        }
        self.masks[at]
    }

    /// Those who are themselves inside the aggregates of the group without a suffix.
    pub fn inside(&mut self, snapshot: &Snapshot, block: usize) -> u64 {
        let Some(plan) = &self.inside else { return u64::MAX };
        let at = block * self.questions + self.questions - 1;
        if !self.known[at] {
            self.masks[at] = scan::fitting(snapshot, plan, block, u64::MAX, &mut ());
            self.known[at] = true;
        }
        self.masks[at]
    }
}
