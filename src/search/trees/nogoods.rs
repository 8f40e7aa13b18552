//! Nogood recording: states without a solution are recorded, and not entered again in the search of the tree.
//!
//! Naively, a state would be the placed parts with their providers. Such a state never recurs in one search. But most
//! of the state is irrelevant to the remaining parts, so a recorded state contains only:
//!
//! - the number of placed parts, and the covered required traits;
//! - by provider, if a remaining part depends on the value: the load of contested classes, whether the provider has a
//!   granular part (`isolate`), and the served rules of `same_subtree`. The load of all classes counts if sums have to
//!   be multiples of `step_size`, because sums are checked at the end;
//! - which providers are used at all, if the request is not nested: a tree then serves with one provider only.
//!
//! States are also equal up to symmetry. Two providers are interchangeable if their inputs to the search are equal:
//! kinds, room, units, required traits and, if they matter, tree and relatives. States that differ only in which of
//! several interchangeable providers took which part are the same.

use std::collections::{HashMap, HashSet};

use super::assignment::PartAssignment;
use super::offers::{TreeOffers, UnalignedInventory};
use super::split_request::SplitRequest;

/// The maximum number of states, some 10 MB. When the maximum is reached, all states are dropped.
const MAX_NOGOODS: usize = 1 << 17;

#[derive(Debug, Default)]
pub(super) struct Nogoods {
    states: HashSet<Box<[u64]>>,
    /// By provider, a number that interchangeable providers have in common. Computed when the first state is recorded.
    symmetry_classes: Vec<u64>,
}

impl Nogoods {
    pub fn clear(&mut self) {
        self.states.clear();
        self.symmetry_classes.clear();
    }

    /// The approximate size, as [`TreeOffers::size`].
    pub fn size(&self) -> usize {
        self.symmetry_classes.len() + self.states.len() * (4 + self.states.iter().next().map_or(0, |state| state.len()))
    }

    /// Whether the current state is a known state without a solution.
    pub fn contains(&self, request: &SplitRequest, offers: &TreeOffers, assignment: &PartAssignment) -> bool {
        !self.states.is_empty() && self.states.contains(&*self.state(request, offers, assignment))
    }

    /// Records the current state, from which all options were tried without a solution.
    pub fn record(&mut self, request: &SplitRequest, offers: &TreeOffers, assignment: &PartAssignment) {
        if self.symmetry_classes.is_empty() {
            self.symmetry_classes = symmetry_classes(request, offers);
        }
        if self.states.len() == MAX_NOGOODS {
            self.states.clear();
        }
        let state = self.state(request, offers, assignment);
        self.states.insert(state.into());
    }

    /// The current state, as far as the remaining parts depend on the state.
    fn state(&self, request: &SplitRequest, offers: &TreeOffers, assignment: &PartAssignment) -> Vec<u64> {
        let remaining: Vec<usize> = assignment.remaining_kinds(request).collect();
        let any_remaining = |predicate: &dyn Fn(usize) -> bool| remaining.iter().any(|&kind| predicate(kind));
        let isolated = request.isolate && any_remaining(&|kind| request.kinds[kind].granular);
        let needs_class =
            |kind: usize, class: usize| request.kinds[kind].contested.iter().any(|&(other, _)| other == class);
        // Sums that `step_size` may not allow are checked at the end, so all loads matter until the end.
        let open_class = |class| !offers.unaligned.is_empty() || any_remaining(&|kind| needs_class(kind, class));
        let classes: Vec<usize> = (0..request.classes.len()).filter(|&class| open_class(class)).collect();
        let open_rule = |rule: &usize| any_remaining(&|kind| request.kinds[kind].subtrees.contains(rule));
        let rules: Vec<usize> = (0..request.subtrees).filter(open_rule).collect();
        let mut touched: Vec<u32> = assignment.chosen[..assignment.depth].to_vec();
        touched.sort_unstable();
        touched.dedup();
        let mut rows: Vec<Vec<u64>> = Vec::with_capacity(touched.len());
        for provider in touched {
            let at = provider as usize;
            let mut row = vec![self.symmetry_classes[at]];
            row.push(u64::from(!request.nested) | u64::from(isolated && assignment.granular_parts[at] > 0) << 1);
            let load = &assignment.load[at * request.classes.len()..];
            row.extend(classes.iter().map(|class| load[*class] as u64));
            let serves = |rule: &usize| assignment.subtrees.serves(offers, *rule, assignment.depth, at);
            row.extend(rules.iter().map(|rule| u64::from(serves(rule))));
            if row[1..].iter().any(|&word| word != 0) {
                rows.push(row);
            }
        }
        rows.sort_unstable();
        let mut state = vec![assignment.depth as u64];
        state.extend_from_slice(assignment.covered());
        state.extend(rows.into_iter().flatten());
        state
    }
}

/// All inputs of the search of a tree: of trees with the same signature, all have a solution or none has. `None` if the
/// request is not nested: the rows name the tree, so no two trees have equal rows.
pub(super) fn signature(request: &SplitRequest, offers: &TreeOffers) -> Option<Box<[u64]>> {
    if !request.nested {
        return None;
    }
    let mut rows = provider_rows(request, offers);
    if request.subtrees == 0 {
        rows.sort_unstable();
    }
    let with_length = |row: Vec<u64>| std::iter::once(row.len() as u64).chain(row);
    Some(rows.into_iter().flat_map(with_length).collect())
}

/// By provider, a number common to all providers with equal rows.
fn symmetry_classes(request: &SplitRequest, offers: &TreeOffers) -> Vec<u64> {
    let mut known: HashMap<Vec<u64>, u64> = HashMap::new();
    let rows = provider_rows(request, offers).into_iter();
    rows.map(|row| {
        let next = known.len() as u64;
        *known.entry(row).or_insert(next)
    })
    .collect()
}

/// By provider, all inputs of the search. Providers with equal rows are interchangeable.
fn provider_rows(request: &SplitRequest, offers: &TreeOffers) -> Vec<Vec<u64>> {
    let providers = offers.slots.len();
    let classes = request.classes.len();
    let mut rows: Vec<Vec<u64>> = vec![Vec::new(); providers];
    for (kind, options) in offers.options.iter().enumerate() {
        for &provider in options {
            rows[provider as usize].push(kind as u64);
        }
    }
    for (provider, row) in rows.iter_mut().enumerate() {
        row.push(u64::MAX);
        let room = &offers.room[provider * classes..(provider + 1) * classes];
        row.extend(room.iter().map(|&room| room as u64));
        if request.unsuffixed.is_some() {
            row.extend_from_slice(offers.covers.row(provider));
        }
        row.extend(offers.trees.get(provider).map(|tree| tree.index() as u64));
        let unaligned = offers
            .unaligned
            .iter()
            .filter(|unaligned| unaligned.provider == provider);
        for &UnalignedInventory { class, units, .. } in unaligned {
            row.extend([class as u64, units.min_unit as u64, units.step_size as u64]);
        }
        if request.subtrees > 0 {
            add_relatives(offers, provider, row);
        }
    }
    rows
}

/// Adds the ancestors and the descendants of a provider.
fn add_relatives(offers: &TreeOffers, provider: usize, row: &mut Vec<u64>) {
    let others = || (0..offers.slots.len()).filter(|&other| other != provider);
    row.push(u64::MAX);
    let above = others().filter(|&other| offers.is_above(other, provider));
    row.extend(above.map(|other| other as u64));
    row.push(u64::MAX);
    let below = others().filter(|&other| offers.is_above(provider, other));
    row.extend(below.map(|other| other as u64));
}
