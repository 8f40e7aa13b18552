//! `GET /allocation_candidates`: where a request could go, found one by one.

use std::ops::Deref;
use std::sync::Arc;

use super::alone::Alone;
use super::interrupt::Interrupt;
use super::observer::Observer;
use super::plan::{self, Plan, TraitIds};
use super::request::Request;
use super::selection::Selection;
use super::servers::Servers;
use super::snapshot::{ClassId, Slot, Snapshot};
use super::trees::{Anchors, Ask, Trees};
use crate::error::{Error, Result};

/// What a deployment sets for all requests, and what ends one of them early.
#[derive(Clone, Debug)]
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
    /// Ends the search from outside; each has its own.
    pub interrupt: Interrupt,
}

impl Settings {
    /// Those of a deployment that cuts nothing, one tree after the other.
    pub fn uncut(seed: u64) -> Settings {
        Settings {
            seed,
            max: None,
            ceiling: usize::MAX,
            strategy: Strategy::DepthFirst,
            strict_step: false,
            interrupt: Interrupt::default(),
        }
    }
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
    pub mappings: Vec<(Arc<str>, Servers)>,
}

/// An amount of one class from one provider.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Placement {
    pub slot: Slot,
    pub class: ClassId,
    pub amount: i64,
}

/// The candidates of a request, one after the other, all of them: nothing is searched before it is asked for. What
/// filters, scores or stops is put on top, as [`Candidates::select`] is. `S` is a snapshot, borrowed or shared.
pub struct Candidates<S, O> {
    snapshot: S,
    nested: bool,
    limit: usize,
    ceiling: usize,
    interrupt: Interrupt,
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
pub fn candidates<S: Deref<Target = Snapshot>, O: Observer>(
    snapshot: S,
    request: &Request,
    settings: &Settings,
    observer: O,
) -> Result<Candidates<S, O>> {
    let root = plan::of_root(&snapshot, &request.root_required)?;
    let mut plans = Vec::with_capacity(request.groups.len());
    for group in &request.groups {
        match plan::of_group(&snapshot, &root, group, settings.strict_step) {
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
                    begin(&*snapshot, &request, settings, &root, vec![plan], ())
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
fn begin<S: Deref<Target = Snapshot>, O: Observer>(
    snapshot: S,
    request: &Request,
    settings: &Settings,
    root: &TraitIds,
    mut plans: Vec<Plan>,
    observer: O,
) -> Candidates<S, O> {
    let limit = request
        .limit
        .unwrap_or(usize::MAX)
        .min(settings.max.unwrap_or(usize::MAX))
        .max(1);
    let way = match plans.pop() {
        None => Way::Nowhere,
        Some(plan) if plans.is_empty() && is_served_alone(&snapshot, request, &plan) => {
            Way::Alone(Box::new(Alone::new(&snapshot, request, plan, settings, observer)))
        }
        Some(plan) => {
            plans.push(plan);
            let ask = Ask::of(&snapshot, request, root.clone(), plans, settings);
            let anchors = Anchors::new(&snapshot, ask, settings.seed, observer);
            Way::Together(Box::new(Trees::new(anchors, strategy(request, settings))))
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
        interrupt: settings.interrupt.clone(),
        way,
    }
}

/// A request's own limit is a sample of the whole cloud: one candidate of each tree in turn. What the deployment sets is
/// about what it cuts itself, by `[placement] max_allocation_candidates`, and about whole answers.
fn strategy(request: &Request, settings: &Settings) -> Strategy {
    if request.limit.is_some() && settings.max.is_none() {
        Strategy::BreadthFirst
    } else {
        settings.strategy
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

impl<S: Deref<Target = Snapshot>, O: Observer> Iterator for Candidates<S, O> {
    type Item = Candidate;

    fn next(&mut self) -> Option<Candidate> {
        match &mut self.way {
            Way::Nowhere => None,
            Way::Alone(alone) => alone.next(&self.snapshot),
            Way::Together(trees) => trees.next(&self.snapshot),
        }
    }
}

impl<S: Deref<Target = Snapshot>, O: Observer> Candidates<S, O> {
    /// As many as the request and the deployment allow, and then the providers that belong into their summaries.
    pub fn select(self) -> Selection<S, O> {
        let whole_trees = self.nested && self.snapshot.has_trees();
        Selection::new(self, whole_trees)
    }

    pub(super) fn snapshot(&self) -> &Snapshot {
        &self.snapshot
    }

    /// How many an answer may hold, and whether that is the deployment's ceiling and not what was asked for.
    pub(super) fn most(&self) -> (usize, bool) {
        (self.limit.min(self.ceiling), self.ceiling < self.limit)
    }

    /// Why there may be more than were found.
    ///
    /// # Errors
    /// [`Error::BadRequest`] where some trees had to be given up, or where the search was interrupted: to say that there
    /// is no more would be a guess.
    pub(super) fn check_whole(&self) -> Result<()> {
        let bad = |detail: &str| Err(Error::BadRequest { detail: detail.into() });
        match &self.way {
            _ if self.interrupt.is_set() => bad("The search was ended, because nobody waits for it any more."),
            Way::Together(trees) if trees.gave_up() => bad(
                "Too many ways to place these groups would have to be tried: name fewer groups, amounts that are alike, \
                 or a smaller limit.",
            ),
            _ => Ok(()),
        }
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
