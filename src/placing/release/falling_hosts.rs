//! The hosts of falling replicas as items of a search: a place on a host is one of its replicas. So the rules
//! about hosts count as in a placement.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use crate::placing::cells::index::CellIndex;
use crate::placing::cells::items::Items;
use crate::placing::cluster::{Cluster, Standing};
use crate::placing::compared::{Compared, CountBounds, Demands};
use crate::placing::cost::Cost;
use crate::placing::search::roles::Assigned;

/// A replica of a role with a surplus.
pub struct FallingReplica {
    /// The number in the result of [`FallingHosts::kept`].
    pub at: usize,
    pub role: usize,
    /// The first host.
    pub host: u32,
    /// The cost of keeping the replica, whatever stays beside the replica.
    pub cost: Cost,
}

/// The hosts of the falling replicas.
pub struct FallingHosts<'a> {
    cluster: &'a Cluster,
    hosts: Vec<FallingHost>,
    bounds: CountBounds,
    demands: &'a Demands,
}

struct FallingHost {
    host: u32,
    /// The number of staying replicas.
    standing: u32,
    /// By role, the falling replicas with their costs, the cheapest first.
    by_role: Vec<Vec<(Cost, usize)>>,
}

impl<'a> FallingHosts<'a> {
    /// The replicas of `standing` stay. `bounds` and `demands` come from the rules about hosts.
    pub fn new(
        cluster: &'a Cluster,
        (replicas, roles): (impl Iterator<Item = FallingReplica>, usize),
        standing: Standing,
        (bounds, demands): (CountBounds, &'a Demands),
    ) -> FallingHosts<'a> {
        let mut on_host: HashMap<u32, u32> = HashMap::new();
        for (_, host) in standing.hosts() {
            *on_host.entry(host).or_default() += 1;
        }
        let mut hosts: BTreeMap<u32, FallingHost> = BTreeMap::new();
        for FallingReplica { at, role, host, cost } in replicas {
            let of_host = hosts.entry(host).or_insert_with(|| FallingHost {
                host,
                standing: on_host.get(&host).copied().unwrap_or_default(),
                by_role: vec![Vec::new(); roles],
            });
            of_host.by_role[role].push((cost, at));
        }
        let mut hosts: Vec<FallingHost> = hosts.into_values().collect();
        hosts
            .iter_mut()
            .flat_map(|host| &mut host.by_role)
            .for_each(|of_role| of_role.sort_unstable());
        FallingHosts {
            cluster,
            hosts,
            bounds,
            demands,
        }
    }

    /// The numbers of the staying replicas.
    pub fn kept(&self, assigned: &[Assigned]) -> Vec<usize> {
        let mut taken: HashMap<(u32, usize), usize> = HashMap::new();
        let kept = assigned.iter().map(|&Assigned { role, item }| {
            let taken = taken.entry((item, role)).or_default();
            *taken += 1;
            self.hosts[item as usize].by_role[role][*taken - 1].1
        });
        kept.collect()
    }
}

impl Items for FallingHosts<'_> {
    fn count(&self) -> u32 {
        self.hosts.len() as u32
    }

    fn index(&self, compared: &Compared) -> Arc<CellIndex> {
        let dimensions = &self.cluster.dimensions;
        let index = CellIndex::of(self.count(), compared.dimensions.len(), |item, at| {
            let compared = &compared.dimensions[at];
            let leaf = dimensions[compared.dimension].leaves[self.hosts[item as usize].host as usize];
            compared.tree.nearest_live(leaf.0)
        });
        Arc::new(index)
    }

    fn offer(&self, item: u32, role: usize, already: u32) -> Option<Cost> {
        let replica = self.hosts[item as usize].by_role[role].get(already as usize);
        replica.map(|(cost, _)| *cost)
    }

    fn most(&self, item: u32) -> u32 {
        self.hosts[item as usize]
            .by_role
            .iter()
            .map(|of_role| of_role.len() as u32)
            .sum()
    }

    fn unit(&self, item: u32, number: u32) -> Cost {
        self.bounds
            .unit(self.hosts[item as usize].standing + number, self.demands)
    }

    fn fits(&self, _item: u32, _counts: &[u32]) -> bool {
        true
    }
}
