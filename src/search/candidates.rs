//! `GET /allocation_candidates`: where a request could go, found one by one.

use std::sync::Arc;

use super::observer::Observer;
use super::order::Walk;
use super::plan::{self, Plan, TraitIds};
use super::request::Request;
use super::scan;
use super::snapshot::{ClassId, Slot, Snapshot, lanes_of};
use super::trees::{Anchors, Ask, Trees};
use crate::error::{Error, Result};

/// What a deployment sets for all requests.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// Of the order in which the cloud is searched: one of the process, or, where candidates are to be randomized, a
    /// new one for each request. The same seed over the same version gives the same candidates in the same order.
    pub seed: u64,
    /// `[placement] max_allocation_candidates`; none where that is -1. Zero still gives one candidate, as in
    /// OpenStack Placement.
    pub max: Option<usize>,
    /// `[placet] max_candidates`: what ends an answer where `max` does not.
    pub ceiling: usize,
    pub strategy: Strategy,
    /// `[placet] strict_step_size`, `strict` of [`super::snapshot::Inventory::allows_amount`].
    pub strict_step: bool,
}

/// `[placement] allocation_candidates_generation_strategy`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Strategy {
    /// All candidates of one tree, then those of the next.
    #[default]
    DepthFirst,
    /// One candidate of each tree in turn.
    BreadthFirst,
}

/// A way to serve a request: one claim that would be granted at that moment.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Candidate {
    /// No provider and class twice.
    pub placements: Vec<Placement>,
    /// For each group by its suffix the providers that serve it, none twice.
    pub mappings: Vec<(Arc<str>, Vec<Slot>)>,
}

impl Candidate {
    /// All that serve a group, some of them several times.
    pub fn providers(&self) -> impl Iterator<Item = Slot> {
        self.mappings.iter().flat_map(|(_, slots)| slots.iter().copied())
    }
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
    /// Were there more than [`Settings::ceiling`] lets through?
    pub cut: bool,
}

/// The candidates of a request, one after the other, all of them: nothing is searched before it is asked for. What
/// filters, scores or stops is put on top, as [`Candidates::found`] is.
pub struct Candidates<'a, O> {
    snapshot: &'a Snapshot,
    nested: bool,
    limit: usize,
    ceiling: usize,
    way: Way<O>,
}

/// How candidates are found.
enum Way<O> {
    /// Nobody can match.
    Nowhere,
    /// Every candidate is one provider.
    Alone(Box<Alone<O>>),
    Together(Box<Trees<O>>),
}

/// Begins the search for `request` in one version of the snapshot. `observer` hears why providers are passed over;
/// `()` is nobody.
///
/// # Errors
/// [`crate::error::Error::UnknownClassInQuery`] and [`crate::error::Error::UnknownTraitsInCandidates`].
pub fn candidates<'a, O: Observer>(
    snapshot: &'a Snapshot,
    request: &Request,
    settings: &Settings,
    observer: O,
) -> Result<Candidates<'a, O>> {
    let root = plan::of_root(snapshot, &request.root_required)?;
    let mut plans = Vec::with_capacity(request.groups.len());
    for group in &request.groups {
        match plan::of_group(snapshot, &root, group, settings.strict_step) {
            Ok(Some(plan)) => plans.push(plan),
            Ok(None) => {
                plans.clear();
                break;
            }
            Err(error) => {
                let alone = |(index, plan): (usize, Plan)| {
                    let groups = vec![request.groups[index].clone()];
                    // What holds for groups together is not asked of one.
                    let request = Request {
                        groups,
                        group_policy: None,
                        same_subtrees: Vec::new(),
                        nested: true,
                        ..request.clone()
                    };
                    begin(snapshot, &request, settings, &root, vec![plan], ())
                        .next()
                        .is_some()
                };
                // As with names: a group that nobody serves ends the request before the groups that come after it.
                if plans.into_iter().enumerate().all(alone) {
                    return Err(error);
                }
                plans = Vec::new();
                break;
            }
        }
    }
    Ok(begin(snapshot, request, settings, &root, plans, observer))
}

/// No plans are for a request that nobody can match.
fn begin<'a, O: Observer>(
    snapshot: &'a Snapshot,
    request: &Request,
    settings: &Settings,
    root: &TraitIds,
    mut plans: Vec<Plan>,
    observer: O,
) -> Candidates<'a, O> {
    let limit = request
        .limit
        .unwrap_or(usize::MAX)
        .min(settings.max.unwrap_or(usize::MAX))
        .max(1);
    let way = match plans.pop() {
        None => Way::Nowhere,
        Some(plan) if plans.is_empty() && is_served_alone(snapshot, request, &plan) => {
            Way::Alone(Box::new(Alone::new(snapshot, request, plan, settings.seed, observer)))
        }
        Some(plan) => {
            plans.push(plan);
            let ask = Ask::of(snapshot, request, root.clone(), plans, settings.strict_step);
            let anchors = Anchors::new(snapshot, ask, settings.seed, observer);
            Way::Together(Box::new(Trees::new(anchors, settings.strategy)))
        }
    };
    Candidates {
        snapshot,
        nested: request.nested,
        limit,
        ceiling: if settings.max.is_some() {
            usize::MAX
        } else {
            settings.ceiling.max(1)
        },
        way,
    }
}

/// Is every candidate for this one group a single provider, and is nothing asked of it but what a scan of it tells?
fn is_served_alone(snapshot: &Snapshot, request: &Request, plan: &Plan) -> bool {
    let shared = plan.tree.is_none() && snapshot.sharing().next().is_some();
    if plan.spans_tree {
        !shared && (plan.amounts.len() == 1 || !request.nested || !snapshot.has_trees())
    } else {
        // A sharing provider may serve where its own root is not what is wanted.
        plan.root.is_empty() || snapshot.sharing().next().is_none()
    }
}

impl<O: Observer> Iterator for Candidates<'_, O> {
    type Item = Candidate;

    fn next(&mut self) -> Option<Candidate> {
        match &mut self.way {
            Way::Nowhere => None,
            Way::Alone(alone) => alone.next(self.snapshot),
            Way::Together(trees) => trees.next(self.snapshot),
        }
    }
}

impl<O: Observer> Candidates<'_, O> {
    /// As many as the request and the deployment allow, with the providers that belong into their summaries.
    ///
    /// # Errors
    /// [`crate::error::Error::BadRequest`] where some trees had to be given up and what was found is less than was asked
    /// for: to say that there is no more would be a guess.
    pub fn found(mut self) -> Result<Found> {
        let most = self.limit.min(self.ceiling);
        let candidates: Vec<Candidate> = self.by_ref().take(most).collect();
        let cut = most < self.limit && candidates.len() == most && self.next().is_some();
        if candidates.len() < most && matches!(&self.way, Way::Together(trees) if trees.gave_up()) {
            let detail = "Too many ways to place these groups would have to be tried: name fewer groups, amounts that \
                          are alike, or a smaller limit.";
            return Err(Error::BadRequest { detail: detail.into() });
        }
        let used = candidates
            .iter()
            .flat_map(|candidate| &candidate.placements)
            .map(|placement| placement.slot);
        let mut seen = Seen::of(self.snapshot);
        let summaries = if self.nested && self.snapshot.has_trees() {
            let roots = used
                .map(|slot| self.snapshot.near_root(slot))
                .filter(|&root| seen.first_time(root));
            roots.flat_map(|root| self.snapshot.tree(root)).collect()
        } else {
            used.filter(|&slot| seen.first_time(slot)).collect()
        };
        Ok(Found {
            candidates,
            summaries,
            cut,
        })
    }

    /// How often the search placed a part.
    #[cfg(test)]
    pub(super) fn steps(&self) -> u64 {
        match &self.way {
            Way::Together(trees) => trees.steps(),
            _ => 0,
        }
    }
}

/// The candidates of one group that are single providers.
struct Alone<O> {
    plan: Plan,
    walk: Walk,
    /// The lanes of `block` whose turn it is.
    block: usize,
    lanes: u64,
    suffix: Arc<str>,
    observer: O,
}

impl<O: Observer> Alone<O> {
    fn new(snapshot: &Snapshot, request: &Request, plan: Plan, seed: u64, observer: O) -> Self {
        Self {
            walk: Walk::new(snapshot, plan.tree, seed),
            plan,
            block: 0,
            lanes: 0,
            suffix: request
                .groups
                .first()
                .map_or_else(|| Arc::from(""), |group| Arc::from(&*group.suffix)),
            observer,
        }
    }

    fn next(&mut self, snapshot: &Snapshot) -> Option<Candidate> {
        while self.lanes == 0 {
            let (plan, observer) = (&self.plan, &mut self.observer);
            let fit = |block, lanes| scan::fitting(snapshot, plan, block, lanes, observer);
            (self.block, self.lanes) = self.walk.next(fit)?;
        }
        let lane = lanes_of(self.lanes).next()?;
        self.lanes &= self.lanes - 1;
        let slot = Slot::new(self.block, lane);
        let placement = |&(class, amount): &(ClassId, i64)| Placement { slot, class, amount };
        Some(Candidate {
            placements: self.plan.amounts.iter().map(placement).collect(),
            mappings: vec![(self.suffix.clone(), vec![slot])],
        })
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
