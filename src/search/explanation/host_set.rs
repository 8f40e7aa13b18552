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
        HostSet::of(snapshot, snapshot.hosts())
    }

    /// The set of these hosts.
    pub fn of(snapshot: &Snapshot, hosts: impl IntoIterator<Item = Slot>) -> HostSet {
        let mut set = HostSet::none(snapshot);
        hosts.into_iter().for_each(|host| set.add(host));
        set
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

    /// The hosts, in the order of memory.
    pub fn iter(&self) -> impl Iterator<Item = Slot> + '_ {
        let blocks = self.lanes.iter().enumerate();
        blocks.flat_map(|(block, lanes)| BlockSlots::new(block, *lanes))
    }

    /// The hosts of this set outside of the second set, in the order of memory.
    pub fn without<'a>(&'a self, other: &'a HostSet) -> impl Iterator<Item = Slot> + 'a {
        let blocks = self.lanes.iter().zip(&other.lanes).enumerate();
        blocks.flat_map(|(block, (lanes, without))| BlockSlots::new(block, lanes & !without))
    }
}
