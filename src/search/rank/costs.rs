//! Costs: scores in the direction in which the lowest is best.
//!
//! The cost of a candidate is folded from the costs of its placements. Sums are computed in floats, because foreign
//! writers may leave any usage in the tables and integers would overflow. Sums are exact below 2^53. No cost is NaN.

use std::cmp::Ordering;

use super::super::candidate::Placement;
use super::super::snapshot::{ClassCapacity, ClassId, LANES, Snapshot, lanes_of};
use super::{CandidateLoad, Scoring};

/// At this many lanes, computing the costs of all lanes of a block is faster than of these lanes alone.
const DENSE_LANES: u32 = 40;

impl Scoring {
    /// Less than the cost of any candidate.
    pub const NO_BOUND: f64 = f64::NEG_INFINITY;

    /// The cost of one placement. `used` is the usage of the class after the claim. Between -1 and 0 for
    /// [`Scoring::Fullest`], at most 1 for [`Scoring::Emptiest`], at least 0 for [`Scoring::Tightest`].
    fn of_placement(self, used: f64, limit: f64) -> f64 {
        let is_full = limit <= 0.0;
        match self {
            _ if is_full => [-1.0, 1.0, 0.0][self as usize],
            Scoring::Fullest => greater(-(used / limit), -1.0),
            Scoring::Emptiest => lesser(used / limit, 1.0),
            Scoring::Tightest => greater((limit - used) / limit, 0.0),
        }
    }

    /// The cost of two placements, or groups of placements, together.
    pub fn fold(self, one: f64, other: f64) -> f64 {
        match self {
            Scoring::Fullest => lesser(one, other),
            Scoring::Emptiest => greater(one, other),
            Scoring::Tightest => one + other,
        }
    }

    /// The cost of no placement: the neutral element of [`Scoring::fold`].
    pub fn no_cost(self) -> f64 {
        match self {
            Scoring::Fullest => f64::INFINITY,
            Scoring::Emptiest => f64::NEG_INFINITY,
            Scoring::Tightest => 0.0,
        }
    }

    /// Adds the costs of `amounts` to the costs of the `lanes` of a block. All other costs become meaningless.
    pub fn add_block(
        self,
        costs: &mut [f64; LANES],
        snapshot: &Snapshot,
        block: usize,
        lanes: u64,
        amounts: &[(ClassId, i64)],
    ) {
        let data = snapshot.blocks.get(block);
        for &(class, amount) in amounts {
            let Some(column) = data.profile.column(class) else {
                continue;
            };
            let (limits, used) = (&column.limits, data.usage.used(class));
            let amount = amount as f64;
            // A `match` outside of the loops, so that each loop has the formulas of one scoring only.
            match self {
                Scoring::Fullest => each_lane(lanes, |lane| {
                    let cost = Scoring::Fullest.of_placement(used[lane] as f64 + amount, limits[lane] as f64);
                    costs[lane] = Scoring::Fullest.fold(costs[lane], cost);
                }),
                Scoring::Emptiest => each_lane(lanes, |lane| {
                    let cost = Scoring::Emptiest.of_placement(used[lane] as f64 + amount, limits[lane] as f64);
                    costs[lane] = Scoring::Emptiest.fold(costs[lane], cost);
                }),
                Scoring::Tightest => each_lane(lanes, |lane| {
                    let cost = Scoring::Tightest.of_placement(used[lane] as f64 + amount, limits[lane] as f64);
                    costs[lane] = Scoring::Tightest.fold(costs[lane], cost);
                }),
            }
        }
    }

    /// The subset of the `lanes` of a block at which `amounts` cost less than `max`, and the costs of these lanes.
    pub fn costs_below(
        self,
        max: f64,
        snapshot: &Snapshot,
        (block, mut lanes): (usize, u64),
        amounts: &[(ClassId, i64)],
    ) -> (u64, [f64; LANES]) {
        let mut costs = [self.no_cost(); LANES];
        for (at, amount) in amounts.iter().enumerate() {
            self.add_block(&mut costs, snapshot, block, lanes, std::slice::from_ref(amount));
            // A further class makes only `fullest` cost less. Otherwise most lanes are out after the first class.
            if self != Scoring::Fullest || at + 1 == amounts.len() {
                lanes &= (0..LANES)
                    .rev()
                    .fold(0, |below, lane| below << 1 | u64::from(costs[lane] < max));
            }
        }
        (lanes, costs)
    }

    /// A lower bound of the costs of `amounts` at any one provider of a block.
    pub fn bound_in_block(self, snapshot: &Snapshot, block: usize, amounts: &[(ClassId, i64)]) -> f64 {
        let capacity = snapshot.blocks.get(block).free_capacity();
        let classes = amounts.iter().filter_map(|&(class, amount)| {
            let capacity = capacity.of_class(class)?;
            Some(self.bound_of_class(capacity, amount))
        });
        classes.fold(self.no_cost(), |all, bound| self.fold(all, bound))
    }

    /// A lower bound of the costs of one placement. Exact if all lanes have the same limit, as mostly in a block.
    fn bound_of_class(self, capacity: &ClassCapacity, amount: i64) -> f64 {
        let ((least_used, greatest_used), (least_limit, greatest_limit)) = (capacity.used, capacity.limits);
        let (used, limit) = match self {
            Scoring::Emptiest => (least_used, greatest_limit),
            Scoring::Fullest | Scoring::Tightest => (greatest_used, least_limit),
        };
        let used = used as f64 + amount as f64;
        // Foreign writers may leave sums below zero, for which the opposite limit would count.
        if used < 0.0 {
            Scoring::NO_BOUND
        } else {
            self.of_placement(used, limit as f64)
        }
    }

    /// The cost of a candidate.
    pub fn cost(self, snapshot: &Snapshot, placements: &[Placement]) -> f64 {
        let costs = placements.iter().map(|placement| {
            let (limit, used) = snapshot.limit_and_used(placement.slot, placement.class);
            self.of_placement(used as f64 + placement.amount as f64, limit as f64)
        });
        costs.fold(self.no_cost(), |all, cost| self.fold(all, cost))
    }

    /// The cost of a candidate with these loads.
    pub fn cost_of_loads(self, loads: impl Iterator<Item = CandidateLoad>) -> f64 {
        let costs = loads.map(|load| self.of_placement(load.used as f64, load.limit as f64));
        costs.fold(self.no_cost(), |all, cost| self.fold(all, cost))
    }

    /// The score of a candidate, as callers see it.
    pub fn score(self, snapshot: &Snapshot, placements: &[Placement]) -> f64 {
        let cost = self.cost(snapshot, placements);
        match self {
            Scoring::Fullest => -cost,
            Scoring::Emptiest | Scoring::Tightest => cost,
        }
    }
}

/// A cost, or a bound of costs, in the total order of floats.
#[derive(Clone, Copy, Debug)]
pub(in crate::search) struct RankCost(pub f64);

impl Ord for RankCost {
    fn cmp(&self, other: &Self) -> Ordering {
        self.0.total_cmp(&other.0)
    }
}

impl PartialOrd for RankCost {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for RankCost {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for RankCost {}

/// Calls `act` with all of `lanes`, and perhaps with further lanes.
fn each_lane(lanes: u64, act: impl FnMut(usize)) {
    if lanes.count_ones() < DENSE_LANES {
        lanes_of(lanes).for_each(act);
    } else {
        (0..LANES).for_each(act);
    }
}

/// The minimum. Unlike `f64::min`, which must respect NaN, the comparison is one instruction.
pub(in crate::search) fn lesser(one: f64, other: f64) -> f64 {
    if one < other { one } else { other }
}

fn greater(one: f64, other: f64) -> f64 {
    if one > other { one } else { other }
}
