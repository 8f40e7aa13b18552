//! The rules of a workload: the spread of its replicas, a domain for all its replicas, affinity and anti-affinity to
//! further workloads.

pub mod affinity;
pub mod modes;

use super::domain_tree::DomainId;

/// A rule about the hosts of replicas.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Rule {
    Spread(Spread),
    Affinity(Affinity),
    Within(Within),
}

/// How a rule binds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Level {
    /// No new replica breaks the rule.
    Hard,
    /// The rule is broken only if no placement keeps the rule.
    Soft,
    /// The rule decides between placements with equal soft violations and equal amounts above normal limits.
    Prefer,
}

/// A dimension of a rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Axis {
    /// The built-in dimension, in which each host is a domain.
    Host,
    /// An index of [`super::Cluster::dimensions`].
    Domain(usize),
}

/// Spreads the replicas of the workload over domains.
///
/// Without a `Spread` rule over [`Axis::Host`], a host takes a single replica of the workload.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Spread {
    pub level: Level,
    pub mode: Mode,
    /// May hold `Host` as well.
    pub axes: Vec<Axis>,
    /// Whether only safe placements are granted: no domain may hold more replicas than may be down at once.
    pub strict: bool,
}

/// How even a spread has to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// The counts of sibling domains differ by at most 1, at every level.
    MaxDifference,
    /// No domain of the first level with several domains holds the majority.
    QuorumSafe,
    /// `QuorumSafe` if n is divisible by the number of domains of each dimension and there are at most as many hosts as
    /// combinations; else `MaxDifference`.
    Adaptive,
    /// No two replicas share a domain of the first level with several domains.
    OneEach,
}

/// Affinity or anti-affinity to the replicas of named workloads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Affinity {
    pub level: Level,
    pub kind: AffinityKind,
    /// The hosts or domains, at any level, with replicas of the named workloads.
    pub members: Members,
}

/// Keeps all replicas of the workload in a single domain of a dimension. A workload has at most one `Within` rule.
///
/// A hard rule leaves only the hosts of a single domain eligible. With [`Axis::Host`] a host takes several replicas.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Within {
    pub level: Level,
    pub axis: Axis,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AffinityKind {
    /// Only in members. Without members there is no place.
    Affinity,
    /// Anywhere outside of the members.
    AntiAffinity,
}

/// Hosts, or domains of a dimension.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Members {
    Hosts(Vec<u32>),
    Domains { dimension: usize, domains: Vec<DomainId> },
}

/// The `Spread` rules with their indices.
pub fn spreads(rules: &[Rule]) -> impl Iterator<Item = (usize, &Spread)> {
    rules.iter().enumerate().filter_map(|(at, rule)| match rule {
        Rule::Spread(spread) => Some((at, spread)),
        Rule::Affinity(_) | Rule::Within(_) => None,
    })
}

/// The `Within` rule with its index. A workload has at most one `Within` rule.
pub fn within_rule(rules: &[Rule]) -> Option<(usize, &Within)> {
    rules.iter().enumerate().find_map(|(at, rule)| match rule {
        Rule::Within(within) => Some((at, within)),
        Rule::Spread(_) | Rule::Affinity(_) => None,
    })
}

/// The `Within` rule with its index, if the rule is hard.
pub fn hard_within_rule(rules: &[Rule]) -> Option<(usize, &Within)> {
    within_rule(rules).filter(|(_, within)| within.level == Level::Hard)
}
