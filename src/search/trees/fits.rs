//! Who could serve which kind of part, by block; looked at once, and only where somebody asks.

use std::collections::BTreeMap;

use super::super::observer::{Observer, Reason};
use super::super::plan::Plan;
use super::super::scan;
use super::super::snapshot::{Slot, Snapshot, lanes_of};
use super::ask::{Ask, Kind};

/// A mask for each block and question. The questions are the kinds, and after them: who is itself inside the aggregates
/// of the group without a suffix, and who is, or has a root that is?
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
        let questions = ask.kinds.len() + 2;
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
                None if kind.granular => u64::MAX,
                None => self.belonging(snapshot, block).unwrap_or(u64::MAX),
            };
            self.masks[at] = scan::fitting(snapshot, &kind.plan, block, lanes, &mut self.observer);
            self.known[at] = true;
        }
        self.masks[at]
    }

    /// Could this one serve a part of `kind`? Nobody beside it is looked at.
    pub fn one(&self, snapshot: &Snapshot, ask: &Ask, slot: Slot, kind: usize) -> bool {
        let Kind { plan, lanes, .. } = &ask.kinds[kind];
        let there = |lanes: &BTreeMap<usize, u64>| lanes.get(&slot.block()).copied().unwrap_or(0);
        let lanes = lanes.as_ref().map_or(u64::MAX, there);
        scan::fitting(snapshot, plan, slot.block(), lanes & slot.bit(), &mut ()) != 0
    }

    /// Is this one itself inside the aggregates of the group without a suffix?
    pub fn is_inside(&self, snapshot: &Snapshot, slot: Slot) -> bool {
        let inside = |plan: &Plan| scan::is_inside(snapshot, &plan.members, slot);
        self.inside.as_ref().is_none_or(inside)
    }

    /// Those who are themselves inside the aggregates of the group without a suffix.
    pub fn inside(&mut self, snapshot: &Snapshot, block: usize) -> u64 {
        let Some(plan) = &self.inside else { return u64::MAX };
        let at = block * self.questions + self.questions - 2;
        if !self.known[at] {
            self.masks[at] = scan::fitting(snapshot, plan, block, u64::MAX, &mut ());
            self.known[at] = true;
        }
        self.masks[at]
    }

    /// Those who are inside, and those whose root is: nobody else serves a part of that group. Where it names aggregates
    /// few do, and the others are not looked at. None where it names none.
    pub fn belonging(&mut self, snapshot: &Snapshot, block: usize) -> Option<u64> {
        self.inside.as_ref()?;
        let at = block * self.questions + self.questions - 1;
        if !self.known[at] {
            let inside = self.inside(snapshot, block);
            let layout = snapshot.layout(block);
            let mut lanes = lanes_of(inside).fold(inside, |lanes, lane| lanes | layout.trees[lane]);
            for lane in lanes_of(layout.strays & !inside) {
                let root = snapshot.root(Slot::new(block, lane));
                let belongs = self.inside(snapshot, root.block()) & root.bit() != 0;
                lanes |= u64::from(belongs) << lane;
            }
            if O::LISTENS {
                let others = snapshot.blocks().get(block).present & !lanes;
                lanes_of(others).for_each(|lane| self.observer.refused(Slot::new(block, lane), Reason::NotMember));
            }
            (self.masks[at], self.known[at]) = (lanes, true);
        }
        Some(self.masks[at])
    }
}
