//! An exact search for a packing, by bin completion: bins are filled one after the other, each with a set of items.
//!
//! Naively, one would place item by item and try every bin for each. With many bins and items that are alike, the same
//! packings come again in very many orders. Bin completion fills bin after bin instead, and tries only sets of items that
//! may be the first of all packings in an order: the counts of the first bin are compared first, then those of the second
//! and so on; more and larger items come first. So it prunes:
//!
//! - sets to which an item could be added (a set must be maximal);
//! - dominated sets: a larger item that is left could replace one or two smaller items of the set, which then could stand
//!   wherever the larger one will;
//! - of two equal neighbouring bins, a set of the second that is greater than the set of the first (symmetry);
//! - sets that leave a bin emptier than the bins after it can make up for (`capacity_bound`);
//! - items that are left at a bin from which no packing was found before (nogoods).

use std::collections::HashSet;

use super::super::interrupt::Interrupt;
use super::capacity_bound::CapacityBound;
use super::packing::{PackingProblem, PackingVerdict, fits, give, take};

/// How many nogoods are kept. Then all are dropped.
const MAX_NOGOODS: usize = 1 << 16;

pub(super) struct BinCompletion<'a> {
    problem: &'a PackingProblem,
    /// By item, how many are left.
    left: Vec<u16>,
    /// By bin and item, how many the bin has.
    counts: Vec<u16>,
    /// By bin, the room that is free.
    free: Vec<Vec<i64>>,
    /// By bin, item and dimension: how much this item and those after it could still add to the bin.
    addable: Vec<i64>,
    /// By bin and dimension: how much the bin must take, so that the bins after it can take the rest.
    min_fill: Vec<Vec<i64>>,
    /// By item, the last bin that can take it.
    last_bin: Vec<usize>,
    /// By two items, whether the second can stand wherever the first can.
    replaces: Vec<bool>,
    /// Bins with the items that are left, from which no packing was found.
    nogoods: HashSet<Box<[u16]>>,
    max_choices: u64,
    interrupt: &'a Interrupt,
    pub choices: u64,
}

impl<'a> BinCompletion<'a> {
    /// Gives up after `max_choices`, or if it is interrupted.
    pub fn new(problem: &'a PackingProblem, max_choices: u64, interrupt: &'a Interrupt) -> Self {
        let (items, bins, dimensions) = (problem.items.len(), problem.bins.len(), problem.dimensions);
        let last_bin = |item: usize| problem.bins.iter().rposition(|bin| bin.takes[item]).unwrap_or(0);
        let replaces = |first: usize, second: usize| {
            fits(&problem.items[second].need, &problem.items[first].need)
                && problem.bins.iter().all(|bin| bin.takes[second] || !bin.takes[first])
        };
        Self {
            left: problem.items.iter().map(|item| item.count as u16).collect(),
            counts: vec![0; items * bins],
            free: problem.bins.iter().map(|bin| bin.room.clone()).collect(),
            addable: vec![0; bins * (items + 1) * dimensions],
            min_fill: vec![vec![0; dimensions]; bins],
            last_bin: (0..items).map(last_bin).collect(),
            replaces: (0..items * items).map(|at| replaces(at / items, at % items)).collect(),
            nogoods: HashSet::new(),
            max_choices,
            interrupt,
            choices: 0,
            problem,
        }
    }

    pub fn search(&mut self) -> PackingVerdict {
        let takers = |item: usize| self.problem.bins.iter().any(|bin| bin.takes[item]);
        if !(0..self.left.len()).all(takers) {
            return PackingVerdict::Impossible;
        }
        self.fill(0)
    }

    /// The packing that was found: kinds with providers.
    pub fn found(&self) -> Vec<(usize, usize)> {
        let items = self.left.len();
        let placed = self.counts.iter().enumerate().flat_map(|(at, &count)| {
            let pair = (
                self.problem.items[at % items].kind,
                self.problem.bins[at / items].provider,
            );
            std::iter::repeat_n(pair, count.into())
        });
        placed.collect()
    }

    /// Packs all that is left into this bin and those after it.
    fn fill(&mut self, bin: usize) -> PackingVerdict {
        if self.left.iter().all(|&left| left == 0) {
            return PackingVerdict::Fits;
        }
        if bin == self.problem.bins.len() {
            return PackingVerdict::Impossible;
        }
        // The state does not say whether an equal bin before this one bounds its set (symmetry): the sets that this
        // forbids were tried before, with the two bins exchanged.
        let state: Box<[u16]> = self.left.iter().copied().chain([bin as u16]).collect();
        if self.nogoods.contains(&state) {
            return PackingVerdict::Impossible;
        }
        let verdict = if self.check_capacity(bin) {
            self.sum_addable(bin);
            self.choose(bin, 0, self.equals_previous(bin))
        } else {
            PackingVerdict::Impossible
        };
        if verdict == PackingVerdict::Impossible {
            if self.nogoods.len() == MAX_NOGOODS {
                self.nogoods.clear();
            }
            self.nogoods.insert(state);
        }
        verdict
    }

    /// False if this bin and those after it cannot take all that is left, by a bound for each dimension.
    fn check_capacity(&mut self, bin: usize) -> bool {
        // It costs as much as this many choices.
        self.choices += 1 + ((self.problem.bins.len() - bin) * self.left.len() / 16) as u64;
        (0..self.problem.dimensions).all(|class| {
            let bound = CapacityBound::new(self.problem, class, bin, &self.left);
            let Some((usable, wasted)) = bound.usable(self.problem, bin, &self.left) else {
                return false;
            };
            self.min_fill[bin][class] = usable - wasted;
            true
        })
    }

    /// Whether a bin is equal to the one before it.
    fn equals_previous(&self, bin: usize) -> bool {
        let bins = &self.problem.bins;
        bin > 0 && bins[bin - 1].room == bins[bin].room && bins[bin - 1].takes == bins[bin].takes
    }

    /// By item, how many a bin has.
    fn counts_of(&self, bin: usize) -> &[u16] {
        let items = self.left.len();
        &self.counts[bin * items..(bin + 1) * items]
    }

    /// Computes `addable` of a bin.
    fn sum_addable(&mut self, bin: usize) {
        let (items, dimensions) = (self.left.len(), self.problem.dimensions);
        let first = bin * (items + 1) * dimensions;
        let addable = &mut self.addable[first..first + (items + 1) * dimensions];
        addable[items * dimensions..].fill(0);
        for item in (0..items).rev() {
            for class in 0..dimensions {
                let more = if self.problem.bins[bin].takes[item] {
                    self.problem.items[item].need[class].saturating_mul(self.left[item].into())
                } else {
                    0
                };
                addable[item * dimensions + class] = addable[(item + 1) * dimensions + class].saturating_add(more);
            }
        }
    }

    /// Chooses how many of `item` and of the items after it this bin takes. `bounded`: the bin before it is equal and has
    /// the same counts of the items so far, so that this one may not have more of the next.
    fn choose(&mut self, bin: usize, mut item: usize, bounded: bool) -> PackingVerdict {
        let items = self.left.len();
        while item < items && self.max_count(bin, item) == 0 {
            if self.left[item] > 0 && self.last_bin[item] == bin {
                return PackingVerdict::Impossible;
            }
            if bounded && self.counts_of(bin - 1)[item] > 0 {
                return self.choose(bin, item + 1, false);
            }
            item += 1;
        }
        self.choices += 1;
        if self.choices > self.max_choices || self.interrupt.is_set() {
            return PackingVerdict::Unknown;
        }
        if !self.can_be_filled(bin, item) {
            return PackingVerdict::Impossible;
        }
        if item == items {
            return self.close_bin(bin);
        }
        let max = self.max_count(bin, item);
        let previous = if bounded {
            self.counts_of(bin - 1)[item]
        } else {
            u16::MAX
        };
        let min = if self.last_bin[item] == bin { self.left[item] } else { 0 };
        for count in (min..=max.min(previous)).rev() {
            self.set_count(bin, item, count);
            let verdict = self.choose(bin, item + 1, bounded && count == previous);
            if verdict == PackingVerdict::Fits {
                return verdict;
            }
            self.set_count(bin, item, 0);
            if verdict == PackingVerdict::Unknown {
                return verdict;
            }
        }
        PackingVerdict::Impossible
    }

    /// How many more of an item this bin can take.
    fn max_count(&self, bin: usize, item: usize) -> u16 {
        if self.left[item] == 0 || !self.problem.bins[bin].takes[item] {
            return 0;
        }
        let rooms = self.free[bin].iter().zip(&self.problem.items[item].need);
        let max = rooms.filter(|(_, need)| **need > 0).map(|(free, need)| free / need);
        max.min().unwrap_or(0).clamp(0, self.left[item].into()) as u16
    }

    /// Changes how many of an item this bin has.
    fn set_count(&mut self, bin: usize, item: usize, count: u16) {
        let at = bin * self.left.len() + item;
        let need = &self.problem.items[item].need;
        while self.counts[at] < count {
            take(&mut self.free[bin], need);
            self.counts[at] += 1;
            self.left[item] -= 1;
        }
        while self.counts[at] > count {
            give(&mut self.free[bin], need);
            self.counts[at] -= 1;
            self.left[item] += 1;
        }
    }

    /// Whether items from `item` on can still fill this bin as far as it must be filled.
    fn can_be_filled(&self, bin: usize, item: usize) -> bool {
        let dimensions = self.problem.dimensions;
        let first = (bin * (self.left.len() + 1) + item) * dimensions;
        (0..dimensions).all(|class| {
            let filled = self.problem.bins[bin].room[class] - self.free[bin][class];
            let max = filled.saturating_add(self.addable[first + class]);
            self.min_fill[bin][class] <= max
        })
    }

    /// Goes on to the next bin, unless the set of this one is not maximal or dominated.
    fn close_bin(&mut self, bin: usize) -> PackingVerdict {
        if (0..self.left.len()).any(|item| self.max_count(bin, item) > 0) || self.is_dominated(bin) {
            return PackingVerdict::Impossible;
        }
        self.fill(bin + 1)
    }

    /// Whether a larger item that is left could replace one or two items of this bin, and they could stand where it will.
    fn is_dominated(&self, bin: usize) -> bool {
        let items = self.left.len();
        let here: Vec<usize> = (0..items).filter(|&item| self.counts_of(bin)[item] > 0).collect();
        let larger =
            |item: usize| (0..item).filter(|&other| self.left[other] > 0 && self.problem.bins[bin].takes[other]);
        here.iter().enumerate().any(|(at, &one)| {
            larger(one).any(|large| {
                if !self.replaces[large * items + one] {
                    return false;
                }
                let has_room_without = |items: &[usize]| {
                    (0..self.problem.dimensions).all(|class| {
                        let need = |item: usize| self.problem.items[item].need[class];
                        let returned: i64 = items.iter().map(|&item| need(item)).sum();
                        need(large) == 0 || need(large) <= self.free[bin][class] + returned
                    })
                };
                let both_fit = |two: usize| {
                    let need = |item: usize, class: usize| self.problem.items[item].need[class];
                    let classes = 0..self.problem.dimensions;
                    self.replaces[large * items + two]
                        && classes
                            .into_iter()
                            .all(|class| need(one, class) + need(two, class) <= need(large, class))
                };
                let is_pair = |two: usize| two != one || self.counts_of(bin)[one] > 1;
                has_room_without(&[one])
                    || here[at..]
                        .iter()
                        .any(|&two| is_pair(two) && both_fit(two) && has_room_without(&[one, two]))
            })
        })
    }
}

#[cfg(test)]
mod tests;
