//! The input of a decision: hosts with their domains, and the spec and the replicas of a workload.

use std::sync::Arc;

use super::cells::index::{CellIndex, KeptIndexes};
use super::domain_tree::{DomainId, DomainTree};
use super::rules::Rule;

/// All hosts that count, by index from 0, with their domains.
#[derive(Clone, Debug, Default)]
pub struct Cluster {
    /// The number of hosts.
    pub hosts: u32,
    /// By the index that [`super::Axis::Domain`] has.
    pub dimensions: Vec<Dimension>,
    cell_indexes: KeptIndexes,
}

impl Cluster {
    /// A cluster whose hosts and domains do not change any more.
    pub fn new(hosts: u32, dimensions: Vec<Dimension>) -> Cluster {
        Cluster {
            hosts,
            dimensions,
            cell_indexes: KeptIndexes::default(),
        }
    }

    /// About how many bytes the domains occupy, with the indexes of cells that were used so far.
    pub fn bytes(&self) -> usize {
        let dimensions = self.dimensions.iter();
        let dimensions = dimensions.map(|it| it.tree.bytes() + size_of_val(it.leaves.as_slice()));
        dimensions.sum::<usize>() + self.cell_indexes.bytes()
    }

    /// The cells of the hosts by these dimensions.
    pub(super) fn cell_index(&self, dimensions: Vec<usize>) -> Arc<CellIndex> {
        self.cell_indexes.get(dimensions.clone(), || {
            let leaf = |host: u32, at: usize| self.dimensions[dimensions[at]].leaves[host as usize].0;
            CellIndex::of(self.hosts, dimensions.len(), leaf)
        })
    }
}

/// The domains of one dimension, and the domain of each host.
#[derive(Clone, Debug, Default)]
pub struct Dimension {
    pub tree: DomainTree,
    /// By host. [`DomainTree::ROOT`] for a host without a domain of this dimension.
    pub leaves: Vec<DomainId>,
}

/// The room of the hosts of a [`Cluster`]. Roles are indices of [`Workload::wanted`].
pub trait Hosts {
    /// The cost of a further replica of the role on an eligible host that gets `already` new replicas of the role.
    /// `None` if the host has no room. The costs may not fall as `already` rises.
    fn offer(&self, host: u32, role: usize, already: u32) -> Option<Offer>;

    /// Whether an eligible host has room for new replicas of several roles together: `counts` by role. The search asks
    /// only for more than one role. Replicas that do not fit may not fit with more replicas.
    fn fits(&self, host: u32, counts: &[u32]) -> bool;
}

/// The cost of one replica on one host. Lower is better; `over` comes before `score`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Offer {
    /// The amount of the replica above normal limits; between 0 and 2^40.
    pub over: i64,
    /// The rank; between -2^35 and 2^35. Greater ranks are cut.
    pub score: i64,
}

/// A workload: the wanted replicas, the rules, and the placed replicas.
#[derive(Clone, Copy, Debug)]
pub struct Workload<'a> {
    /// The number of replicas by role. Their sum is the `n` of the rules. A number after the last role of the eligible
    /// hosts counts in `n` alone: replicas with a place outside of the cluster.
    pub wanted: &'a [u32],
    pub rules: &'a [Rule],
    /// Whether the workload needs the majority of its replicas. Without quorum, `safe` has no answer.
    pub quorum: bool,
    /// The replicas that have a place.
    pub placed: &'a [PlacedReplica],
    /// The further hosts of placed replicas: by replica, ascending, each host of a replica once.
    pub further: &'a [FurtherHost],
}

impl<'a> Workload<'a> {
    pub fn standing(&self) -> Standing<'a> {
        Standing {
            placed: self.placed,
            further: self.further,
        }
    }
}

/// A replica that has a place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PlacedReplica {
    pub role: usize,
    pub host: u32,
}

/// A further host of a placed replica, whose consumer has allocations on several hosts. The replica counts on each of
/// the hosts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FurtherHost {
    /// An index of [`Workload::placed`].
    pub replica: usize,
    pub host: u32,
}

/// The placed replicas on all their hosts.
#[derive(Clone, Copy, Debug, Default)]
pub struct Standing<'a> {
    /// As [`Workload::placed`].
    pub placed: &'a [PlacedReplica],
    /// As [`Workload::further`].
    pub further: &'a [FurtherHost],
}

impl<'a> Standing<'a> {
    /// The hosts, each with the index of the replica.
    pub fn hosts(self) -> impl Iterator<Item = (usize, u32)> + Clone + 'a {
        let first = self.placed.iter().enumerate().map(|(at, replica)| (at, replica.host));
        first.chain(self.further.iter().map(|further| (further.replica, further.host)))
    }

    /// The number of hosts of all replicas.
    pub fn count(self) -> usize {
        self.placed.len() + self.further.len()
    }
}
