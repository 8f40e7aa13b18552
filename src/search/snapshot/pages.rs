//! A vector whose copies share what did not change.

use std::ops::Range;
use std::sync::{Arc, OnceLock};

/// Entries a node. With blocks of 64 providers a node covers 4,096, so a version of a million providers is a vector of
/// 245 pointers, and a change copies that vector and the nodes it touches.
const NODE: usize = 64;

/// Two levels of shared nodes; only ever grows. `D` is what can be told of all entries of a node together.
#[derive(Clone, Debug)]
pub(in crate::search) struct Pages<T, D = ()> {
    nodes: Vec<Arc<Node<T, D>>>,
    len: usize,
}

#[derive(Clone, Debug)]
struct Node<T, D> {
    entries: Vec<T>,
    /// Worked out when somebody first asks, forgotten with every change.
    digest: OnceLock<D>,
}

impl<T, D> Default for Pages<T, D> {
    fn default() -> Self {
        Self {
            nodes: Vec::new(),
            len: 0,
        }
    }
}

impl<T: Clone, D: Clone> Pages<T, D> {
    pub fn len(&self) -> usize {
        self.len
    }

    /// Panics beyond `len`.
    pub fn get(&self, at: usize) -> &T {
        &self.nodes[at / NODE].entries[at % NODE]
    }

    /// The entry alone, its node being copied if another version shares it. Panics beyond `len`.
    pub fn get_mut(&mut self, at: usize) -> &mut T {
        let node = Arc::make_mut(&mut self.nodes[at / NODE]);
        node.digest = OnceLock::new();
        &mut node.entries[at % NODE]
    }

    /// Which of the nodes an entry is in.
    pub fn node(at: usize) -> usize {
        at / NODE
    }

    /// What `make` tells of the entry at `at` and of those beside it, of which it gets the positions. Kept until one of them
    /// changes, so it must be made of these alone.
    pub fn digest(&self, at: usize, make: impl FnOnce(Range<usize>) -> D) -> &D {
        let first = at / NODE * NODE;
        let positions = first..self.len.min(first + NODE);
        self.nodes[at / NODE].digest.get_or_init(|| make(positions))
    }

    pub fn push(&mut self, entry: T) {
        if self.len.is_multiple_of(NODE) {
            self.nodes.push(Arc::new(Node {
                entries: Vec::with_capacity(NODE),
                digest: OnceLock::new(),
            }));
        }
        let last = self.nodes.last_mut().expect("a node was just made sure of");
        let node = Arc::make_mut(last);
        node.digest = OnceLock::new();
        node.entries.push(entry);
        self.len += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::Pages;

    #[test]
    fn a_copy_keeps_its_entries_and_shares_untouched_nodes() {
        let mut first: Pages<i32> = Pages::default();
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
    fn a_digest_is_forgotten_with_what_it_was_made_of() {
        let mut pages: Pages<i32, i32> = Pages::default();
        (0..200).for_each(|n| pages.push(n));
        let sum = |pages: &Pages<i32, i32>, at| *pages.digest(at, |all| all.map(|at| *pages.get(at)).sum::<i32>());
        let before: [i32; 3] = [sum(&pages, 0), sum(&pages, 70), sum(&pages, 199)];
        assert_eq!(before, [0..64, 64..128, 192..200].map(Iterator::sum::<i32>));
        let old = pages.clone();
        *pages.get_mut(127) += 1000;
        pages.push(1);
        assert_eq!(
            [sum(&pages, 0), sum(&pages, 70), sum(&pages, 199)],
            [before[0], before[1] + 1000, before[2] + 1]
        );
        assert_eq!([sum(&old, 0), sum(&old, 70), sum(&old, 199)], before);
    }
}
