//! A persistent vector: a copy shares all unchanged entries with its original.
//!
//! Naively, a version that changes one of 15,000 blocks (a million providers) copies a vector of 15,000 pointers. So
//! the vector has two levels: a copy holds a pointer to each node of 64 entries, and a change copies one node.

use std::ops::Range;
use std::sync::{Arc, OnceLock};

/// Entries per node. With blocks of 64 providers a node covers 4,096, so a version of a million providers is a vector
/// of 245 pointers. A change copies this vector and the touched nodes.
pub(super) const NODE_LEN: usize = 64;

/// A vector in two levels of shared nodes, which never shrinks. `S` is a summary of the entries of a node.
#[derive(Clone, Debug, Default)]
pub(in crate::search) struct PersistentVec<T, S = ()> {
    nodes: Vec<Arc<VecNode<T, S>>>,
    len: usize,
}

#[derive(Clone, Debug)]
struct VecNode<T, S> {
    entries: Vec<T>,
    /// Computed when first needed, dropped with every change of an entry.
    summary: OnceLock<S>,
}

impl<T: Clone, S: Clone> PersistentVec<T, S> {
    pub fn len(&self) -> usize {
        self.len
    }

    /// The entry at a position. Panics beyond `len`.
    pub fn get(&self, at: usize) -> &T {
        &self.nodes[at / NODE_LEN].entries[at % NODE_LEN]
    }

    /// An entry, to be changed. The entry's node is copied if a second version shares the node. Panics beyond `len`.
    pub fn get_mut(&mut self, at: usize) -> &mut T {
        let node = Arc::make_mut(&mut self.nodes[at / NODE_LEN]);
        node.summary = OnceLock::new();
        &mut node.entries[at % NODE_LEN]
    }

    /// The summary of the node of the entry at `at`. `make` gets the positions of the node's entries, and must use
    /// these entries alone, because the summary is cached until an entry changes.
    pub fn summary(&self, at: usize, make: impl FnOnce(Range<usize>) -> S) -> &S {
        let first = at / NODE_LEN * NODE_LEN;
        let positions = first..self.len.min(first + NODE_LEN);
        self.nodes[at / NODE_LEN].summary.get_or_init(|| make(positions))
    }

    pub fn push(&mut self, entry: T) {
        if self.len.is_multiple_of(NODE_LEN) {
            self.nodes.push(Arc::new(VecNode {
                entries: Vec::with_capacity(NODE_LEN),
                summary: OnceLock::new(),
            }));
        }
        let last = self.nodes.last_mut().expect("a node, added above if there was none");
        let node = Arc::make_mut(last);
        node.summary = OnceLock::new();
        node.entries.push(entry);
        self.len += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::PersistentVec;

    #[test]
    fn a_copy_keeps_its_entries_and_shares_untouched_nodes() {
        let mut first: PersistentVec<i32> = PersistentVec::default();
        (0..200).for_each(|n| first.push(n));
        let mut second = first.clone();
        *second.get_mut(70) = -1;
        second.push(200);
        assert_eq!((*first.get(70), first.len()), (70, 200));
        assert_eq!((*second.get(70), *second.get(200), second.len()), (-1, 200, 201));
        assert!(std::sync::Arc::ptr_eq(&first.nodes[0], &second.nodes[0]));
        assert!(!std::sync::Arc::ptr_eq(&first.nodes[1], &second.nodes[1]));
        assert!((0..200).all(|at| *first.get(at) == at as i32));
    }

    #[test]
    fn a_summary_is_computed_again_after_a_change_of_its_entries() {
        let mut vector: PersistentVec<i32, i32> = PersistentVec::default();
        (0..200).for_each(|n| vector.push(n));
        let sum = |vector: &PersistentVec<i32, i32>, at| {
            *vector.summary(at, |all| all.map(|at| *vector.get(at)).sum::<i32>())
        };
        let before: [i32; 3] = [sum(&vector, 0), sum(&vector, 70), sum(&vector, 199)];
        assert_eq!(before, [0..64, 64..128, 192..200].map(Iterator::sum::<i32>));
        let old = vector.clone();
        *vector.get_mut(127) += 1000;
        vector.push(1);
        assert_eq!(
            [sum(&vector, 0), sum(&vector, 70), sum(&vector, 199)],
            [before[0], before[1] + 1000, before[2] + 1]
        );
        assert_eq!([sum(&old, 0), sum(&old, 70), sum(&old, 199)], before);
    }
}
