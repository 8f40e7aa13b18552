//! The cost of a placement, by which placements are compared. Costs are a group with an order, because the flow adds
//! and subtracts costs.

use std::ops::{Add, AddAssign, Mul, Neg, Sub};

use super::rules::Level;
use crate::mutants::{Mutant, is};

/// The cost of a placement or a part of a placement. Fields are compared in their order; the least cost is best.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Cost {
    /// The number of replicas by which hard bounds are not met.
    hard: i64,
    /// Violations of rules which may be broken.
    soft: i64,
    over: i64,
    /// Violations of rules of level `Prefer`, and the score.
    rank: i64,
    /// The squares of the domains' counts, with the weights of `compared::evenness`.
    uneven: i128,
    hash: i64,
}

impl Cost {
    pub const ZERO: Cost = Cost::new(0, 0, 0, 0, 0);
    /// The cost of a replica by which a hard bound is not met.
    pub const HARD: Cost = Cost::new(1, 0, 0, 0, 0);
    /// Less than any relevant difference.
    pub const LEAST: Cost = Cost::new(0, 0, 0, 0, 1);
    const SOFT: Cost = Cost::new(0, 1, 0, 0, 0);
    /// More than the scores of 1,000 replicas together.
    const PREFER: Cost = Cost::new(0, 0, 0, 1 << 48, 0);
    /// The cost of a broken hard rule, if hard rules may be broken: more than all soft violations of 1,000 replicas.
    const BROKEN: Cost = Cost::new(0, 1 << 18, 0, 0, 0);
    /// The cost of a kept replica on a host excluded by a hard rule: more than the cost of all broken rules.
    pub const UNFIT: Cost = Cost::new(0, 1 << 36, 0, 0, 0);
    /// The cost of a kept replica on a lost host: more than the cost of 1,000 unfit replicas.
    pub const LOST: Cost = Cost::new(0, 1 << 46, 0, 0, 0);
    const MAX_OVER: i64 = 1 << 40;
    const MAX_SCORE: i64 = 1 << 35;

    const fn new(hard: i64, soft: i64, over: i64, rank: i64, hash: i64) -> Cost {
        Cost {
            hard,
            soft,
            over,
            rank,
            uneven: 0,
            hash,
        }
    }

    /// The cost of a replica. Greater amounts are cut, so sums of 1,000 replicas cannot overflow.
    pub fn of_replica(over: i64, score: i64, hash: u64) -> Cost {
        Cost {
            over: over.clamp(0, Cost::MAX_OVER),
            rank: score.clamp(-Cost::MAX_SCORE, Cost::MAX_SCORE),
            hash: (hash >> 24) as i64,
            ..Cost::ZERO
        }
    }

    /// The cost of a domain with `count` replicas, by the weight of the domain's level: even counts have the least
    /// squares.
    pub fn of_square(weight: i128, count: u32) -> Cost {
        let uneven = weight * i128::from(count) * i128::from(count);
        Cost {
            uneven: if is(Mutant::EvennessLast) { 0 } else { uneven },
            ..Cost::ZERO
        }
    }

    /// The cost of a staying replica, by the place of the replica in the order of ids.
    pub fn of_index(at: usize) -> Cost {
        Cost::LEAST * at as u32
    }

    /// The cost of a violation of a rule which may be broken.
    pub fn of_level(level: Level) -> Cost {
        match level {
            Level::Hard => Cost::BROKEN,
            Level::Soft => Cost::SOFT,
            Level::Prefer => Cost::PREFER,
        }
    }

    /// The fields before the rank.
    pub fn before_rank(self) -> Cost {
        Cost {
            rank: 0,
            uneven: 0,
            hash: 0,
            ..self
        }
    }

    /// All fields but the last.
    pub fn before_hash(self) -> Cost {
        Cost { hash: 0, ..self }
    }

    /// All fields but the hard bounds, to compare placements within these bounds.
    pub fn beyond_hard_bounds(self) -> Cost {
        Cost { hard: 0, ..self }
    }

    /// Whether no hard bound lacks a replica.
    pub fn keeps_hard_bounds(self) -> bool {
        self.hard <= 0
    }
}

impl Add for Cost {
    type Output = Cost;

    fn add(self, other: Cost) -> Cost {
        Cost {
            hard: self.hard + other.hard,
            soft: self.soft + other.soft,
            over: self.over + other.over,
            rank: self.rank + other.rank,
            uneven: self.uneven + other.uneven,
            hash: self.hash + other.hash,
        }
    }
}

impl AddAssign for Cost {
    fn add_assign(&mut self, other: Cost) {
        *self = *self + other;
    }
}

impl Neg for Cost {
    type Output = Cost;

    fn neg(self) -> Cost {
        Cost::ZERO - self
    }
}

impl Sub for Cost {
    type Output = Cost;

    fn sub(self, other: Cost) -> Cost {
        Cost {
            hard: self.hard - other.hard,
            soft: self.soft - other.soft,
            over: self.over - other.over,
            rank: self.rank - other.rank,
            uneven: self.uneven - other.uneven,
            hash: self.hash - other.hash,
        }
    }
}

impl Mul<u32> for Cost {
    type Output = Cost;

    fn mul(self, times: u32) -> Cost {
        let number = i64::from(times);
        Cost {
            hard: self.hard * number,
            soft: self.soft * number,
            over: self.over * number,
            rank: self.rank * number,
            uneven: self.uneven * i128::from(times),
            hash: self.hash * number,
        }
    }
}
