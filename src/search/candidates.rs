//! `GET /allocation_candidates`: where a request could go, found one by one.

use std::sync::Arc;

use super::limits;
use super::observer::Observer;
use super::order::Walk;
use super::plan::{self, Plan};
use super::request::Request;
use super::scan;
use super::snapshot::{ClassId, Slot, Snapshot, lanes_of};
use crate::error::Result;

/// What a deployment sets for all requests.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// Of the order in which the cloud is searched: one of the process, or, where candidates are to be randomized, a
    /// new one for each request. The same seed over the same version gives the same candidates in the same order.
    pub seed: u64,
    /// `[placement] max_allocation_candidates`; none where that is -1. Zero still gives one candidate, as in
    /// OpenStack Placement.
    pub max: Option<usize>,
    /// `[placet] strict_step_size`, `strict` of [`super::snapshot::Inventory::allows_amount`].
    pub strict_step: bool,
}

/// A way to serve a request: one claim that would be granted at that moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Candidate {
    /// No provider and class twice.
    pub placements: Vec<Placement>,
    /// For each group by its suffix the providers that serve it, none twice.
    pub mappings: Vec<(Arc<str>, Vec<Slot>)>,
}

/// An amount of one class from one provider.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Placement {
    pub slot: Slot,
    pub class: ClassId,
    pub amount: i64,
}

/// The whole of an answer.
#[derive(Clone, Debug, Default)]
pub struct Found {
    pub candidates: Vec<Candidate>,
    /// The providers that summaries must show, none twice: the whole trees of the candidates' providers, or those
    /// providers alone where the request knows no trees.
    pub summaries: Vec<Slot>,
}

/// The candidates of a request, one after the other, all of them: nothing is searched before it is asked for. What
/// filters, scores or stops is put on top, as [`Candidates::found`] is.
pub struct Candidates<'a, O> {
    snapshot: &'a Snapshot,
    /// None where nobody can match.
    plan: Option<Plan>,
    walk: Walk,
    /// The lanes of `block` whose turn it is.
    block: usize,
    lanes: u64,
    suffix: Arc<str>,
    nested: bool,
    limit: usize,
    observer: O,
}

/// Begins the search for `request` in one version of the snapshot. `observer` hears why providers are passed over;
/// `()` is nobody.
///
/// # Errors
/// [`crate::error::Error::UnknownClassInQuery`] and [`crate::error::Error::UnknownTraitsInCandidates`]; until trees,
/// sharing providers and granular groups are served, [`crate::error::Error::NotImplemented`] where one of them is
/// needed for a right answer.
pub fn candidates<'a, O: Observer>(
    snapshot: &'a Snapshot,
    request: &Request,
    settings: &Settings,
    observer: O,
) -> Result<Candidates<'a, O>> {
    let mut plan = None;
    if let Some(group) = request.groups.first() {
        plan = plan::of_group(snapshot, request, group, settings.strict_step)?;
    }
    limits::check(snapshot, request, plan.as_ref())?;
    Ok(Candidates {
        snapshot,
        walk: Walk::new(snapshot, plan.as_ref().and_then(|plan| plan.tree), settings.seed),
        plan,
        block: 0,
        lanes: 0,
        suffix: Arc::from(""),
        nested: request.nested,
        limit: request
            .limit
            .unwrap_or(usize::MAX)
            .min(settings.max.unwrap_or(usize::MAX))
            .max(1),
        observer,
    })
}

impl<O: Observer> Iterator for Candidates<'_, O> {
    type Item = Candidate;

    fn next(&mut self) -> Option<Candidate> {
        let plan = self.plan.as_ref()?;
        while self.lanes == 0 {
            let (snapshot, observer) = (self.snapshot, &mut self.observer);
            let fit = |block, lanes| scan::fitting(snapshot, plan, block, lanes, observer);
            (self.block, self.lanes) = self.walk.next(fit)?;
        }
        let lane = lanes_of(self.lanes).next()?;
        self.lanes &= self.lanes - 1;
        let slot = Slot::new(self.block, lane);
        let placement = |&(class, amount): &(ClassId, i64)| Placement { slot, class, amount };
        Some(Candidate {
            placements: plan.amounts.iter().map(placement).collect(),
            mappings: vec![(self.suffix.clone(), vec![slot])],
        })
    }
}

impl<O: Observer> Candidates<'_, O> {
    /// As many as the request and the deployment allow, with the providers that belong into their summaries.
    pub fn found(mut self) -> Found {
        let limit = self.limit;
        let candidates: Vec<Candidate> = self.by_ref().take(limit).collect();
        let used = candidates
            .iter()
            .flat_map(|candidate| &candidate.placements)
            .map(|placement| placement.slot);
        let mut seen = Seen::of(self.snapshot);
        let summaries = if self.nested && self.snapshot.has_trees() {
            let roots = used
                .map(|slot| self.snapshot.root(slot))
                .filter(|&root| seen.first_time(root));
            roots.flat_map(|root| self.snapshot.tree(root)).collect()
        } else {
            used.filter(|&slot| seen.first_time(slot)).collect()
        };
        Found { candidates, summaries }
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
