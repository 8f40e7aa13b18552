//! The hosts of a snapshot in the form of `placing`: hosts by index, and their domains in each dimension.

use std::sync::Arc;

use crate::interrupt::OPERATIONS_A_STEP;
use crate::placing::{Cluster, Dimension, DomainId, DomainTree};
use crate::search::{Interrupt, Slot, Snapshot};

/// The hosts of a snapshot, and the dimensions that a workload's rules name.
pub struct HostList {
    /// By index. All hosts, whatever their state. A sharing provider is no host.
    pub slots: Vec<Slot>,
    /// By the index of a slot.
    indexes: Vec<u32>,
    pub cluster: Cluster,
    /// By dimension of the cluster.
    pub names: Vec<String>,
}

const NONE: u32 = u32::MAX;
/// A look at this many bytes of a path counts as an operation.
const BYTES_AN_OPERATION: usize = 16;

impl HostList {
    /// The hosts, with the dimensions of these names. After an interrupt the list is incomplete and must not be used.
    pub fn new(snapshot: &Snapshot, dimensions: &[&str], interrupt: &Interrupt) -> HostList {
        // `for_each` visits the lanes of a block in one loop, which `collect` does not.
        let mut slots: Vec<Slot> = Vec::with_capacity(snapshot.len());
        snapshot.hosts().for_each(|slot| slots.push(slot));
        let mut indexes = vec![NONE; snapshot.slots()];
        for (at, slot) in (0..).zip(&slots) {
            indexes[slot.index()] = at;
        }
        let named = dimensions
            .iter()
            .map(|name| dimension(snapshot, name, (&indexes, slots.len()), interrupt));
        HostList {
            cluster: Cluster::new(slots.len() as u32, named.collect()),
            slots,
            indexes,
            names: dimensions.iter().map(|name| (*name).to_owned()).collect(),
        }
    }

    /// An estimate of the occupied bytes.
    pub fn bytes(&self) -> usize {
        size_of_val(self.slots.as_slice()) + size_of_val(self.indexes.as_slice()) + self.cluster.bytes()
    }

    /// The index of a root. `None` for a sharing provider.
    pub fn of_root(&self, root: Slot) -> Option<u32> {
        self.indexes.get(root.index()).copied().filter(|at| *at != NONE)
    }

    /// The index of a dimension; `None` if the list does not have the dimension.
    pub fn dimension(&self, name: &str) -> Option<usize> {
        self.names.iter().position(|known| known == name)
    }

    /// The name of a dimension and the path of a domain, as in `fault:/dc1/r0`.
    pub fn named_path(&self, dimension: usize, domain: DomainId) -> String {
        let path = self.cluster.dimensions[dimension].tree.path(domain);
        format!("{}:{path}", self.names[dimension])
    }
}

fn dimension(snapshot: &Snapshot, name: &str, (indexes, hosts): (&[u32], usize), interrupt: &Interrupt) -> Dimension {
    let mut tree = DomainTree::default();
    let mut leaves = vec![DomainTree::ROOT; hosts];
    interrupt.spend(hosts as u64 / 64);
    // By domain, the path and domain that came next. Most blocks have the paths of the block before, in the same order.
    let mut after: Vec<Option<(&Arc<str>, DomainId)>> = Vec::new();
    let mut last = DomainTree::ROOT;
    for (path, its_hosts) in snapshot.hosts_by_domain(name) {
        let known = after.get(last.0 as usize).copied().flatten();
        let count = tree.count();
        let domain = match known.filter(|(known, _)| *known == path) {
            Some((_, domain)) => domain,
            None => tree.intern(path),
        };
        let operations = tree.count() - count + path.len() / BYTES_AN_OPERATION;
        if interrupt.count(operations as u64 / OPERATIONS_A_STEP + 1) {
            break;
        }
        after.resize(tree.count(), None);
        after[last.0 as usize] = Some((path, domain));
        last = domain;
        its_hosts.for_each(|host| leaves[indexes[host.index()] as usize] = domain);
    }
    Dimension { tree, leaves }
}
