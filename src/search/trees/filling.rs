//! One provider after the other is filled with a set of items, and what does not lead anywhere is remembered.
//!
//! Of all ways to pack, one is the first if the items of the first provider are compared, then those of the second, and
//! so on, many and big ones first. Only what may be this one is tried: a provider takes all that it has room for; no
//! item that could be replaced by a bigger one that is left over, nor two by one; and of equal providers the later one
//! has no greater set. Nor is a provider left emptier than the others can make up for.

use std::collections::HashSet;

use super::super::interrupt::Interrupt;
use super::packing::{Problem, Verdict, fits, give, take};
use super::tallies::Tally;

/// So many dead ends are remembered; then they are forgotten.
const MOST: usize = 1 << 16;

pub(super) struct Filling<'a> {
    problem: &'a Problem,
    /// How many of each item are left.
    left: Vec<u16>,
    /// By bin what it has of each item.
    sets: Vec<u16>,
    /// By bin what is left of its room, and the sums from each item on that it could still take.
    free: Vec<Vec<i64>>,
    ahead: Vec<i64>,
    /// By bin how much of each class it has to give away, so that the others can take the rest.
    least: Vec<Vec<i64>>,
    /// By item the last bin that takes it.
    last: Vec<usize>,
    /// By two items: may the second stand wherever the first does?
    replaces: Vec<bool>,
    dead: HashSet<Box<[u16]>>,
    most: u64,
    interrupt: &'a Interrupt,
    pub choices: u64,
}

impl<'a> Filling<'a> {
    /// Gives up after `most` choices, and where it is interrupted.
    pub fn new(problem: &'a Problem, most: u64, interrupt: &'a Interrupt) -> Self {
        let (items, bins, dimensions) = (problem.items.len(), problem.bins.len(), problem.dimensions);
        let last = |item: usize| problem.bins.iter().rposition(|bin| bin.takes[item]).unwrap_or(0);
        let replaces = |first: usize, second: usize| {
            fits(&problem.items[second].need, &problem.items[first].need)
                && problem.bins.iter().all(|bin| bin.takes[second] || !bin.takes[first])
        };
        Self {
            left: problem.items.iter().map(|item| item.count as u16).collect(),
            sets: vec![0; items * bins],
            free: problem.bins.iter().map(|bin| bin.room.clone()).collect(),
            ahead: vec![0; bins * (items + 1) * dimensions],
            least: vec![vec![0; dimensions]; bins],
            last: (0..items).map(last).collect(),
            replaces: (0..items * items).map(|at| replaces(at / items, at % items)).collect(),
            dead: HashSet::new(),
            most,
            interrupt,
            choices: 0,
            problem,
        }
    }

    pub fn search(&mut self) -> Verdict {
        let takers = |item: usize| self.problem.bins.iter().any(|bin| bin.takes[item]);
        if !(0..self.left.len()).all(takers) {
            return Verdict::Never;
        }
        self.fill(0)
    }

    /// Kinds and providers of the way that was found.
    pub fn found(&self) -> Vec<(usize, usize)> {
        let items = self.left.len();
        let placed = self.sets.iter().enumerate().flat_map(|(at, &count)| {
            let pair = (
                self.problem.items[at % items].kind,
                self.problem.bins[at / items].provider,
            );
            std::iter::repeat_n(pair, count.into())
        });
        placed.collect()
    }

    /// Packs what is left into this bin and those after it.
    fn fill(&mut self, bin: usize) -> Verdict {
        if self.left.iter().all(|&left| left == 0) {
            return Verdict::Fits;
        }
        if bin == self.problem.bins.len() {
            return Verdict::Never;
        }
        // That an equal bin before it bounds what this one may have is no part of the state: what it forbids was tried
        // before, with the two exchanged.
        let state: Box<[u16]> = self.left.iter().copied().chain([bin as u16]).collect();
        if self.dead.contains(&state) {
            return Verdict::Never;
        }
        let verdict = if self.tally(bin) {
            self.look_ahead(bin);
            self.choose(bin, 0, self.is_as_before(bin))
        } else {
            Verdict::Never
        };
        if verdict == Verdict::Never {
            if self.dead.len() == MOST {
                self.dead.clear();
            }
            self.dead.insert(state);
        }
        verdict
    }

    /// False where this bin and those after it cannot take what is left.
    fn tally(&mut self, bin: usize) -> bool {
        // As dear as so many choices.
        self.choices += 1 + ((self.problem.bins.len() - bin) * self.left.len() / 16) as u64;
        (0..self.problem.dimensions).all(|class| {
            let tally = Tally::of(self.problem, class, bin, &self.left);
            let Some((usable, wasted)) = tally.usable(self.problem, bin, &self.left) else {
                return false;
            };
            self.least[bin][class] = usable - wasted;
            true
        })
    }

    fn is_as_before(&self, bin: usize) -> bool {
        let bins = &self.problem.bins;
        bin > 0 && bins[bin - 1].room == bins[bin].room && bins[bin - 1].takes == bins[bin].takes
    }

    fn set(&self, bin: usize) -> &[u16] {
        let items = self.left.len();
        &self.sets[bin * items..(bin + 1) * items]
    }

    fn look_ahead(&mut self, bin: usize) {
        let (items, dimensions) = (self.left.len(), self.problem.dimensions);
        let first = bin * (items + 1) * dimensions;
        let ahead = &mut self.ahead[first..first + (items + 1) * dimensions];
        ahead[items * dimensions..].fill(0);
        for item in (0..items).rev() {
            for class in 0..dimensions {
                let more = if self.problem.bins[bin].takes[item] {
                    self.problem.items[item].need[class].saturating_mul(self.left[item].into())
                } else {
                    0
                };
                ahead[item * dimensions + class] = ahead[(item + 1) * dimensions + class].saturating_add(more);
            }
        }
    }

    /// Chooses how many of `item` this bin takes, and of those after it. `bounded`: has an equal bin before it the same
    /// so far?
    fn choose(&mut self, bin: usize, mut item: usize, bounded: bool) -> Verdict {
        let items = self.left.len();
        while item < items && self.takes(bin, item) == 0 {
            if self.left[item] > 0 && self.last[item] == bin {
                return Verdict::Never;
            }
            if bounded && self.set(bin - 1)[item] > 0 {
                return self.choose(bin, item + 1, false);
            }
            item += 1;
        }
        self.choices += 1;
        if self.choices > self.most || self.interrupt.is_set() {
            return Verdict::Unknown;
        }
        if !self.wastes_little(bin, item) {
            return Verdict::Never;
        }
        if item == items {
            return self.close(bin);
        }
        let most = self.takes(bin, item);
        let before = if bounded { self.set(bin - 1)[item] } else { u16::MAX };
        let least = if self.last[item] == bin { self.left[item] } else { 0 };
        for count in (least..=most.min(before)).rev() {
            self.put(bin, item, count);
            let verdict = self.choose(bin, item + 1, bounded && count == before);
            if verdict == Verdict::Fits {
                return verdict;
            }
            self.put(bin, item, 0);
            if verdict == Verdict::Unknown {
                return verdict;
            }
        }
        Verdict::Never
    }

    /// How many of an item this bin has room for.
    fn takes(&self, bin: usize, item: usize) -> u16 {
        if self.left[item] == 0 || !self.problem.bins[bin].takes[item] {
            return 0;
        }
        let rooms = self.free[bin].iter().zip(&self.problem.items[item].need);
        let most = rooms.filter(|(_, need)| **need > 0).map(|(free, need)| free / need);
        most.min().unwrap_or(0).clamp(0, self.left[item].into()) as u16
    }

    fn put(&mut self, bin: usize, item: usize, count: u16) {
        let at = bin * self.left.len() + item;
        let need = &self.problem.items[item].need;
        while self.sets[at] < count {
            take(&mut self.free[bin], need);
            self.sets[at] += 1;
            self.left[item] -= 1;
        }
        while self.sets[at] > count {
            give(&mut self.free[bin], need);
            self.sets[at] -= 1;
            self.left[item] += 1;
        }
    }

    /// Could this bin, with items from `item` on, be filled as far as it has to be?
    fn wastes_little(&self, bin: usize, item: usize) -> bool {
        let dimensions = self.problem.dimensions;
        let first = (bin * (self.left.len() + 1) + item) * dimensions;
        (0..dimensions).all(|class| {
            let given = self.problem.bins[bin].room[class] - self.free[bin][class];
            let most = given.saturating_add(self.ahead[first + class]);
            self.least[bin][class] <= most
        })
    }

    /// Goes on to the next bin, unless this one could have been filled better.
    fn close(&mut self, bin: usize) -> Verdict {
        if (0..self.left.len()).any(|item| self.takes(bin, item) > 0) || self.is_beaten(bin) {
            return Verdict::Never;
        }
        self.fill(bin + 1)
    }

    /// Could something bigger that is left stand where one or two of this bin's items do, and they where it will?
    fn is_beaten(&self, bin: usize) -> bool {
        let items = self.left.len();
        let here: Vec<usize> = (0..items).filter(|&item| self.set(bin)[item] > 0).collect();
        let bigger = |item: usize| (0..item).filter(|&it| self.left[it] > 0 && self.problem.bins[bin].takes[it]);
        here.iter().enumerate().any(|(at, &one)| {
            bigger(one).any(|big| {
                if !self.replaces[big * items + one] {
                    return false;
                }
                let has_room = |others: &[usize]| {
                    (0..self.problem.dimensions).all(|class| {
                        let need = |item: usize| self.problem.items[item].need[class];
                        let back: i64 = others.iter().map(|&it| need(it)).sum();
                        need(big) == 0 || need(big) <= self.free[bin][class] + back
                    })
                };
                let both_fit = |two: usize| {
                    let need = |item: usize, class: usize| self.problem.items[item].need[class];
                    let classes = 0..self.problem.dimensions;
                    self.replaces[big * items + two]
                        && classes
                            .into_iter()
                            .all(|class| need(one, class) + need(two, class) <= need(big, class))
                };
                has_room(&[one])
                    || here[at..]
                        .iter()
                        .any(|&two| (two != one || self.set(bin)[one] > 1) && both_fit(two) && has_room(&[one, two]))
            })
        })
    }
}

#[cfg(test)]
mod tests;
