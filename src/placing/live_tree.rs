//! The live part of a dimension: the domains with an eligible host. Only live domains are compared.

use std::collections::HashSet;

use super::cluster::{Dimension, Standing};
use super::domain_tree::{DomainId, DomainTree};
use super::groups::Groups;
use crate::mutants::{Mutant, is};

/// The domains of a dimension with eligible hosts, and the root.
#[derive(Clone, Debug)]
pub struct LiveTree {
    parents: Vec<u32>,
    /// Eligible hosts in a domain and below.
    hosts: Vec<u32>,
    /// By domain.
    children: Groups,
    fork: u32,
    /// By domain.
    depths: Vec<u32>,
    /// The greatest depth.
    depth: u32,
}

impl LiveTree {
    /// The live part of a tree. `direct` is the number of eligible hosts directly in each domain.
    pub fn of(tree: &DomainTree, direct: Vec<u32>) -> LiveTree {
        let parents: Vec<u32> = (0..tree.count() as u32).map(|id| tree.parent(DomainId(id)).0).collect();
        let mut hosts = direct;
        for id in (1..parents.len()).rev() {
            hosts[parents[id] as usize] += hosts[id];
        }
        let live_domains = (1..parents.len()).filter(|id| hosts[*id] > 0);
        let children = Groups::of(parents.len(), live_domains.map(|id| (parents[id], id as u32)));
        let mut live = LiveTree {
            parents,
            hosts,
            children,
            fork: 0,
            depths: Vec::new(),
            depth: 0,
        };
        while let [only] = live.children(live.fork) {
            live.fork = *only;
        }
        let mut depths = vec![0; live.len()];
        for domain in 1..live.len() {
            depths[domain] = depths[live.parents[domain] as usize] + 1;
        }
        live.depth = depths.iter().copied().max().unwrap_or_default();
        live.depths = depths;
        live
    }

    /// The height of the tree, with the root.
    pub fn levels(&self) -> u64 {
        u64::from(self.depth) + 1
    }

    /// The number of domains, with dead domains and the root.
    pub fn len(&self) -> usize {
        self.parents.len()
    }

    /// About how many bytes the tree occupies.
    pub fn bytes(&self) -> usize {
        (self.parents.len() + self.hosts.len() + self.depths.len()) * size_of::<u32>() + self.children.bytes()
    }

    /// The level of a domain: 0 at the first level with several live domains. `None` above.
    pub fn level(&self, domain: u32) -> Option<u32> {
        self.depths[domain as usize].checked_sub(self.depths[self.fork as usize] + 1)
    }

    pub fn parent(&self, domain: u32) -> u32 {
        self.parents[domain as usize]
    }

    /// The live domains directly in a domain.
    pub fn children(&self, domain: u32) -> &[u32] {
        self.children.of_group(domain)
    }

    /// The live domains of the first level with several live domains; empty if no level has several.
    pub fn first_level(&self) -> &[u32] {
        self.children(self.fork)
    }

    /// Whether hosts are beside the domains of the first level.
    pub fn has_hosts_beside(&self) -> bool {
        let inside = self.first_level().iter().map(|&domain| self.hosts[domain as usize]);
        !self.first_level().is_empty() && inside.sum::<u32>() < self.hosts[0]
    }

    /// The domains under a limit: the first level with several live domains. If no level has several, the topmost live
    /// domain, which holds all live domains.
    pub fn limited_level(&self) -> &[u32] {
        match self.first_level() {
            [] => self.children(0),
            several => several,
        }
    }

    /// Whether the children of a domain are compared: always, but for a mutant.
    pub fn compares(&self, domain: u32) -> bool {
        !is(Mutant::SkipLevel) || domain == self.fork
    }

    pub fn is_live(&self, domain: u32) -> bool {
        domain == 0 || self.hosts[domain as usize] > 0
    }

    /// The domain itself if the domain is live, else the nearest live ancestor.
    pub fn nearest_live(&self, mut domain: u32) -> u32 {
        while !self.is_live(domain) {
            domain = self.parent(domain);
        }
        domain
    }

    /// Whether a domain is `top` or lies in `top`.
    pub fn is_in(&self, mut domain: u32, top: u32) -> bool {
        while domain > top {
            domain = self.parent(domain);
        }
        domain == top
    }

    /// The placed replicas for which `passes` holds, in each domain and below. A domain counts a replica on several
    /// hosts once.
    pub fn counts(&self, dimension: &Dimension, standing: Standing, passes: impl Fn(usize) -> bool) -> Vec<u32> {
        let leaf = |host: u32| dimension.leaves[host as usize].0;
        let mut counts = vec![0; self.len()];
        let first = standing.placed.iter().enumerate().filter(|(at, _)| passes(*at));
        first.for_each(|(_, replica)| counts[leaf(replica.host) as usize] += 1);
        self.sum_up(&mut counts);
        for same in standing.further.chunk_by(|one, other| one.replica == other.replica) {
            let replica = same[0].replica;
            if !passes(replica) {
                continue;
            }
            let mut counted: HashSet<u32> = self.around(leaf(standing.placed[replica].host)).collect();
            for domain in same.iter().flat_map(|further| self.around(leaf(further.host))) {
                counts[domain as usize] += u32::from(counted.insert(domain));
            }
        }
        counts
    }

    /// A domain and the domains above, without the root.
    fn around(&self, domain: u32) -> impl Iterator<Item = u32> {
        let above = std::iter::successors(Some(domain), |&domain| Some(self.parent(domain)));
        above.take_while(|&domain| domain > 0)
    }

    /// Adds the number of each domain to all its ancestors.
    pub fn sum_up(&self, counts: &mut [u32]) {
        for id in (1..counts.len()).rev() {
            counts[self.parents[id] as usize] += counts[id];
        }
    }
}
