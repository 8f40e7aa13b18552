//! The hosts of a request as items: candidates for new replicas.

use std::sync::Arc;

use crate::placing::budget::Budget;
use crate::placing::cells::index::CellIndex;
use crate::placing::cells::items::Items;
use crate::placing::cluster::{Cluster, Hosts, Offer};
use crate::placing::compared::{Compared, CountBounds};
use crate::placing::cost::Cost;
use crate::placing::eligible::Eligible;
use crate::placing::rules::affinity::AffinityEffect;

/// A request with its derived values.
pub struct Placing<'a, H> {
    pub cluster: &'a Cluster,
    pub hosts: &'a H,
    pub eligible: &'a Eligible,
    /// The index of a hard rule `within`, and the hosts that are eligible apart from the rule.
    pub outside: Option<(usize, &'a Eligible)>,
    /// By host; empty without affinity rules and without a soft rule `within`.
    pub affinity: Vec<AffinityEffect>,
    pub compared: &'a Compared,
    /// The demands of the rules for one replica more, if a hard spread rule holds.
    pub next: Option<Compared>,
    /// Placed replicas by host.
    pub placed: Vec<u32>,
    /// By role.
    pub missing: &'a [u32],
    /// Decides between placements of equal cost.
    pub seed: u64,
    pub budget: &'a Budget<'a>,
}

impl<H> Placing<'_, H> {
    pub fn affinity(&self, host: u32) -> AffinityEffect {
        self.affinity.get(host as usize).copied().unwrap_or_default()
    }
}

/// The hosts of a request, with the bounds of hosts for one number of replicas.
pub struct HostItems<'a, H> {
    placing: &'a Placing<'a, H>,
    pub bounds: CountBounds,
    /// The cost that the rules on hosts add for the first replica on a host. Most hosts have no replica.
    first_unit: Cost,
}

impl<'a, H> HostItems<'a, H> {
    pub fn new(placing: &'a Placing<'a, H>, bounds: CountBounds) -> HostItems<'a, H> {
        HostItems {
            placing,
            bounds,
            first_unit: bounds.unit(0, &placing.compared.hosts.demands),
        }
    }
}

impl<H: Hosts> Items for HostItems<'_, H> {
    fn count(&self) -> u32 {
        self.placing.cluster.hosts
    }

    fn usable(&self) -> u32 {
        self.placing.eligible.count
    }

    fn index(&self, compared: &Compared) -> Arc<CellIndex> {
        let dimensions = compared.dimensions.iter().map(|it| it.dimension);
        self.placing.cluster.cell_index(dimensions.collect())
    }

    fn offer(&self, host: u32, role: usize, already: u32) -> Option<Cost> {
        if !self.placing.eligible.is_eligible(host, role) {
            return None;
        }
        let offer = self.placing.hosts.offer(host, role, already)?;
        Some(cost_of_offer(offer, host, self.placing.seed) + self.placing.affinity(host).cost)
    }

    fn most(&self, host: u32) -> u32 {
        let at = host as usize;
        if !self.placing.eligible.any[at] || self.placing.affinity(host).excluding.is_some() {
            return 0;
        }
        self.bounds.more(self.placing.placed[at])
    }

    fn unit(&self, host: u32, number: u32) -> Cost {
        match self.placing.placed[host as usize] + number {
            0 => self.first_unit,
            count => self.bounds.unit(count, &self.placing.compared.hosts.demands),
        }
    }

    fn fits(&self, host: u32, counts: &[u32]) -> bool {
        self.placing.hosts.fits(host, counts)
    }
}

/// The cost of an offer of a host, without the rules.
pub fn cost_of_offer(offer: Offer, host: u32, seed: u64) -> Cost {
    let hash = mixed(seed.wrapping_add(u64::from(host)));
    Cost::of_replica(offer.over, offer.score, hash)
}

/// A number whose bits depend on all bits of the argument (splitmix64).
fn mixed(number: u64) -> u64 {
    let number = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let number = (number ^ (number >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let number = (number ^ (number >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    number ^ (number >> 31)
}
