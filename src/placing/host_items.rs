//! The hosts of a request as items: candidates for new replicas.

use std::sync::Arc;

use super::cell_index::CellIndex;
use super::cells::Items;
use super::cluster::Hosts;
use super::compared::{Compared, HostBounds};
use super::cost::Cost;
use super::place::Placing;

/// The hosts of a request, with the bounds of hosts for one number of replicas.
pub struct HostItems<'a, H> {
    pub placing: &'a Placing<'a, H>,
    pub bounds: HostBounds<'a>,
}

impl<H: Hosts> Items for HostItems<'_, H> {
    fn count(&self) -> u32 {
        self.placing.cluster.hosts
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
        let hash = mixed(self.placing.effort.seed.wrapping_add(u64::from(host)));
        Some(Cost::of_replica(offer.over, offer.score, hash) + self.placing.affinity.cost(host))
    }

    fn most(&self, host: u32) -> u32 {
        let at = host as usize;
        if !self.placing.eligible.any[at] || self.placing.affinity.excluding(host).is_some() {
            return 0;
        }
        self.bounds.more(self.placing.standing[at])
    }

    fn unit(&self, host: u32, number: u32) -> Cost {
        self.bounds.unit(self.placing.standing[host as usize] + number)
    }

    fn fits(&self, host: u32, counts: &[u32]) -> bool {
        self.placing.hosts.fits(host, counts)
    }
}

/// A number whose bits depend on all bits of the argument (splitmix64).
fn mixed(number: u64) -> u64 {
    let number = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let number = (number ^ (number >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let number = (number ^ (number >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    number ^ (number >> 31)
}
