//! The rules of a workload.

use super::domain_tree::DomainId;

/// A rule about where replicas stand.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Rule {
    Spread(Spread),
    Near(Near),
}

/// How a rule binds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Level {
    /// No new replica breaks it.
    Hard,
    /// It is broken only if there is no place otherwise.
    Soft,
    /// It decides between placements that are equal in soft violations and in what they take over normal limits.
    Prefer,
}

/// A dimension that a rule is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Axis {
    /// The built-in dimension in which each host is a domain of its own.
    Host,
    /// An index of [`super::Cluster::dimensions`].
    Domain(usize),
}

/// How the replicas of the workload stand to each other.
///
/// Without a `Spread` rule that names [`Axis::Host`], a host takes one replica of the workload.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Spread {
    pub level: Level,
    pub mode: Mode,
    /// May hold `Host` as well.
    pub axes: Vec<Axis>,
    /// Whether only what is safe is granted: no domain may hold more replicas than may be down at once.
    pub strict: bool,
}

/// How even a spread has to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Siblings differ by at most 1, at every level.
    MaxDifference,
    /// No domain of the first level with several takes the majority with it.
    QuorumSafe,
    /// `QuorumSafe` if n is divisible by the number of domains of each dimension and there are at most as many hosts as
    /// combinations; else `MaxDifference`.
    Adaptive,
    /// No two replicas in one domain of the first level with several.
    OneEach,
}

/// Where the replicas of the workload stand to those of others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Near {
    pub level: Level,
    pub kind: NearKind,
    /// The hosts or domains, at any level, in which the others stand.
    pub members: Members,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NearKind {
    /// Only there. Without members there is no place.
    Together,
    /// Anywhere but there.
    Apart,
}

/// Hosts, or domains of one dimension.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Members {
    Hosts(Vec<u32>),
    Domains { dimension: usize, domains: Vec<DomainId> },
}
