//! The spec of a workload: the roles and rules as the caller wrote the request.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::error::Result;
use crate::model::claims::ClaimQuery;
use crate::placing::{AffinityKind, Level, Mode};

/// Reads a spec from the body of a stored workload. Only `wire` knows the form of the body.
pub type ReadSpec = fn(&str) -> Result<Spec>;

/// The name of the dimension in which each host is a domain of its own.
pub const HOST: &str = "host";
/// The dimensions of the default rule, for a workload without a list of rules.
pub const DEFAULT_DIMENSIONS: [&str; 2] = ["fault", "upgrade"];

/// The roles and rules of a workload.
#[derive(Debug, Clone)]
pub struct Spec {
    /// Empty only if the rules alone count.
    pub roles: Vec<Role>,
    /// `None`: the default rule.
    pub rules: Option<Vec<SpecRule>>,
    /// Whether the workload needs the majority of its replicas.
    pub quorum: bool,
    /// The fewest replicas on hosts that are up with which the workload is in order.
    pub min: Option<u32>,
    /// The seconds after the end of a host's lease from which the host counts as lost. `None`: never.
    pub lost_after: Option<u32>,
    /// The type of the consumers.
    pub consumer_type: String,
}

/// A kind of replicas.
#[derive(Debug, Clone)]
pub struct Role {
    pub name: String,
    /// The wanted number of replicas.
    pub count: u32,
    /// The needs of each replica.
    pub query: ClaimQuery,
    /// Query and payload as a text: a different text is a new revision.
    pub definition: Arc<str>,
}

/// A rule of a spec, with names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SpecRule {
    Spread(SpreadRule),
    Affinity(AffinityRule),
    Within(WithinRule),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SpreadRule {
    pub level: Level,
    pub mode: Mode,
    /// Names; `HOST` may be in the list.
    pub dimensions: Vec<String>,
    pub strict: bool,
}

/// A rule about the hosts of another workload.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AffinityRule {
    pub level: Level,
    pub kind: AffinityKind,
    /// The uuid of the other workload.
    pub workload: String,
    /// [`HOST`] or the name of a dimension: same host, or same domain.
    pub dimension: String,
}

/// A rule that keeps all replicas of the workload in one domain.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WithinRule {
    pub level: Level,
    /// [`HOST`] or the name of a dimension.
    pub dimension: String,
}

impl Spec {
    /// The number of replicas.
    pub fn count(&self) -> u32 {
        self.roles.iter().map(|role| role.count).sum()
    }

    /// Whether nothing is spread: the workload has at most one replica.
    pub fn is_single(&self) -> bool {
        self.count() <= 1
    }

    /// Whether the roles have the same names, queries and payloads as in another spec.
    pub fn is_same_revision<'a>(&'a self, other: &'a Spec) -> bool {
        let definition = |role: &'a Role| (&role.name, &role.definition);
        self.roles.iter().map(definition).eq(other.roles.iter().map(definition))
    }

    /// The workloads that the rules name.
    pub fn neighbours(&self) -> Vec<String> {
        let rules = self.rules.iter().flatten();
        let others = rules.filter_map(|rule| match rule {
            SpecRule::Affinity(affinity) => Some(affinity.workload.clone()),
            SpecRule::Spread(_) | SpecRule::Within(_) => None,
        });
        others.collect()
    }

    /// The dimensions of the rules about the workload's own replicas, `spread` and `within`; `HOST` may be in the list.
    pub fn own_dimensions(&self) -> Vec<&str> {
        let Some(rules) = &self.rules else {
            return DEFAULT_DIMENSIONS.to_vec();
        };
        let names = rules.iter().flat_map(|rule| match rule {
            SpecRule::Spread(spread) => spread.dimensions.as_slice(),
            SpecRule::Within(within) => std::slice::from_ref(&within.dimension),
            SpecRule::Affinity(_) => &[],
        });
        names.map(String::as_str).collect()
    }

    /// The dimensions that the rules name, each once, without `HOST`.
    pub fn dimensions(&self) -> Vec<&str> {
        let affinity = self.rules.iter().flatten().filter_map(|rule| match rule {
            SpecRule::Affinity(affinity) => Some(affinity.dimension.as_str()),
            SpecRule::Spread(_) | SpecRule::Within(_) => None,
        });
        let names = self.own_dimensions().into_iter().chain(affinity);
        let names: BTreeSet<&str> = names.filter(|name| *name != HOST).collect();
        names.into_iter().collect()
    }
}
