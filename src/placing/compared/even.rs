//! Even shares: how many replicas each of several sibling domains has after new replicas were spread evenly.

/// The least and the most replicas of a domain.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Range {
    pub least: u32,
    pub most: u32,
}

impl Range {
    pub const fn of(least: u32, most: u32) -> Range {
        Range { least, most }
    }

    pub fn holds(self, count: u32) -> bool {
        self.least <= count && count <= self.most
    }

    /// The range of a domain with `placed` replicas: a domain above the even share receives none, and keeps its
    /// replicas.
    pub fn beside(self, placed: u32) -> Range {
        if placed > self.most {
            return Range::of(0, placed);
        }
        self
    }

    /// The distance of a number from the range.
    pub fn distance(self, count: u32) -> u32 {
        self.least.saturating_sub(count) + count.saturating_sub(self.most)
    }
}

/// Sibling domains with their placed replicas, for an even spread of new replicas. A domain with a new replica ends at
/// most 1 above the least of its siblings. So new replicas fill the emptiest domains first, as water does.
#[derive(Clone, Debug)]
pub struct SiblingCounts {
    /// The number of domains.
    domains: u32,
    /// The placed replicas of the domains with any, ascending.
    placed: Vec<u32>,
}

impl SiblingCounts {
    /// `placed`: the replicas by domain; zeros may be left out.
    pub fn new(domains: u32, mut placed: Vec<u32>) -> SiblingCounts {
        placed.retain(|count| *count > 0);
        placed.sort_unstable();
        SiblingCounts { domains, placed }
    }

    /// The range for each domain which may receive a replica, if all domains together have `total`. A domain with more
    /// placed replicas than the range receives none.
    pub fn share(&self, total: u32) -> Range {
        if self.domains == 0 {
            return Range::default();
        }
        let mut new = total.saturating_sub(self.placed.iter().sum());
        let empty = self.domains - self.placed.len() as u32;
        let (mut level, mut filled) = (0, empty);
        for &count in &self.placed {
            let rise = (count - level) * filled;
            if rise > new {
                break;
            }
            (new, level, filled) = (new - rise, count, filled + 1);
        }
        let least = level + new / filled;
        Range::of(least, least + u32::from(!new.is_multiple_of(filled)))
    }

    /// As [`SiblingCounts::share`], for each of these totals.
    pub fn shares(&self, totals: Range) -> Range {
        Range::of(self.share(totals.least).least, self.share(totals.most).most)
    }
}
