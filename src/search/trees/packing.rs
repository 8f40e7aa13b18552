//! Bin packing: whether all remaining parts together fit into the remaining room.
//!
//! The check is a relaxation. It considers room, and a provider for each isolated group, but not traits, subtrees or
//! steps of sums. So parts without a packing cannot be placed, and parts with a packing may still fail.
//!
//! The backtracking search checks packing after several dead ends. The first method with a verdict decides:
//!
//! 1. The last packing found still contains the placed parts.
//! 2. A greedy heuristic packs the rest: largest items first, by best fit, worst fit and first fit.
//! 3. An exact search (`bin_completion`), with a budget. A tree that has exhausted the budget is not checked again.

use super::bin_completion::BinCompletion;
use super::offers::TreeOffers;
use super::split_request::SplitRequest;
use crate::interrupt::Interrupt;

/// Whether the remaining parts can be packed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PackingVerdict {
    Fits,
    Impossible,
    /// The budget was exhausted without a verdict.
    Unknown,
}

/// The remaining parts of one kind.
#[derive(Clone, Debug)]
pub(super) struct Item {
    pub kind: usize,
    pub count: usize,
    /// The amount of each class of [`SplitRequest::classes`]. With isolation there is one dimension more, in which a
    /// granular part needs 1 and a provider has room for 1.
    pub need: Vec<i64>,
}

/// A provider that can take an item.
#[derive(Clone, Debug)]
pub(super) struct Bin {
    pub provider: usize,
    /// The room in the dimensions of [`Item::need`].
    pub room: Vec<i64>,
    /// By item, whether the bin can take an item.
    pub takes: Vec<bool>,
}

impl Bin {
    /// Whether the bins take the same items and have the same room, whatever their providers.
    pub fn is_equal(&self, other: &Bin) -> bool {
        self.room == other.room && self.takes == other.takes
    }
}

/// Items to be packed into bins. The largest items come first.
#[derive(Debug)]
pub(super) struct PackingProblem {
    pub items: Vec<Item>,
    pub bins: Vec<Bin>,
    pub dimensions: usize,
}

/// The number of choices that one exact search may take. A choice is far cheaper than a step of the search.
const MAX_CHOICES: u64 = 600_000;

/// The number of choices that all checks of one tree may take.
const MAX_CHOICES_PER_TREE: u64 = 3_000_000;

/// A state of the backtracking search: the placed and the remaining parts.
pub(super) struct PartialAssignment<'a> {
    /// Kinds of parts with their providers.
    pub placed: &'a [(usize, usize)],
    /// Kinds of parts.
    pub remaining: &'a [usize],
    /// The loads of providers by placed parts: fields of [`super::backtracking::BacktrackingSearch`].
    pub load: &'a [i64],
    pub granular_parts: &'a [u32],
}

/// Checks of one tree, with their common budget.
#[derive(Debug, Default)]
pub(super) struct Packing {
    /// The last packing of all parts: kinds with providers.
    last_packing: Vec<(usize, usize)>,
    choices: u64,
    /// How many trees were given up before. Each tree given up halves the budget.
    given_up: u32,
    /// Whether the budget was exhausted. The tree is not checked again.
    pub budget_exhausted: bool,
}

impl Packing {
    /// Begins with a new tree. The more trees were `given_up` before, the smaller is the budget of the new tree.
    pub fn begin(&mut self, given_up: u32) {
        self.last_packing.clear();
        (self.choices, self.budget_exhausted) = (0, false);
        self.given_up = given_up;
    }

    /// Whether the remaining parts can be packed.
    pub fn check(
        &mut self,
        request: &SplitRequest,
        offers: &TreeOffers,
        assignment: &PartialAssignment<'_>,
    ) -> PackingVerdict {
        if self.budget_exhausted {
            return PackingVerdict::Unknown;
        }
        if self.last_packing_contains(request, offers, assignment.placed) {
            return PackingVerdict::Fits;
        }
        let problem = PackingProblem::new(request, offers, assignment);
        self.choices += 1 + (problem.items.len() * problem.bins.len() / 4) as u64;
        let (verdict, found) = match problem.pack_greedily() {
            Some(found) => (PackingVerdict::Fits, found),
            None => self.search(problem, &request.interrupt),
        };
        if verdict == PackingVerdict::Fits {
            self.last_packing.clear();
            self.last_packing.extend_from_slice(assignment.placed);
            self.last_packing.extend(found);
        }
        self.budget_exhausted =
            verdict == PackingVerdict::Unknown || self.choices > MAX_CHOICES_PER_TREE >> self.given_up;
        verdict
    }

    /// Searches exactly, with the bins in two orders: a problem may be hard in one order and easy in the reverse.
    fn search(&mut self, mut problem: PackingProblem, interrupt: &Interrupt) -> (PackingVerdict, Vec<(usize, usize)>) {
        for _ in 0..2 {
            let mut completion = BinCompletion::new(&problem, (MAX_CHOICES / 2) >> self.given_up, interrupt);
            let verdict = completion.search();
            self.choices += completion.choices;
            if verdict != PackingVerdict::Unknown {
                return (verdict, completion.found());
            }
            problem.bins.reverse();
        }
        (PackingVerdict::Unknown, Vec::new())
    }

    /// Whether the known packing contains the placed parts. Parts of one kind are interchangeable.
    fn last_packing_contains(&self, request: &SplitRequest, offers: &TreeOffers, placed: &[(usize, usize)]) -> bool {
        if self.last_packing.is_empty() {
            return false;
        }
        let mut counts = vec![0i32; request.kinds.len() * offers.slots.len()];
        let at = |&(kind, provider): &(usize, usize)| kind * offers.slots.len() + provider;
        self.last_packing.iter().for_each(|pair| counts[at(pair)] += 1);
        // Parts without a need for room fit into every packing.
        let needs_room = |kind: usize| {
            let part_kind = &request.kinds[kind];
            !part_kind.contested.is_empty() || request.isolate && part_kind.granular
        };
        placed.iter().filter(|pair| needs_room(pair.0)).all(|pair| {
            counts[at(pair)] -= 1;
            counts[at(pair)] >= 0
        })
    }
}

impl PackingProblem {
    fn new(request: &SplitRequest, offers: &TreeOffers, assignment: &PartialAssignment<'_>) -> Self {
        let dimensions = request.classes.len() + usize::from(request.isolate);
        let mut items = items(request, assignment.remaining, dimensions);
        let mut bins = bins(request, offers, assignment, items.len());
        let weights = weights(&bins, dimensions);
        items.sort_by(|one, other| weigh(&other.need, &weights).total_cmp(&weigh(&one.need, &weights)));
        for (index, item) in items.iter().enumerate() {
            for &provider in &offers.options[item.kind] {
                let bin = &mut bins[provider as usize];
                bin.takes[index] = fits(&item.need, &bin.room);
            }
        }
        bins.retain(|bin| bin.takes.contains(&true));
        bins.sort_by(|one, other| {
            let size = |bin: &Bin| weigh(&bin.room, &weights);
            let order = size(one).total_cmp(&size(other));
            order.then_with(|| (&one.room, &one.takes).cmp(&(&other.room, &other.takes)))
        });
        Self {
            items,
            bins,
            dimensions,
        }
    }

    /// Packs the largest items first, each into the bin with the least room left, with the most, or into the first one.
    fn pack_greedily(&self) -> Option<Vec<(usize, usize)>> {
        let weights = weights(&self.bins, self.dimensions);
        let best_fit: fn(f64) -> f64 = |free| free;
        let worst_fit: fn(f64) -> f64 = |free| -free;
        let first_fit: fn(f64) -> f64 = |_| 0.0;
        [best_fit, worst_fit, first_fit]
            .into_iter()
            .find_map(|rank| self.pack_by(&weights, rank))
    }

    /// Packs each item into the bin with the lowest rank.
    fn pack_by(&self, weights: &[f64], rank: fn(f64) -> f64) -> Option<Vec<(usize, usize)>> {
        let mut rooms: Vec<Vec<i64>> = self.bins.iter().map(|bin| bin.room.clone()).collect();
        let mut found = Vec::new();
        for (index, item) in self.items.iter().enumerate() {
            for _ in 0..item.count {
                let open = (0..rooms.len()).filter(|&bin| self.bins[bin].takes[index] && fits(&item.need, &rooms[bin]));
                let ranked = open.map(|bin| (rank(weigh(&rooms[bin], weights)), bin));
                let (_, bin) = ranked.min_by(|one, other| one.0.total_cmp(&other.0))?;
                subtract(&mut rooms[bin], &item.need);
                found.push((item.kind, self.bins[bin].provider));
            }
        }
        Some(found)
    }
}

/// The remaining parts, counted by kind, without parts that need no room.
fn items(request: &SplitRequest, remaining: &[usize], dimensions: usize) -> Vec<Item> {
    let mut items: Vec<Item> = Vec::new();
    let mut index = vec![usize::MAX; request.kinds.len()];
    for &kind in remaining {
        if index[kind] == usize::MAX {
            index[kind] = items.len();
            let part_kind = &request.kinds[kind];
            let mut need = vec![0; dimensions];
            part_kind
                .contested
                .iter()
                .for_each(|&(class, amount)| need[class] = amount);
            if request.isolate {
                need[request.classes.len()] = i64::from(part_kind.granular);
            }
            items.push(Item { kind, count: 0, need });
        }
        items[index[kind]].count += 1;
    }
    items.retain(|item| item.need.iter().any(|&need| need > 0));
    items
}

/// All providers with their free room. No bin takes an item yet.
fn bins(request: &SplitRequest, offers: &TreeOffers, assignment: &PartialAssignment<'_>, items: usize) -> Vec<Bin> {
    let classes = request.classes.len();
    let room = |provider: usize| {
        let first = provider * classes;
        let mut room: Vec<i64> = (first..first + classes)
            .map(|at| offers.room[at] - assignment.load[at])
            .collect();
        if request.isolate {
            room.push(1 - i64::from(assignment.granular_parts[provider]));
        }
        room
    };
    (0..offers.slots.len())
        .map(|provider| Bin {
            provider,
            room: room(provider),
            takes: vec![false; items],
        })
        .collect()
}

/// Weights of the dimensions, so that classes with large and with small amounts count alike.
fn weights(bins: &[Bin], dimensions: usize) -> Vec<f64> {
    let all = |at: usize| bins.iter().map(|bin| bin.room[at].max(0) as f64).sum::<f64>();
    (0..dimensions).map(|at| 1.0 / all(at).max(1.0)).collect()
}

fn weigh(amounts: &[i64], weights: &[f64]) -> f64 {
    let weighed = amounts
        .iter()
        .zip(weights)
        .map(|(&amount, weight)| amount as f64 * weight);
    weighed.sum()
}

pub(super) fn fits(need: &[i64], room: &[i64]) -> bool {
    need.iter().zip(room).all(|(need, room)| need <= room || *need == 0)
}

/// Subtracts an item's need from a room.
pub(super) fn subtract(room: &mut [i64], need: &[i64]) {
    room.iter_mut().zip(need).for_each(|(room, need)| *room -= need);
}

/// Undoes [`subtract`].
pub(super) fn add_back(room: &mut [i64], need: &[i64]) {
    room.iter_mut().zip(need).for_each(|(room, need)| *room += need);
}
