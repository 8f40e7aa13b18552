//! A bound on the capacity of the remaining bins: sums and counts that hold for every packing.
//!
//! Naively, the sum of the remaining items is compared with the sum of all room. This bound is too weak: large items
//! may fit into few bins, and no sum of items may fill a bin exactly. So for every threshold, only the items with at
//! least this need of a class are considered. A bin takes at most a certain number of these items, and at most the
//! greatest sum within its room. The greatest sum is a subset sum, which may be less than the room. If the remaining
//! bins together take fewer items or a smaller sum than remain, there is no packing. This is a Hall-type condition on
//! nested sets.

use std::cmp::Reverse;

use super::packing_problem::{Bin, Item, PackingProblem};

/// Subset sums are computed exactly up to this many units of room. A larger room is assumed to be filled exactly.
const MAX_EXACT_UNITS: i64 = 4096;

/// Of one class, the most that the bin `first` can take, and how much of the capacity of this bin and all later bins
/// may be wasted. `None` if these bins cannot take all `remaining` items.
pub(super) fn usable_and_wasted(
    problem: &PackingProblem,
    class: usize,
    first: usize,
    remaining: &[u16],
) -> Option<(i64, i64)> {
    let needs = problem.items.iter().zip(remaining).enumerate();
    let needs = needs.map(|(item, (Item { need, .. }, &count))| (item, need[class], i64::from(count)));
    // With their needs and numbers, the largest needs first.
    let mut items: Vec<(usize, i64, i64)> = needs.filter(|(_, need, count)| *need > 0 && *count > 0).collect();
    items.sort_by_key(|(_, need, _)| Reverse(*need));
    let unit = items.iter().map(|(_, need, _)| *need).fold(0, gcd);
    // By item: of the items up to this item, the maximum number and sum in the bins so far.
    let mut max: Vec<(i64, i64)> = vec![(0, 0); items.len()];
    let (mut max_sum, mut later_sum) = (0_i64, 0_i64);
    let mut previous: Option<(&Bin, Vec<(i64, i64)>)> = None;
    for bin in problem.bins[first..].iter().rev() {
        let known = previous.take().filter(|(other, _)| other.is_equal(bin));
        let (_, in_bin) = known.unwrap_or_else(|| (bin, most_in_bin(&items, bin, class, unit)));
        for ((count, sum), (more, added)) in max.iter_mut().zip(&in_bin) {
            *count += more;
            *sum = sum.saturating_add(*added);
        }
        (later_sum, max_sum) = (max_sum, max.last().map_or(0, |(_, sum)| *sum));
        previous = Some((bin, in_bin));
    }
    let (mut count, mut sum) = (0_i64, 0_i64);
    for ((_, need, number), (most, greatest)) in items.iter().zip(&max) {
        count += number;
        sum = sum.saturating_add(need.saturating_mul(*number));
        if count > *most || sum > *greatest {
            return None;
        }
    }
    Some((max_sum.saturating_sub(later_sum), max_sum - sum))
}

/// By item: of the items up to this item, the maximum number and the maximum sum in one bin.
fn most_in_bin(items: &[(usize, i64, i64)], bin: &Bin, class: usize, unit: i64) -> Vec<(i64, i64)> {
    let room = bin.room[class];
    let mut sums = SubsetSums::new(room, unit);
    let mut smallest = SmallestItems::default();
    let most = items.iter().map(|&(item, need, count)| {
        if bin.takes[item] {
            sums.add(need, count);
            smallest.add(need, count, room);
        }
        (smallest.count, sums.greatest())
    });
    most.collect()
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

    fn add(&mut self, need: i64, count: i64) {
        match self {
            Self::Exact { bits, room, unit } => {
                let shift = need / *unit;
                (0..count.min(*room / shift)).for_each(|_| shift_in(bits, shift as usize, *room));
            }
            Self::UpperBound { sum, room } => *sum = sum.saturating_add(need.saturating_mul(count)).min(*room),
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
