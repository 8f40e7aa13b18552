//! What a provider can take at most, whatever else it takes: sums and counts that hold for every way to pack.
//!
//! Of the items that need at least so much of a class, a provider takes at most so many, and at most so much of them
//! together: the greatest sum of such items that fits, which may be less than its room. Over all providers that are
//! left this bounds what may be left.

use super::packing::{Bin, Problem};

/// Sums up to so many units are worked out exactly; of a larger room it is supposed that it can be filled.
const EXACT: i64 = 4096;

/// One class.
#[derive(Debug)]
pub(super) struct Tally {
    pub class: usize,
    /// The items that need it, those that need most first.
    items: Vec<usize>,
    /// For each of these and each bin: how many of the items so far all bins from this one on take at most, and how
    /// much of them.
    most: Vec<(i64, i64)>,
    bins: usize,
}

impl Tally {
    /// Of what is `left`, for the bins from `first` on.
    pub fn of(problem: &Problem, class: usize, first: usize, left: &[u16]) -> Self {
        let mut items: Vec<usize> = (0..problem.items.len())
            .filter(|&item| left[item] > 0 && problem.items[item].need[class] > 0)
            .collect();
        items.sort_by_key(|&item| std::cmp::Reverse(problem.items[item].need[class]));
        let bins = problem.bins.len();
        let mut tally = Self {
            class,
            most: vec![(0, 0); items.len() * (bins + 1)],
            items,
            bins,
        };
        let unit = tally
            .items
            .iter()
            .map(|&item| problem.items[item].need[class])
            .fold(0, super::bound::common_divisor);
        let mut alike: Option<(&Bin, Vec<(i64, i64)>)> = None;
        for (at, bin) in problem.bins.iter().enumerate().skip(first).rev() {
            let known = alike.take().filter(|(other, _)| is_alike(other, bin));
            let (_, each) = known.unwrap_or_else(|| (bin, tally.each(problem, bin, unit, left)));
            for (place, &(count, sum)) in each.iter().enumerate() {
                let after = tally.most[place * (bins + 1) + at + 1];
                tally.most[place * (bins + 1) + at] = (after.0 + count, after.1.saturating_add(sum));
            }
            alike = Some((bin, each));
        }
        tally
    }

    /// How much of the class this bin can give away at most, and how much of what all from this one on can give may be
    /// wasted. None where they cannot take what is left.
    pub fn usable(&self, problem: &Problem, bin: usize, left: &[u16]) -> Option<(i64, i64)> {
        let (mut count, mut sum, mut wasted, mut usable) = (0, 0i64, 0, 0);
        for (place, &item) in self.items.iter().enumerate() {
            count += i64::from(left[item]);
            sum = sum.saturating_add(problem.items[item].need[self.class].saturating_mul(left[item].into()));
            let first = place * (self.bins + 1) + bin;
            let (many, much) = self.most[first];
            if count > many || sum > much {
                return None;
            }
            (wasted, usable) = (much - sum, much.saturating_sub(self.most[first + 1].1));
        }
        Some((usable, wasted))
    }

    /// For each item what one bin takes at most of those so far.
    fn each(&self, problem: &Problem, bin: &Bin, unit: i64, left: &[u16]) -> Vec<(i64, i64)> {
        let room = bin.room[self.class];
        let mut sums = Sums::new(room, unit);
        let mut smallest = Smallest::default();
        let mut all = Vec::with_capacity(self.items.len());
        for &item in &self.items {
            let (need, count) = (problem.items[item].need[self.class], usize::from(left[item]));
            if bin.takes[item] {
                sums.add(need, count);
                smallest.add(need, count as i64, room);
            }
            all.push((smallest.count, sums.greatest()));
        }
        all
    }
}

fn is_alike(one: &Bin, other: &Bin) -> bool {
    one.room == other.room && one.takes == other.takes
}

/// As many items as fit, when ever smaller ones come.
#[derive(Default)]
struct Smallest {
    queue: std::collections::VecDeque<(i64, i64)>,
    count: i64,
    sum: i64,
}

impl Smallest {
    fn add(&mut self, need: i64, count: i64, room: i64) {
        // More than fit by themselves make no difference.
        let count = count.min(room / need);
        self.queue.push_back((need, count));
        self.count += count;
        self.sum += need * count;
        while self.sum > room {
            let Some((largest, those)) = self.queue.front_mut() else {
                return;
            };
            let too_many = ((self.sum - room + *largest - 1) / *largest).min(*those);
            *those -= too_many;
            self.count -= too_many;
            self.sum -= *largest * too_many;
            if *those == 0 {
                self.queue.pop_front();
            }
        }
    }
}

/// The sums that items can have, up to a room.
enum Sums {
    /// A bit for each sum, in units.
    Exact {
        bits: Vec<u64>,
        room: i64,
        unit: i64,
    },
    Rough {
        sum: i64,
        room: i64,
    },
}

impl Sums {
    fn new(room: i64, unit: i64) -> Self {
        let unit = unit.max(1);
        let room = room.max(0) / unit;
        if room <= EXACT {
            let mut bits = vec![0; room as usize / 64 + 1];
            bits[0] = 1;
            Self::Exact { bits, room, unit }
        } else {
            Self::Rough {
                sum: 0,
                room: room * unit,
            }
        }
    }

    fn add(&mut self, need: i64, count: usize) {
        match self {
            Self::Exact { bits, room, unit } => {
                let by = need / *unit;
                (0..count.min((*room / by) as usize)).for_each(|_| shift_in(bits, by as usize, *room));
            }
            Self::Rough { sum, room } => *sum = sum.saturating_add(need.saturating_mul(count as i64)).min(*room),
        }
    }

    fn greatest(&self) -> i64 {
        match self {
            Self::Exact { bits, unit, .. } => {
                let word = bits.iter().rposition(|&word| word != 0).unwrap_or(0);
                (word as i64 * 64 + 63 - i64::from(bits[word].leading_zeros())) * unit
            }
            Self::Rough { sum, .. } => *sum,
        }
    }
}

/// Adds to each sum the one that is greater by `by`, up to `room`.
fn shift_in(bits: &mut [u64], by: usize, room: i64) {
    let (words, rest) = (by / 64, by % 64);
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
