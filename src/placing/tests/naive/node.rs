//! A domain of the oracle: its children, hosts and replicas.

use std::collections::{BTreeMap, BTreeSet};

/// A domain with its hosts and replicas.
#[derive(Default)]
pub struct Node {
    pub children: BTreeMap<String, Node>,
    /// Eligible hosts inside and below, free hosts directly inside, and replicas inside and below.
    pub hosts: u32,
    pub direct: u32,
    pub count: u32,
    pub placed: u32,
    /// The replicas that count.
    pub inside: BTreeSet<usize>,
}

impl Node {
    pub fn live(&self) -> Vec<&Node> {
        self.children.values().filter(|child| child.hosts > 0).collect()
    }

    /// The children at the first level with several children.
    pub fn first_level(&self) -> Vec<&Node> {
        let live = self.live();
        match &live[..] {
            [only] => only.first_level(),
            _ => live,
        }
    }

    /// The domains of a limit: the first level with several domains, else the only domain at the top.
    pub fn limited(&self) -> Vec<&Node> {
        match self.first_level() {
            first if first.is_empty() => self.live(),
            first => first,
        }
    }

    /// Adds the squares of the children and of the domains below, each to the sum of its level and, of domains without
    /// children, to all sums below.
    pub fn add_squares(&self, sums: &mut [u64]) {
        let live = self.live();
        if live.is_empty() || sums.is_empty() {
            return;
        }
        self.add_square_beside(sums);
        for child in live {
            let levels = if child.live().is_empty() { sums.len() } else { 1 };
            sums[..levels].iter_mut().for_each(|sum| *sum += square(child.count));
            child.add_squares(&mut sums[1..]);
        }
    }

    /// Adds the square of the replicas beside the children to all sums, if a host beside the children is free.
    pub fn add_square_beside(&self, sums: &mut [u64]) {
        let sum = |count: fn(&Node) -> u32| self.live().iter().map(|child| count(child)).sum::<u32>();
        let placed = self.placed.saturating_sub(sum(|child| child.placed));
        let new = self.count - self.placed - sum(|child| child.count - child.placed);
        if self.direct > 0 {
            sums.iter_mut().for_each(|sum| *sum += square(placed + new));
        }
    }

    /// The names of the children at the first level with several children with an eligible host or a replica.
    pub fn first_present(&self) -> Vec<&String> {
        let present = self.children.iter().filter(|(_, child)| child.hosts + child.count > 0);
        let present: Vec<(&String, &Node)> = present.collect();
        match &present[..] {
            [(_, only)] => only.first_present(),
            _ => present.into_iter().map(|(name, _)| name).collect(),
        }
    }
}

pub fn square(count: u32) -> u64 {
    u64::from(count) * u64::from(count)
}
