//! `GET /allocation_candidates`: finds the candidates of a request lazily, each when the caller asks for the next.

use std::ops::Deref;

use super::candidate::{Candidate, Placement};
use super::provider_filter::{ProviderFilter, TraitIds};
use super::rank::{BestCandidates, Ranking, Scoring};
use super::request::Request;
use super::resolve;
use super::settings::{SearchSettings, TreeOrder};
use super::single::SingleProvider;
use super::snapshot::{AmountRulesByClass, Slot, Snapshot, by_block};
use super::trees::{RootIter, SplitRequest, Trees};
use crate::error::{Error, Result};
use crate::interrupt::Interrupt;

/// A lazy iterator over all candidates of a request, which searches only as far as candidates are taken. Limits,
/// filters and scores are adapters on top, as `Selection` is. `S` is a snapshot, borrowed or shared.
pub struct CandidateIter<S> {
    pub(super) snapshot: S,
    /// Whether the summaries of an answer show whole trees.
    pub(super) whole_trees: bool,
    /// See [`SearchSettings::max_candidates`].
    pub(super) max_candidates: (usize, bool),
    interrupt: Interrupt,
    search: SearchMethod,
}

/// How candidates are found.
enum SearchMethod {
    /// No provider can match.
    Empty,
    /// Every candidate is one provider.
    Single(Box<SingleProvider>),
    /// Several providers of a tree may serve together.
    Trees(Box<Trees>),
}

/// Begins the search for `request` in one version of the snapshot.
///
/// # Errors
/// [`crate::error::Error::UnknownClassInQuery`] and [`crate::error::Error::UnknownTraitsInCandidates`].
pub fn candidates<S: Deref<Target = Snapshot>>(
    snapshot: S,
    request: &Request,
    settings: &SearchSettings,
) -> Result<CandidateIter<S>> {
    candidates_by(&SearchVariant::default(), snapshot, request, settings)
}

/// How a search differs from the search of clients.
#[derive(Clone, Debug, Default)]
pub(super) struct SearchVariant {
    /// If any provider is shared, candidates are found tree by tree.
    pub by_tree: bool,
    pub amount_rules: AmountRulesByClass,
}

/// As [`candidates`].
pub(super) fn candidates_by<S: Deref<Target = Snapshot>>(
    variant: &SearchVariant,
    snapshot: S,
    request: &Request,
    settings: &SearchSettings,
) -> Result<CandidateIter<S>> {
    settings.interrupt.spend(request.steps_a_block() - 1);
    let common = resolve::common_filter(&snapshot, request, &variant.amount_rules, settings.strict_step)?;
    let mut filters = Vec::with_capacity(request.groups.len());
    for group in &request.groups {
        match resolve::group_filter(&snapshot, &common, group) {
            Ok(Some(filter)) => filters.push(filter),
            Ok(None) => {
                filters.clear();
                break;
            }
            Err(error) => {
                // As with filters inside a group: if an earlier group has no candidate by itself, the answer is empty,
                // and names in later groups are not looked up.
                let has_candidate = |(index, filter): (usize, ProviderFilter)| {
                    let groups = vec![request.groups[index].clone()];
                    // Rules between groups do not apply to one group alone.
                    let request = Request {
                        groups,
                        group_policy: None,
                        same_subtrees: Vec::new(),
                        nested: true,
                        ..request.clone()
                    };
                    let mut search = begin(variant, &*snapshot, &request, settings, vec![filter]);
                    search.next().is_some()
                };
                if filters.into_iter().enumerate().all(has_candidate) {
                    return Err(error);
                }
                filters = Vec::new();
                break;
            }
        }
    }
    Ok(begin(variant, snapshot, request, settings, filters))
}

/// `filters` are the filters of the request's groups; empty if no provider can match.
fn begin<S: Deref<Target = Snapshot>>(
    variant: &SearchVariant,
    snapshot: S,
    request: &Request,
    settings: &SearchSettings,
    mut filters: Vec<ProviderFilter>,
) -> CandidateIter<S> {
    let may_be_single = !variant.by_tree || !snapshot.has_sharing();
    let is_single = |filter: &ProviderFilter, others: &[_]| {
        may_be_single && others.is_empty() && is_single_provider(&snapshot, request, filter)
    };
    let search = match filters.pop() {
        None => SearchMethod::Empty,
        Some(filter) if is_single(&filter, &filters) => {
            SearchMethod::Single(Box::new(SingleProvider::new(&snapshot, request, filter, settings)))
        }
        Some(filter) => {
            filters.push(filter);
            let split = SplitRequest::new(&snapshot, request, filters, settings);
            let roots = RootIter::new(&snapshot, split);
            SearchMethod::Trees(Box::new(Trees::new(roots, tree_order(request, settings))))
        }
    };
    CandidateIter {
        whole_trees: request.nested && snapshot.has_trees(),
        snapshot,
        max_candidates: settings.max_candidates(request),
        interrupt: settings.interrupt.clone(),
        search,
    }
}

/// If only the request sets a limit, the answer is a sample of the whole cloud: one candidate of each tree per round.
/// The configured order applies to whole answers, and to answers cut by `[placement] max_allocation_candidates`.
fn tree_order(request: &Request, settings: &SearchSettings) -> TreeOrder {
    if request.limit.is_some() && settings.max.is_none() {
        TreeOrder::BreadthFirst
    } else {
        settings.tree_order
    }
}

/// Whether every candidate for this one group is a single provider that a scan of its block can decide.
fn is_single_provider(snapshot: &Snapshot, request: &Request, filter: &ProviderFilter) -> bool {
    let shared = filter.tree.is_none() && snapshot.has_sharing();
    if filter.spans_tree {
        !shared && (filter.amounts.len() == 1 || !request.nested || !snapshot.has_trees())
    } else {
        // A sharing provider may serve a foreign tree although its own root does not meet the conditions on the root.
        (filter.root == TraitIds::default() && filter.host.is_none()) || !snapshot.has_sharing()
    }
}

impl<S: Deref<Target = Snapshot>> Iterator for CandidateIter<S> {
    type Item = Candidate;

    fn next(&mut self) -> Option<Candidate> {
        match &mut self.search {
            SearchMethod::Empty => None,
            SearchMethod::Single(single) => single.next(&self.snapshot),
            SearchMethod::Trees(trees) => trees.next(&self.snapshot),
        }
    }
}

impl<S: Deref<Target = Snapshot>> CandidateIter<S> {
    /// Before the first candidate: only candidates of the tree of `root` are wanted.
    pub(super) fn in_tree(self, root: Slot) -> Self {
        self.in_trees(&[root])
    }

    /// Before the first candidate: only candidates of the trees of these roots are wanted.
    pub(super) fn in_trees(mut self, roots: &[Slot]) -> Self {
        match &mut self.search {
            SearchMethod::Empty => {}
            SearchMethod::Single(single) => {
                let providers = roots.iter().flat_map(|root| self.snapshot.tree(*root));
                single.restrict(&by_block(providers.collect()));
            }
            SearchMethod::Trees(trees) => trees.roots.restrict(roots),
        }
        self
    }

    /// The best of all candidates. Called instead of `next`. An error if the search was interrupted.
    pub(super) fn best(&mut self, ranking: &Ranking) -> Result<BestCandidates> {
        let snapshot = &self.snapshot;
        let (all, is_exact) = match &mut self.search {
            SearchMethod::Empty => (Vec::new(), true),
            SearchMethod::Single(single) => (single.best(snapshot, ranking.scoring, ranking.count), true),
            SearchMethod::Trees(trees) => (trees.best(snapshot, ranking), trees.is_exact()),
        };
        check_interrupt(&self.interrupt)?;
        Ok(BestCandidates { all, is_exact })
    }

    /// Called instead of `next`: calls `found` with candidates, among them the best candidate of each host. `found`
    /// receives the host, the cost (0 without a scoring), and a function that builds the candidate. Of each tree the
    /// first [`SearchSettings::max_combinations`] candidates count. Returns whether these were all. An error if the
    /// search was interrupted.
    pub(super) fn each_host(
        &mut self,
        scoring: Option<Scoring>,
        found: impl FnMut(Slot, f64, &dyn Fn() -> Candidate),
    ) -> Result<bool> {
        let snapshot = &self.snapshot;
        let is_exact = match &mut self.search {
            SearchMethod::Empty => true,
            SearchMethod::Single(single) => {
                single.each_host(snapshot, scoring, found);
                true
            }
            SearchMethod::Trees(trees) => {
                trees.each_host(snapshot, scoring, found);
                trees.is_exact()
            }
        };
        check_interrupt(&self.interrupt)?;
        Ok(is_exact)
    }

    /// Called instead of `next`: calls `found` with the root of each tree that has a candidate. Returns whether these
    /// were all.
    pub(super) fn each_tree(&mut self, mut found: impl FnMut(Slot)) -> Result<bool> {
        let SearchMethod::Trees(trees) = &mut self.search else {
            return self.each_host(None, |host, _, _| found(host));
        };
        trees.each_tree(&self.snapshot, found);
        check_interrupt(&self.interrupt)?;
        Ok(!trees.gave_up())
    }

    /// As [`CandidateIter::each_tree`], with the candidates of each tree up to [`SearchSettings::max_combinations`].
    /// The candidates of a tree come one after the other. `found` also receives the placements of the candidate.
    pub(super) fn each_way(&mut self, found: impl FnMut(Slot, &[Placement], &dyn Fn() -> Candidate)) -> Result<bool> {
        let snapshot = &self.snapshot;
        let is_exact = match &mut self.search {
            SearchMethod::Empty => true,
            SearchMethod::Single(single) => {
                single.each_way(snapshot, found);
                true
            }
            SearchMethod::Trees(trees) => {
                trees.each_way(snapshot, found);
                trees.is_exact()
            }
        };
        check_interrupt(&self.interrupt)?;
        Ok(is_exact)
    }

    /// Checks, after the last candidate, that the search was complete.
    ///
    /// # Errors
    /// [`Error::BadRequest`] if some trees were given up, or if the search was interrupted. Without the error, the
    /// answer would claim to have all candidates.
    pub(super) fn check_complete(&self) -> Result<()> {
        check_interrupt(&self.interrupt)?;
        match &self.search {
            SearchMethod::Trees(trees) if trees.gave_up() => Err(Error::BadRequest {
                detail:
                    "Too many ways to place these groups would have to be tried: name fewer groups, amounts that are \
                         alike, or a smaller limit."
                        .into(),
            }),
            _ => Ok(()),
        }
    }

    /// How often the search placed a part.
    #[cfg(test)]
    pub(super) fn steps(&self) -> u64 {
        match &self.search {
            SearchMethod::Trees(trees) => trees.steps(),
            _ => 0,
        }
    }
}

/// Counts a step.
///
/// # Errors
/// [`Error::BadRequest`] if the search must end.
pub fn check_interrupt(interrupt: &Interrupt) -> Result<()> {
    if interrupt.is_set() {
        return Err(Error::BadRequest {
            detail: "The search was cancelled, because its client is gone.".into(),
        });
    }
    Ok(())
}
