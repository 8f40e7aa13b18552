//! Evenness: of placements that are equal in all else, the best has the least sum of squares of the domains' counts,
//! first at the first level with several domains, then at the level below.
//!
//! The sums of all levels are one number, with [`BITS`] bits for each level. A domain without live children stands for
//! itself at all deeper levels. So the depth of a tree decides nothing. Replicas beside the live children of a domain
//! count as one domain more at the deeper levels. [`LEVELS`] levels are compared, of the two dimensions in the flow;
//! and hosts after all domains, if a rule spreads over hosts.

use super::ComparedDimension;

/// The levels of domains that are compared.
const LEVELS: u32 = 4;

/// More bits than the squares of 1,000 replicas have in both dimensions.
const BITS: u32 = 24;

/// The weight of the square of a host's count.
pub const OF_HOST: i128 = 1;

/// The weight of a square at a level, from 0.
const fn at(level: u32) -> i128 {
    if level < LEVELS {
        1 << (BITS * (LEVELS - level))
    } else {
        0
    }
}

/// The weight of a square at a level and at all deeper levels.
const fn from(level: u32) -> i128 {
    if level < LEVELS { at(level) + from(level + 1) } else { 0 }
}

impl ComparedDimension {
    /// The weight of a domain's square.
    pub fn weight(&self, domain: u32) -> i128 {
        match self.tree.level(domain).filter(|_| self.is_in_flow) {
            Some(level) if self.tree.children(domain).is_empty() => from(level),
            Some(level) => at(level),
            None => 0,
        }
    }

    /// The weight of the square of the replicas beside the live children of a domain.
    pub fn weight_beside(&self, domain: u32) -> i128 {
        if !self.is_in_flow {
            return 0;
        }
        from(self.tree.level(domain).map_or(0, |level| level + 1))
    }
}
