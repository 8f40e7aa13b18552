//! Even shares: how many replicas each of several sibling domains has if siblings differ by at most 1.

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

    /// The distance of a number from the range.
    pub fn distance(self, count: u32) -> u32 {
        self.least.saturating_sub(count) + count.saturating_sub(self.most)
    }
}

/// An even share of `total` replicas for each of `domains` domains.
pub fn share(total: u32, domains: u32) -> Range {
    match domains {
        0 => Range::default(),
        _ => Range::of(total / domains, total.div_ceil(domains)),
    }
}

/// As [`share`], with the replicas `placed` in the domains; zeros may be left out. A domain above the share is left
/// out with its replicas, and the other domains share the rest.
pub fn share_with(mut total: u32, mut domains: u32, placed: &mut Vec<u32>) -> Range {
    loop {
        let range = share(total, domains);
        let before = placed.len();
        placed.retain(|&count| {
            let stays = count <= range.most;
            if !stays {
                total -= count;
                domains -= 1;
            }
            stays
        });
        if placed.len() == before {
            return range;
        }
    }
}
