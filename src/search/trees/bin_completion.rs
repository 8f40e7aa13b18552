//! An exact search for a packing, by bin completion: bins are filled one after the other, each with a set of items.
//!
//! Naively, item by item is placed, with a try of every bin for each item. With many equal bins and items, the same
//! packing is tried in very many orders. Bin completion fills bin after bin instead, and searches only for the first
//! packing in a lexicographic order. The counts of the first bin are compared first, then the counts of the second and
//! so on. More and larger items come first. So the search prunes:
//!
//! - sets to which an item could be added (a set must be maximal);
//! - dominated sets: a larger remaining item could replace one or two smaller items, which fit wherever the larger
//!   does;
//! - of two equal neighbouring bins, a set of the second greater than the set of the first (symmetry);
//! - sets that leave more to the later bins than the later bins can take (`capacity_bound`);
//! - states without a packing, found before: a bin with the remaining items (nogoods).

use std::collections::HashSet;

use super::capacity_bound::usable_and_wasted;
use super::packing_problem::{PackingProblem, PackingVerdict, add_back, fits, subtract};
use crate::interrupt::Interrupt;

/// The maximum number of nogoods. When the maximum is reached, all nogoods are dropped.
const MAX_NOGOODS: usize = 1 << 16;

pub(super) struct BinCompletion<'a> {
    problem: &'a PackingProblem,
    /// By item, the number not packed yet.
    remaining: Vec<u16>,
    /// By bin and item, the number in the bin.
    counts: Vec<u16>,
    /// By bin, the free room.
    free: Vec<Vec<i64>>,
    /// By bin, item and dimension: how much this item and the later items could still add to the bin.
    addable: Vec<i64>,
    /// By bin and dimension: the least that the bin must take, so that the later bins can take the rest.
    min_fill: Vec<Vec<i64>>,
    /// By item, the last bin that can take the item.
    last_bin: Vec<usize>,
    /// By two items, whether the second fits wherever the first does.
    replaces: Vec<bool>,
    /// Bins with the remaining items, if no packing was found from this state.
    nogoods: HashSet<Box<[u16]>>,
    max_choices: u64,
    interrupt: &'a Interrupt,
    pub choices: u64,
}

impl<'a> BinCompletion<'a> {
    /// Gives up after `max_choices`, or if interrupted.
    pub fn new(problem: &'a PackingProblem, max_choices: u64, interrupt: &'a Interrupt) -> Self {
        let (items, bins, dimensions) = (problem.items.len(), problem.bins.len(), problem.dimensions);
        let last_bin = |item: usize| problem.bins.iter().rposition(|bin| bin.takes[item]).unwrap_or(0);
        let replaces = |first: usize, second: usize| {
            fits(&problem.items[second].need, &problem.items[first].need)
                && problem.bins.iter().all(|bin| bin.takes[second] || !bin.takes[first])
        };
        Self {
            remaining: problem.items.iter().map(|item| item.count as u16).collect(),
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
        if !(0..self.remaining.len()).all(takers) {
            return PackingVerdict::Impossible;
        }
        self.fill(0)
    }

    /// The packing found: kinds with providers.
    pub fn found(&self) -> Vec<(usize, usize)> {
        let items = self.remaining.len();
        let placed = self.counts.iter().enumerate().flat_map(|(at, &count)| {
            let pair = (
                self.problem.items[at % items].kind,
                self.problem.bins[at / items].provider,
            );
            std::iter::repeat_n(pair, count.into())
        });
        placed.collect()
    }

    /// Packs all remaining items into this bin and the later bins.
    fn fill(&mut self, bin: usize) -> PackingVerdict {
        if self.remaining.iter().all(|&count| count == 0) {
            return PackingVerdict::Fits;
        }
        if bin == self.problem.bins.len() {
            return PackingVerdict::Impossible;
        }
        // The state does not say whether an equal previous bin bounds the set of this bin (symmetry). Sets beyond this
        // bound were tried before, with the two bins exchanged.
        let state: Box<[u16]> = self.remaining.iter().copied().chain([bin as u16]).collect();
        if self.nogoods.contains(&state) {
            return PackingVerdict::Impossible;
        }
        let verdict = if self.check_capacity(bin) {
            self.sum_addable(bin);
            let bins = &self.problem.bins;
            let equals_previous = bin > 0 && bins[bin - 1].is_equal(&bins[bin]);
            self.choose(bin, 0, equals_previous)
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

    /// False if this bin and the later bins cannot take all remaining items, by a bound for each dimension.
    fn check_capacity(&mut self, bin: usize) -> bool {
        // The bounds cost about as much as this many choices.
        self.choices += 1 + ((self.problem.bins.len() - bin) * self.remaining.len() / 16) as u64;
        (0..self.problem.dimensions).all(|class| {
            let bound = usable_and_wasted(self.problem, class, bin, &self.remaining);
            if let Some((usable, wasted)) = bound {
                self.min_fill[bin][class] = usable - wasted;
            }
            bound.is_some()
        })
    }

    /// By item, the number in a bin.
    fn counts_of(&self, bin: usize) -> &[u16] {
        let items = self.remaining.len();
        &self.counts[bin * items..(bin + 1) * items]
    }

    /// Computes `addable` of a bin.
    fn sum_addable(&mut self, bin: usize) {
        let (items, dimensions) = (self.remaining.len(), self.problem.dimensions);
        let first = bin * (items + 1) * dimensions;
        let addable = &mut self.addable[first..first + (items + 1) * dimensions];
        addable[items * dimensions..].fill(0);
        for item in (0..items).rev() {
            for class in 0..dimensions {
                let more = if self.problem.bins[bin].takes[item] {
                    self.problem.items[item].need[class].saturating_mul(self.remaining[item].into())
                } else {
                    0
                };
                addable[item * dimensions + class] = addable[(item + 1) * dimensions + class].saturating_add(more);
            }
        }
    }

    /// Chooses how many of `item` and of the later items this bin takes. `bounded`: the previous bin is equal and has
    /// the same counts of the items so far. The previous bin's count of the next item is then the maximum for this bin.
    fn choose(&mut self, bin: usize, mut item: usize, bounded: bool) -> PackingVerdict {
        let items = self.remaining.len();
        while item < items && self.max_count(bin, item) == 0 {
            if self.remaining[item] > 0 && self.last_bin[item] == bin {
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
        let min = if self.last_bin[item] == bin {
            self.remaining[item]
        } else {
            0
        };
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
        if self.remaining[item] == 0 || !self.problem.bins[bin].takes[item] {
            return 0;
        }
        let rooms = self.free[bin].iter().zip(&self.problem.items[item].need);
        let max = rooms.filter(|(_, need)| **need > 0).map(|(free, need)| free / need);
        max.min().unwrap_or(0).clamp(0, self.remaining[item].into()) as u16
    }

    /// Changes how many of an item this bin has.
    fn set_count(&mut self, bin: usize, item: usize, count: u16) {
        let at = bin * self.remaining.len() + item;
        let need = &self.problem.items[item].need;
        while self.counts[at] < count {
            subtract(&mut self.free[bin], need);
            self.counts[at] += 1;
            self.remaining[item] -= 1;
        }
        while self.counts[at] > count {
            add_back(&mut self.free[bin], need);
            self.counts[at] -= 1;
            self.remaining[item] += 1;
        }
    }

    /// Whether items from `item` on can still fill this bin to its minimum.
    fn can_be_filled(&self, bin: usize, item: usize) -> bool {
        let dimensions = self.problem.dimensions;
        let first = (bin * (self.remaining.len() + 1) + item) * dimensions;
        (0..dimensions).all(|class| {
            let filled = self.problem.bins[bin].room[class] - self.free[bin][class];
            let max = filled.saturating_add(self.addable[first + class]);
            self.min_fill[bin][class] <= max
        })
    }

    /// Continues with the next bin, if the set of this bin is maximal and not dominated.
    fn close_bin(&mut self, bin: usize) -> PackingVerdict {
        if (0..self.remaining.len()).any(|item| self.max_count(bin, item) > 0) || self.is_dominated(bin) {
            return PackingVerdict::Impossible;
        }
        self.fill(bin + 1)
    }

    /// Whether a larger remaining item could replace one or two items of this bin, which fit wherever the larger does.
    fn is_dominated(&self, bin: usize) -> bool {
        let items = self.remaining.len();
        let packed: Vec<usize> = (0..items).filter(|&item| self.counts_of(bin)[item] > 0).collect();
        let larger =
            |item: usize| (0..item).filter(|&other| self.remaining[other] > 0 && self.problem.bins[bin].takes[other]);
        packed.iter().enumerate().any(|(at, &one)| {
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
                    let mut classes = 0..self.problem.dimensions;
                    self.replaces[large * items + two]
                        && classes.all(|class| need(one, class) + need(two, class) <= need(large, class))
                };
                let is_pair = |two: usize| two != one || self.counts_of(bin)[one] > 1;
                has_room_without(&[one])
                    || packed[at..]
                        .iter()
                        .any(|&two| is_pair(two) && both_fit(two) && has_room_without(&[one, two]))
            })
        })
    }
}

#[cfg(test)]
mod tests;
