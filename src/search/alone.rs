//! Candidates that are one provider each: blocks are all that is looked at.

use std::sync::Arc;

use super::candidates::{Candidate, Placement, Settings};
use super::interrupt::Interrupt;
use super::observer::Observer;
use super::order::Walk;
use super::plan::Plan;
use super::regions::Regions;
use super::request::Request;
use super::scan;
use super::snapshot::{ClassId, Slot, Snapshot, lanes_of};

/// The candidates of one group that are single providers.
pub(super) struct Alone<O> {
    plan: Plan,
    walk: Walk,
    regions: Regions,
    /// The lanes of `block` whose turn it is.
    block: usize,
    lanes: u64,
    suffix: Arc<str>,
    interrupt: Interrupt,
    observer: O,
}

impl<O: Observer> Alone<O> {
    pub fn new(snapshot: &Snapshot, request: &Request, plan: Plan, settings: &Settings, observer: O) -> Self {
        Self {
            walk: Walk::to_providers(snapshot, plan.tree, settings.seed),
            regions: Regions::new(plan.tree),
            plan,
            block: 0,
            lanes: 0,
            suffix: request
                .groups
                .first()
                .map_or_else(|| Arc::from(""), |group| Arc::from(&*group.suffix)),
            interrupt: settings.interrupt.clone(),
            observer,
        }
    }

    pub fn next(&mut self, snapshot: &Snapshot) -> Option<Candidate> {
        while self.lanes == 0 {
            if self.interrupt.is_set() {
                return None;
            }
            let (plan, regions, observer) = (&self.plan, &mut self.regions, &mut self.observer);
            let fit = |block, lanes| {
                if regions.exclude::<O>(block, || snapshot.may_hold(block, &plan.amounts)) {
                    return 0;
                }
                scan::fitting(snapshot, plan, block, lanes, observer)
            };
            (self.block, self.lanes) = self.walk.next(fit)?;
        }
        let lane = lanes_of(self.lanes).next()?;
        self.lanes &= self.lanes - 1;
        let slot = Slot::new(self.block, lane);
        let placement = |&(class, amount): &(ClassId, i64)| Placement { slot, class, amount };
        Some(Candidate {
            placements: self.plan.amounts.iter().map(placement).collect(),
            mappings: vec![(self.suffix.clone(), slot.into())],
        })
    }
}
