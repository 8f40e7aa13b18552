//! A bound on the capacity of the remaining bins: sums and counts that hold for every packing.
//!
//! Naively, the sum of the remaining items is compared with the sum of all room. This bound is too weak: large items
//! may fit into few bins, and no sum of items may fill a bin exactly. So for every threshold, only the items with at
//! least this need of a class are considered. A bin takes at most a certain number of these items, and at most the
//! greatest sum within its room. The greatest sum is a subset sum, which may be less than the room. If the remaining
//! bins together take fewer items or a smaller sum than remain, there is no packing. This is a Hall-type condition on
//! nested sets.

use super::packing_problem::{Bin, PackingProblem};

/// Subset sums are computed exactly up to this many units of room. A larger room is assumed to be filled exactly.
const MAX_EXACT_UNITS: i64 = 4096;

/// The bound for one class.
#[derive(Debug)]
pub(super) struct CapacityBound {
    class: usize,
    /// The items with a need of the class, the largest needs first.
    items: Vec<usize>,
    /// By item and bin: of the items up to this item, the maximum number and sum in all bins from this bin on.
    max: Vec<(i64, i64)>,
    bins: usize,
}

impl CapacityBound {
    /// The bound for the `remaining` items and the bins from `first` on.
    pub fn new(problem: &PackingProblem, class: usize, first: usize, remaining: &[u16]) -> Self {
        let mut items: Vec<usize> = (0..problem.items.len())
            .filter(|&item| remaining[item] > 0 && problem.items[item].need[class] > 0)
            .collect();
        items.sort_by_key(|&item| std::cmp::Reverse(problem.items[item].need[class]));
        let bins = problem.bins.len();
        let mut bound = Self {
            class,
            max: vec![(0, 0); items.len() * (bins + 1)],
            items,
            bins,
        };
        let unit = bound
            .items
            .iter()
            .map(|&item| problem.items[item].need[class])
            .fold(0, gcd);
        let mut previous: Option<(&Bin, Vec<(i64, i64)>)> = None;
        for (at, bin) in problem.bins.iter().enumerate().skip(first).rev() {
            let known = previous.take().filter(|(other, _)| other.is_equal(bin));
            let (_, max_per_item) = known.unwrap_or_else(|| (bin, bound.of_bin(problem, bin, unit, remaining)));
            for (at_item, &(count, sum)) in max_per_item.iter().enumerate() {
                let after = bound.max[at_item * (bins + 1) + at + 1];
                bound.max[at_item * (bins + 1) + at] = (after.0 + count, after.1.saturating_add(sum));
            }
            previous = Some((bin, max_per_item));
        }
        bound
    }

    /// How much of the class this bin can take at most, and how much of the capacity of all bins from this bin on may
    /// be wasted. `None` if these bins cannot take all `remaining` items.
    pub fn usable(&self, problem: &PackingProblem, bin: usize, remaining: &[u16]) -> Option<(i64, i64)> {
        let (mut count, mut sum, mut wasted, mut usable) = (0, 0i64, 0, 0);
        for (at_item, &item) in self.items.iter().enumerate() {
            count += i64::from(remaining[item]);
            sum = sum.saturating_add(problem.items[item].need[self.class].saturating_mul(remaining[item].into()));
            let first = at_item * (self.bins + 1) + bin;
            let (max_count, max_sum) = self.max[first];
            if count > max_count || sum > max_sum {
                return None;
            }
            (wasted, usable) = (max_sum - sum, max_sum.saturating_sub(self.max[first + 1].1));
        }
        Some((usable, wasted))
    }

    /// By item: of the items up to this item, the maximum number and the maximum sum in one bin.
    fn of_bin(&self, problem: &PackingProblem, bin: &Bin, unit: i64, remaining: &[u16]) -> Vec<(i64, i64)> {
        let room = bin.room[self.class];
        let mut sums = SubsetSums::new(room, unit);
        let mut smallest = SmallestItems::default();
        let mut all = Vec::with_capacity(self.items.len());
        for &item in &self.items {
            let (need, count) = (problem.items[item].need[self.class], usize::from(remaining[item]));
            if bin.takes[item] {
                sums.add(need, count);
                smallest.add(need, count as i64, room);
            }
            all.push((smallest.count, sums.greatest()));
        }
        all
    }
}

/// The highest number of items that fit, by taking the smallest items. Items are added from large to small.
#[derive(Default)]
struct SmallestItems {
    queue: std::collections::VecDeque<(i64, i64)>,
    count: i64,
    sum: i64,
}

impl SmallestItems {
    fn add(&mut self, need: i64, count: i64, room: i64) {
        // More items than fit alone make no difference.
        let count = count.min(room / need);
        self.queue.push_back((need, count));
        self.count += count;
        self.sum += need * count;
        while self.sum > room {
            let Some((largest, largest_count)) = self.queue.front_mut() else {
                return;
            };
            let excess = ((self.sum - room + *largest - 1) / *largest).min(*largest_count);
            *largest_count -= excess;
            self.count -= excess;
            self.sum -= *largest * excess;
            if *largest_count == 0 {
                self.queue.pop_front();
            }
        }
    }
}

/// The possible sums of subsets of the items, up to a room.
enum SubsetSums {
    /// A bit for each sum, in units that divide all needs.
    Exact { bits: Vec<u64>, room: i64, unit: i64 },
    /// The sum of all items, at most the room.
    UpperBound { sum: i64, room: i64 },
}

impl SubsetSums {
    fn new(room: i64, unit: i64) -> Self {
        let unit = unit.max(1);
        let room = room.max(0) / unit;
        if room <= MAX_EXACT_UNITS {
            let mut bits = vec![0; room as usize / 64 + 1];
            bits[0] = 1;
            Self::Exact { bits, room, unit }
        } else {
            Self::UpperBound {
                sum: 0,
                room: room * unit,
            }
        }
    }

    fn add(&mut self, need: i64, count: usize) {
        match self {
            Self::Exact { bits, room, unit } => {
                let shift = need / *unit;
                (0..count.min((*room / shift) as usize)).for_each(|_| shift_in(bits, shift as usize, *room));
            }
            Self::UpperBound { sum, room } => *sum = sum.saturating_add(need.saturating_mul(count as i64)).min(*room),
        }
    }

    fn greatest(&self) -> i64 {
        match self {
            Self::Exact { bits, unit, .. } => {
                let word = bits.iter().rposition(|&word| word != 0).unwrap_or(0);
                (word as i64 * 64 + 63 - i64::from(bits[word].leading_zeros())) * unit
            }
            Self::UpperBound { sum, .. } => *sum,
        }
    }
}

/// Adds to the set of sums every sum plus `by`, up to `room`.
fn shift_in(bits: &mut [u64], shift: usize, room: i64) {
    let (words, rest) = (shift / 64, shift % 64);
    for at in (words..bits.len()).rev() {
        let low = bits[at - words] << rest;
        let high = match (at - words).checked_sub(1) {
            Some(before) if rest > 0 => bits[before] >> (64 - rest),
            _ => 0,
        };
        bits[at] |= low | high;
    }
    let last = bits.len() - 1;
    bits[last] &= u64::MAX >> (63 - room as usize % 64);
}

/// The greatest common divisor.
pub(super) fn gcd(one: i64, other: i64) -> i64 {
    if other == 0 { one } else { gcd(other, one % other) }
}
