//! The eligible hosts of each role, and the live domains of each dimension.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, OnceLock};

use super::cells::index::CellIndex;
use super::cluster::Cluster;
use super::domain_tree::DomainTree;
use super::live_tree::LiveTree;
use super::rules::{Axis, Level, Rule, hard_within_rule, spreads};
use super::within::AxisDomain;
use crate::interrupt::Interrupt;

/// The number of hosts whose eligibility for a role is decided in about the time of a step of an [`Interrupt`].
const HOSTS_A_STEP: u64 = 64;

/// The eligible hosts of a cluster. A host is eligible for a role if the host matches the role, and has a domain in
/// each dimension that the rules need. Room and other replicas do not matter, so callers may keep this value while
/// claims come and go.
///
/// A host that is eligible for any role counts in the modes and in the comparison of domains. A single replica is not
/// spread, so a workload of one needs no domain.
pub struct Eligible {
    /// By role and host, whether the host matches the role.
    asked: Vec<Arc<[bool]>>,
    /// The dimensions in which a host needs a domain.
    needed: Vec<usize>,
    /// By role and host. A host is eligible for a role if the host is in `any`, too.
    by_role: Vec<Arc<[bool]>>,
    /// Whether a host is eligible for any role, and in the domain of [`Eligible::inside`].
    pub(super) any: Arc<[bool]>,
    /// Hosts that are eligible for any role.
    pub(super) count: u32,
    /// By dimension.
    pub(super) trees: Vec<Arc<LiveTree>>,
    /// Of a workload of one: the eligible hosts of two replicas, if these are fewer.
    for_two: Option<Box<Eligible>>,
    /// An index of cells, and the eligible hosts of each cell.
    by_cell: OnceLock<(Arc<CellIndex>, Arc<[u32]>)>,
}

impl Eligible {
    /// As [`Eligible::of`]. If the workload `is_single`, with at most one replica, no host needs a domain.
    pub fn for_workload(
        cluster: &Cluster,
        asked: Vec<Arc<[bool]>>,
        (needed, is_single): (Vec<usize>, bool),
        interrupt: &Interrupt,
    ) -> Eligible {
        let has_all = |host: u32| lacking(cluster, &needed, host as usize).is_none();
        if !is_single || (0..cluster.hosts).all(has_all) {
            return Eligible::of(cluster, asked, needed, interrupt);
        }
        let for_two = Eligible::of(cluster, asked.clone(), needed, interrupt);
        Eligible {
            for_two: Some(Box::new(for_two)),
            ..Eligible::of(cluster, asked, Vec::new(), interrupt)
        }
    }

    /// The eligible hosts of a workload with one replica more.
    pub(super) fn for_one_more(&self) -> &Eligible {
        self.for_two.as_deref().unwrap_or(self)
    }

    /// The compared dimensions in which a host without a domain takes a single replica, and not two.
    pub(super) fn needed_for_one_more(&self, compared: impl Iterator<Item = usize>) -> Vec<usize> {
        let Some(two) = &self.for_two else { return Vec::new() };
        let needed = compared.enumerate().filter(|(_, it)| two.needed.contains(it));
        needed.map(|(at, _)| at).collect()
    }

    /// `asked` has for each role whether each host of the cluster matches the role. In the dimensions of `needed`
    /// (`needed_dimensions`) a host needs a domain. After `interrupt` is set the answer comes soon, and means nothing.
    pub fn of(cluster: &Cluster, asked: Vec<Arc<[bool]>>, needed: Vec<usize>, interrupt: &Interrupt) -> Eligible {
        let hosts = cluster.hosts as usize;
        let goes_on = |_: &&Arc<[bool]>| !interrupt.count(hosts as u64 / HOSTS_A_STEP);
        let lacks = |host: usize| lacking(cluster, &needed, host).is_some();
        let by_role: Vec<Arc<[bool]>> = if (0..hosts).any(lacks) {
            let described = |of_role: &Arc<[bool]>| {
                let goes_on = goes_on(&of_role);
                let all = of_role.iter().enumerate();
                all.map(|(host, is_asked)| goes_on && *is_asked && !lacks(host))
                    .collect()
            };
            asked.iter().map(described).collect()
        } else {
            asked.clone()
        };
        let any: Arc<[bool]> = match by_role.as_slice() {
            [only] => Arc::clone(only),
            all => {
                let mut any = vec![false; hosts];
                for of_role in all.iter().take_while(goes_on) {
                    any.iter_mut()
                        .zip(&**of_role)
                        .for_each(|(any, is_eligible)| *any |= is_eligible);
                }
                any.into()
            }
        };
        Eligible {
            trees: live_trees(cluster, &any, interrupt),
            count: any.iter().filter(|any| **any).count() as u32,
            asked,
            needed,
            by_role,
            any,
            for_two: None,
            by_cell: OnceLock::new(),
        }
    }

    /// As this value, with only the hosts of a domain eligible.
    pub(super) fn inside(&self, cluster: &Cluster, domain: AxisDomain, interrupt: &Interrupt) -> Eligible {
        self.only(cluster, &|host| domain.has(cluster, host), interrupt)
    }

    /// As this value, without the hosts of a domain.
    pub fn outside(&self, cluster: &Cluster, domain: AxisDomain, interrupt: &Interrupt) -> Eligible {
        self.only(cluster, &|host| !domain.has(cluster, host), interrupt)
    }

    fn only(&self, cluster: &Cluster, may_stay: &impl Fn(u32) -> bool, interrupt: &Interrupt) -> Eligible {
        let any: Arc<[bool]> = (0..)
            .zip(&*self.any)
            .map(|(host, any)| *any && may_stay(host))
            .collect();
        Eligible {
            trees: live_trees(cluster, &any, interrupt),
            count: any.iter().filter(|any| **any).count() as u32,
            asked: self.asked.clone(),
            needed: self.needed.clone(),
            by_role: self.by_role.clone(),
            any,
            for_two: self
                .for_two
                .as_ref()
                .map(|two| Box::new(two.only(cluster, may_stay, interrupt))),
            by_cell: OnceLock::new(),
        }
    }

    /// The number of hosts in each cell of an index that are eligible for a wanted role and not excluded. If all roles
    /// are wanted and no host can be excluded, the numbers for the first index are kept.
    pub(super) fn hosts_by_cell(
        &self,
        index: &Arc<CellIndex>,
        wanted: &[u32],
        is_excluded: Option<&dyn Fn(u32) -> bool>,
    ) -> Arc<[u32]> {
        let roles = || (0..self.roles()).filter(|&role| wanted[role] > 0);
        let are_all_wanted = roles().count() == self.roles();
        let is_wanted = |host: u32| are_all_wanted || roles().any(|role| self.is_eligible(host, role));
        let is_admitted = |host: u32| is_excluded.is_none_or(|is_excluded| !is_excluded(host));
        let count = || -> Arc<[u32]> {
            let mut counts = vec![0; index.cells as usize];
            for (host, &cell) in (0..).zip(&index.cell_of) {
                let is_free = self.any[host as usize] && is_wanted(host) && is_admitted(host);
                counts[cell as usize] += u32::from(is_free);
            }
            counts.into()
        };
        if !are_all_wanted || is_excluded.is_some() {
            return count();
        }
        let (known, counts) = self.by_cell.get_or_init(|| (Arc::clone(index), count()));
        if Arc::ptr_eq(known, index) {
            Arc::clone(counts)
        } else {
            count()
        }
    }

    /// About how many bytes this value occupies, without the index of cells, which belongs to the cluster. The value
    /// grows when the eligible hosts of cells are first counted.
    pub fn bytes(&self) -> usize {
        let all = self.asked.iter().chain(&self.by_role).chain([&self.any]);
        // A list of hosts may be used several times.
        let lists: BTreeMap<*const [bool], usize> = all.map(|hosts| (Arc::as_ptr(hosts), hosts.len())).collect();
        let trees = self.trees.iter().map(|tree| tree.bytes());
        let for_two = self.for_two.as_ref().map_or(0, |two| two.bytes());
        let by_cell = self.by_cell.get().map_or(0, |(_, counts)| size_of_val(&**counts));
        lists.values().sum::<usize>() + trees.sum::<usize>() + for_two + by_cell
    }

    pub fn is_eligible(&self, host: u32, role: usize) -> bool {
        self.by_role[role][host as usize] && self.any[host as usize]
    }

    /// The number of roles.
    pub(super) fn roles(&self) -> usize {
        self.by_role.len()
    }

    /// Whether a host matches a role, with or without domains.
    pub fn matches_any(&self, role: usize) -> bool {
        self.asked[role].iter().any(|is_asked| *is_asked)
    }

    /// The first dimension in which a host lacks a domain, if the host matches the role in every other way.
    pub fn lacking_dimension(&self, cluster: &Cluster, host: u32, role: usize) -> Option<usize> {
        let is_asked = self.asked[role][host as usize];
        lacking(cluster, &self.needed, host as usize).filter(|_| is_asked)
    }
}

/// The live part of each dimension.
fn live_trees(cluster: &Cluster, any: &[bool], interrupt: &Interrupt) -> Vec<Arc<LiveTree>> {
    let trees = cluster.dimensions.iter().map(|dimension| {
        interrupt.count((any.len() + dimension.tree.count()) as u64 / HOSTS_A_STEP);
        let mut direct = vec![0; dimension.tree.count()];
        for (leaf, _) in dimension.leaves.iter().zip(any).filter(|(_, any)| **any) {
            direct[leaf.0 as usize] += 1;
        }
        Arc::new(LiveTree::of(&dimension.tree, direct))
    });
    trees.collect()
}

fn lacking(cluster: &Cluster, needed: &[usize], host: usize) -> Option<usize> {
    let is_lacking = |dimension: &usize| cluster.dimensions[*dimension].leaves[host] == DomainTree::ROOT;
    needed.iter().copied().find(is_lacking)
}

/// The dimensions in which rules need a domain of each host: a hard `Spread` or `Within` rule says nothing about a host
/// without a domain. The number of replicas does not count here: see [`Eligible::for_workload`].
pub fn needed_dimensions(rules: &[Rule]) -> Vec<usize> {
    let hard = spreads(rules).filter(|(_, spread)| spread.level == Level::Hard);
    let dimensions = hard.flat_map(|(_, spread)| &spread.axes).filter_map(|axis| match axis {
        Axis::Domain(dimension) => Some(*dimension),
        Axis::Host => None,
    });
    let of_within = hard_within_rule(rules).and_then(|(_, within)| match within.axis {
        Axis::Domain(dimension) => Some(dimension),
        Axis::Host => None,
    });
    let needed: BTreeSet<usize> = dimensions.chain(of_within).collect();
    needed.into_iter().collect()
}
