//! Resolves spread rules: the mode and the limit of each `Spread` rule in each dimension of the rule, for n replicas on
//! the eligible hosts.

use std::sync::Arc;

use super::{Axis, Level, Mode, Rule, Spread, spreads, within_rule};
use crate::placing::cluster::Workload;
use crate::placing::eligible::Eligible;
use crate::placing::live_tree::LiveTree;

/// More than half of n.
pub fn quorum(n: u32) -> u32 {
    n / 2 + 1
}

/// The most replicas which may be down while the majority is up.
pub fn may_be_down(n: u32) -> u32 {
    n.saturating_sub(quorum(n))
}

/// The most replicas in each of `domains` domains under quorum safety. If n replicas have no place under this limit,
/// the limit is 1 more.
pub fn quorum_limit(n: u32, domains: u32) -> u32 {
    let limit = may_be_down(n).max(1);
    limit + u32::from(domains * limit < n)
}

/// A `Spread` rule in a dimension.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AxisRule {
    pub rule: usize,
    pub level: Level,
    pub axis: Axis,
    /// Never `Adaptive`.
    pub mode: Mode,
    /// The number of domains at the first level with several domains; 0 if no level has several.
    pub domains: u32,
    /// The most replicas in a domain of this level, besides the share of a max-difference. If no level has several, a
    /// strict rule limits the only domain, whose loss takes the majority.
    pub cap: Option<u32>,
    /// Under a strict rule, the most replicas in a domain or on a host compared by `safe`.
    pub strict: Option<u32>,
}

impl AxisRule {
    /// The most replicas in a domain of the level, if `total` are placed. `None` if the rule limits no domain.
    pub fn limit(&self, total: u32) -> Option<u32> {
        let even = (self.mode == Mode::MaxDifference && self.domains > 0).then(|| total.div_ceil(self.domains));
        self.cap.into_iter().chain(even).min()
    }
}

/// All `Spread` rules of a workload in each of their dimensions. `eligible` is the number of eligible hosts.
pub fn axis_rules(workload: &Workload, trees: &[Arc<LiveTree>], eligible: u32) -> Vec<AxisRule> {
    let n = workload.wanted.iter().sum();
    let mut all = Vec::new();
    for (rule, spread) in spreads(workload.rules) {
        let domains = |axis: Axis| match axis {
            Axis::Host if eligible > 1 => eligible,
            Axis::Host => 0,
            Axis::Domain(dimension) => trees[dimension].first_level().len() as u32,
        };
        let mode = resolved(spread, n, eligible, domains);
        for &axis in &spread.axes {
            let domains = domains(axis);
            let is_strict = spread.strict && workload.quorum && n > 1;
            let strict = is_strict.then(|| may_be_down(n));
            let caps = [cap(mode, axis, n, domains), strict];
            all.push(AxisRule {
                rule,
                level: spread.level,
                axis,
                mode,
                domains,
                cap: caps.into_iter().flatten().min(),
                strict,
            });
        }
    }
    all
}

/// The rules for a further replica. `None` without a hard `Spread` rule. `None` too if such a rule spreads over hosts:
/// the search counts the free places of cells, and not of hosts.
pub fn rules_of_next(workload: &Workload, eligible: &Eligible) -> Option<Vec<AxisRule>> {
    let mut wanted = workload.wanted.to_vec();
    wanted.push(1);
    let next = Workload {
        wanted: &wanted,
        ..*workload
    };
    let hard = || spreads(workload.rules).filter(|(_, spread)| spread.level == Level::Hard);
    let is_asked = hard().count() > 0 && !hard().any(|(_, spread)| spread.axes.contains(&Axis::Host));
    let Eligible { trees, count, .. } = eligible.for_one_more();
    is_asked.then(|| axis_rules(&next, trees, *count))
}

/// Whether a rule says how many replicas of the workload a host takes. Without a host rule a host takes a single
/// replica.
pub fn has_host_rule(rules: &[Rule]) -> bool {
    let is_in_one = matches!(within_rule(rules), Some((_, within)) if within.axis == Axis::Host);
    is_in_one || spreads(rules).any(|(_, spread)| spread.axes.contains(&Axis::Host))
}

fn resolved(spread: &Spread, n: u32, eligible: u32, domains: impl Fn(Axis) -> u32) -> Mode {
    if spread.mode != Mode::Adaptive {
        return spread.mode;
    }
    let mut combinations = 1_u32;
    for domains in spread.axes.iter().map(|&axis| domains(axis)) {
        if domains == 0 || !n.is_multiple_of(domains) {
            return Mode::MaxDifference;
        }
        combinations = combinations.saturating_mul(domains);
    }
    if eligible <= combinations && !spread.axes.is_empty() {
        Mode::QuorumSafe
    } else {
        Mode::MaxDifference
    }
}

/// Under one-each a host takes a single replica, even if the host is the only host.
fn cap(mode: Mode, axis: Axis, n: u32, domains: u32) -> Option<u32> {
    match mode {
        Mode::OneEach => (domains > 0 || axis == Axis::Host).then_some(1),
        Mode::QuorumSafe => (domains > 0).then(|| quorum_limit(n, domains)),
        Mode::MaxDifference | Mode::Adaptive => None,
    }
}
