//! The occupied domains, with an eligible host or a replica: the domains that `safe` compares. A strict rule limits the
//! new replicas of occupied domains.
//!
//! All other limits hold on the first level on which several domains have an eligible host. If all eligible hosts are
//! in one domain and replicas are placed in a second domain, `safe` compares these two domains.

use crate::placing::cluster::{Cluster, Standing};
use crate::placing::live_tree::LiveTree;

/// The domains of a dimension with an eligible host or a replica. `None` if these are the domains with an eligible
/// host.
pub fn occupied_tree(cluster: &Cluster, any: &[bool], standing: Standing, dimension: usize) -> Option<LiveTree> {
    let hosts = standing.hosts().map(|(_, host)| host);
    if hosts.clone().all(|host| any[host as usize]) {
        return None;
    }
    let of_cluster = &cluster.dimensions[dimension];
    let mut direct = vec![0; of_cluster.tree.count()];
    let eligible = (0..cluster.hosts).filter(|host| any[*host as usize]);
    for host in eligible.chain(hosts) {
        direct[of_cluster.leaves[host as usize].0 as usize] += 1;
    }
    Some(LiveTree::of(&of_cluster.tree, direct))
}

/// The domain with all eligible hosts, if other domains are beside the domain and the domain is above the limited
/// level. `occupied` is the tree of domains with an eligible host or a replica.
pub fn outer_domain(eligible: &LiveTree, occupied: &LiveTree) -> Option<u32> {
    let is_limited = |domain: u32| eligible.limited_level().contains(&domain);
    let mut level = occupied.first_level().iter().copied();
    level.find(|&domain| eligible.is_live(domain) && !is_limited(domain))
}
