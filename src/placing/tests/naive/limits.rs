//! The limits of the oracle: the most replicas of a domain or of a host.

use super::even::poured;
use super::node::Node;
use super::{Question, n, names_host, quorum};
use crate::placing::{Axis, Level, Mode, Rule, Spread};

/// The most replicas of each of several domains under quorum safety.
pub fn limit(n: u32, domains: u32) -> u32 {
    let mut limit = n.saturating_sub(quorum(n)).max(1);
    if domains * limit < n {
        limit += 1;
    }
    limit
}

impl Question<'_> {
    /// The most replicas of a domain, or of a host, under a spread. An even share is no such limit.
    pub fn cap(&self, spread: &Spread, axis: Axis, tree: &Node) -> Option<u32> {
        let (n, domains) = (n(self.workload), tree.first_level().len() as u32);
        let by_mode = match self.mode(spread) {
            Mode::QuorumSafe if domains > 0 => Some(limit(n, domains)),
            Mode::OneEach if axis == Axis::Host || domains > 0 => Some(1),
            _ => None,
        };
        let is_strict = spread.strict && self.workload.quorum && n > 1;
        by_mode.into_iter().chain(is_strict.then(|| n - quorum(n))).min()
    }

    /// The most replicas of each eligible host beside `new` new replicas, by the hard spreads over hosts.
    pub fn most_on_hosts(&self, new: u32) -> u32 {
        let hosts = self.tree(Axis::Host, &[]);
        let live = hosts.live();
        if live.is_empty() {
            return 0;
        }
        let total = live.iter().map(|host| host.count).sum::<u32>() + new;
        let limits = self.workload.rules.iter().filter_map(|rule| match rule {
            Rule::Spread(spread) if spread.level == Level::Hard && names_host(rule) => {
                let share = (self.mode(spread) == Mode::MaxDifference).then(|| poured(&live, total).1);
                share.into_iter().chain(self.cap(spread, Axis::Host, &hosts)).min()
            }
            _ => None,
        });
        limits.min().unwrap_or(u32::MAX)
    }
}
