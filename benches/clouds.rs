//! A cloud of flat hosts and a cloud of nested hosts with the same classes.

use placet::benchmarked::ProviderRow;

use crate::search_inputs::BuildRow;

/// Each host has all three classes. `provider` makes a provider with an id and some of the classes, by their index.
pub fn flat(hosts: i32, provider: fn(i32, &[usize]) -> ProviderRow) -> Vec<ProviderRow> {
    (1..=hosts).map(|id| provider(id, &[0, 1, 2])).collect()
}

/// Each host has its disk at the root, and cores and memory at two NUMA nodes.
pub fn nested(hosts: i32, provider: fn(i32, &[usize]) -> ProviderRow) -> Vec<ProviderRow> {
    let mut rows = Vec::new();
    for root in (0..hosts).map(|n| 3 * n + 1) {
        rows.push(provider(root, &[2]));
        rows.extend((1..=2).map(|node| provider(root + node, &[0, 1]).below(root)));
    }
    rows
}
