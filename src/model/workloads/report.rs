//! A workload as clients see the state: the hosts of the replicas, the modes of the rules, and the violations.

pub mod judge;
pub mod violations;

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use super::{Replica, SetAnswer, WorkloadRow, placed_and_pending};
use crate::error::{Reason, Reasons};
use crate::placing::{Level, Mode};

#[derive(Debug, Clone)]
pub struct Report {
    pub row: WorkloadRow,
    /// In natural order of their ids.
    pub replicas: Vec<ShownReplica>,
    /// Of each rule `spread`, by dimension.
    pub spread: Vec<SpreadReport>,
    /// Whether the majority is alive, and stays alive without any one domain.
    pub safety: SafetyReport,
    pub violations: Vec<Violation>,
    /// Notices for the caller: dimensions of hosts that the default rule does not use.
    pub notes: Vec<String>,
    /// Why pending replicas got no place; empty unless a request has just tried.
    pub reasons: Reasons,
    /// False if a search was given up, so a better answer may exist.
    pub is_exact: bool,
    /// The changes by the write that the report answers.
    pub change: Change,
}

impl Report {
    /// How many replicas have a place, and how many lack a place.
    pub fn placed_and_pending(&self) -> (usize, usize) {
        placed_and_pending(self.replicas.iter().map(|shown| &shown.replica))
    }

    /// The report with the writer's answer: generations, and classes over normal limits.
    pub fn with_claimed(mut self, claimed: &SetAnswer) -> Report {
        let by_consumer: HashMap<&str, _> = claimed.iter().map(|it| (it.consumer.as_str(), it)).collect();
        for shown in &mut self.replicas {
            if let Some(claimed) = by_consumer.get(shown.replica.row.consumer.as_str()) {
                shown.replica.generation = Some(claimed.generation);
                shown.replica.allocations.clone_from(&claimed.providers);
                shown.over_normal.clone_from(&claimed.over_normal);
            }
        }
        self
    }
}

/// Replicas that got a place from a write, and replicas that lost a place, by the uuids of their consumers. A dry run
/// changes nothing.
#[derive(Debug, Clone, Default)]
pub struct Change {
    pub placed: Vec<String>,
    pub released: Vec<String>,
    /// How many plans the write took. A further plan is made if another write came first.
    pub attempts: u32,
}

/// A replica with its host.
#[derive(Debug, Clone)]
pub struct ShownReplica {
    pub replica: Replica,
    /// All hosts of the replica. Empty if the replica is pending.
    pub hosts: Vec<ShownHost>,
    /// The classes of which the replica has just taken more than the normal limit.
    pub over_normal: Vec<String>,
}

impl ShownReplica {
    /// The first host: the uuid. `None` if the replica is pending.
    pub fn host(&self) -> Option<&str> {
        self.hosts.first().map(|host| host.uuid.as_str())
    }
}

/// A host of a replica.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShownHost {
    pub uuid: String,
    pub name: Arc<str>,
}

/// The present meaning of a rule `spread` in a dimension.
#[derive(Debug, Clone)]
pub struct SpreadReport {
    pub rule: usize,
    pub level: Level,
    pub dimension: String,
    pub mode: Mode,
    /// Domains with an eligible host, at the first level with several.
    pub domains: u32,
    /// The most replicas that a domain may hold; `None` without domains.
    pub limit: Option<u32>,
    /// By path; in the dimension [`HOST`](super::spec::HOST) by the uuid of the host.
    pub counts: BTreeMap<Arc<str>, u32>,
}

/// Whether the majority of the replicas is alive, and what takes the majority. A replica is alive on a host that is up.
#[derive(Debug, Clone, Default)]
pub struct SafetyReport {
    /// Whether a majority is alive outside of each domain. `None` without quorum, with less than two replicas, or
    /// without a rule that compares domains.
    pub is_safe: Option<bool>,
    /// Whether less than a majority is alive. `None` without quorum or without wanted replicas.
    pub is_quorum_lost: Option<bool>,
    /// By dimension of the rules `spread`.
    pub survives: Vec<SurvivesReport>,
}

/// The fewest failures in one dimension after which no majority is alive. 0 if the majority is lost already.
#[derive(Debug, Clone)]
pub struct SurvivesReport {
    pub dimension: String,
    /// The fewest domains. `None` if the loss of all domains leaves a majority.
    pub domains: Option<u32>,
    /// The fewest domains and single replicas together.
    pub failures: u32,
}

/// A rule that is broken now.
#[derive(Debug, Clone)]
pub struct Violation {
    pub level: Level,
    /// `requested` is the present number of replicas, `free` the allowed number.
    pub reason: Reason,
    /// The ids of the replicas that break the rule.
    pub replicas: Vec<String>,
    /// Uuids of the first [`violations::NAMED_REPLICAS`] replicas, and of all their hosts, each once.
    pub consumers: Vec<String>,
    pub hosts: Vec<String>,
    /// The names of `hosts`, in their order.
    pub host_names: Vec<Arc<str>>,
}
