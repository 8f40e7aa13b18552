//! Explains why groups with a provider each are not served together: the search is repeated without each of the
//! conditions between groups.
//!
//! Naively, the reasons of rejected providers explain a search without a candidate. But if a tree has a provider for
//! each part, the reasons belong to other providers of the tree, and explain nothing.

use super::candidates::candidates;
use super::request::{GroupPolicy, Request};
use super::settings::SearchSettings;
use super::snapshot::Snapshot;
use crate::error::Result;

/// A request without a candidate, although trees have a provider for each of its parts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GroupConflict {
    /// The number of trees with a provider for each part.
    pub trees: usize,
    /// Without each of these relations there is a candidate, except [`Relation::Sum`]. Empty if several relations stand
    /// in the way, or if a search was given up.
    pub decisive: Vec<Relation>,
}

/// A condition on several groups, or parts of a group, together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Relation {
    /// `group_policy=isolate`.
    Isolate,
    /// All of `same_subtree`.
    SameSubtree,
    /// Both of these relations. Either alone is not enough.
    IsolateAndSameSubtree,
    /// The traits that the providers of the group without a suffix must have together.
    Traits,
    /// Without all other relations there is no candidate either. So providers have too little room, or too small a
    /// `max_unit`, for the sum of the groups' amounts.
    Sum,
}

/// The relations that keep the groups of a request without a candidate from being served together. `None` if no tree
/// has a provider for each part, or if one provider serves the whole request.
///
/// # Errors
/// As of [`candidates`].
pub fn group_conflict(
    snapshot: &Snapshot,
    request: &Request,
    settings: &SearchSettings,
) -> Result<Option<GroupConflict>> {
    let search = |request: &Request| candidates(snapshot, request, settings, ());
    let has_candidate = |request: &Request| -> Result<bool> { Ok(search(request)?.next().is_some()) };
    let without_isolation = Request {
        group_policy: Some(GroupPolicy::None),
        ..request.clone()
    };
    let without_same_subtree = Request {
        same_subtrees: Vec::new(),
        ..request.clone()
    };
    let unrelated = Request {
        same_subtrees: Vec::new(),
        ..without_isolation.clone()
    };
    let mut unrelated_search = search(&unrelated)?;
    let trees = std::iter::from_fn(|| unrelated_search.next_tree_with_all_parts()).count();
    if trees == 0 {
        return Ok(None);
    }
    let (is_isolated, has_rules) = (is_isolated(request), !request.same_subtrees.is_empty());
    let mut decisive = Vec::new();
    if is_isolated && has_candidate(&without_isolation)? {
        decisive.push(Relation::Isolate);
    }
    if has_rules && has_candidate(&without_same_subtree)? {
        decisive.push(Relation::SameSubtree);
    }
    if decisive.is_empty() && is_isolated && has_rules && has_candidate(&unrelated)? {
        decisive.push(Relation::IsolateAndSameSubtree);
    }
    let without_traits = without_shared_traits(request);
    if decisive.is_empty() && without_traits != *request && has_candidate(&without_traits)? {
        decisive.push(Relation::Traits);
    }
    if decisive.is_empty() {
        let mut unrelated_search = search(&without_shared_traits(&unrelated))?;
        if unrelated_search.next().is_none() && unrelated_search.check_complete().is_ok() {
            decisive.push(Relation::Sum);
        }
    }
    Ok(Some(GroupConflict { trees, decisive }))
}

/// Whether several granular groups need providers of their own.
fn is_isolated(request: &Request) -> bool {
    let granular = request.groups.iter().filter(|group| !group.suffix.is_empty());
    request.group_policy == Some(GroupPolicy::Isolate) && granular.count() > 1
}

/// The request without the required traits of the group without a suffix.
fn without_shared_traits(request: &Request) -> Request {
    let mut without = request.clone();
    let unsuffixed = without.groups.iter_mut().filter(|group| group.suffix.is_empty());
    unsuffixed.for_each(|group| group.traits.required.clear());
    without
}
