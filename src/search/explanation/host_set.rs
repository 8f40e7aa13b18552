//! A set of hosts, a bit for each.

use crate::search::snapshot::{BlockSlots, Slot, Snapshot};

/// Some of the hosts of a snapshot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostSet {
    /// By block.
    lanes: Vec<u64>,
}

impl HostSet {
    pub(super) fn none(snapshot: &Snapshot) -> HostSet {
        HostSet {
            lanes: vec![0; snapshot.blocks.len()],
        }
    }

    pub(super) fn all(snapshot: &Snapshot) -> HostSet {
        let mut all = HostSet::none(snapshot);
        snapshot.hosts().for_each(|host| all.add(host));
        all
    }

    pub(super) fn add(&mut self, host: Slot) {
        self.lanes[host.block()] |= host.bit();
    }

    pub(super) fn add_all(&mut self, other: &HostSet) {
        self.lanes
            .iter_mut()
            .zip(&other.lanes)
            .for_each(|(lanes, more)| *lanes |= more);
    }

    pub fn contains(&self, host: Slot) -> bool {
        self.lanes[host.block()] & host.bit() != 0
    }

    pub fn is_empty(&self) -> bool {
        self.lanes.iter().all(|lanes| *lanes == 0)
    }

    /// The number of hosts.
    pub fn len(&self) -> usize {
        self.lanes.iter().map(|lanes| lanes.count_ones() as usize).sum()
    }

    /// The hosts of this set outside of the second set, in the order of memory.
    pub fn without<'a>(&'a self, other: &'a HostSet) -> impl Iterator<Item = Slot> + 'a {
        let blocks = self.lanes.iter().zip(&other.lanes).enumerate();
        blocks.flat_map(|(block, (lanes, without))| BlockSlots::new(block, lanes & !without))
    }
}
