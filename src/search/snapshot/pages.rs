//! A vector whose copies share what did not change.

use std::sync::Arc;

/// Entries a node. With blocks of 64 providers a node covers 4,096, so a version of a million providers is a vector of
/// 245 pointers, and a change copies that vector and the nodes it touches.
const NODE: usize = 64;

/// Two levels of shared nodes; only ever grows.
#[derive(Clone, Debug)]
pub(in crate::search) struct Pages<T> {
    nodes: Vec<Arc<Vec<T>>>,
    len: usize,
}

impl<T> Default for Pages<T> {
    fn default() -> Self {
        Self {
            nodes: Vec::new(),
            len: 0,
        }
    }
}

impl<T: Clone> Pages<T> {
    pub fn len(&self) -> usize {
        self.len
    }

    /// Panics beyond `len`.
    pub fn get(&self, at: usize) -> &T {
        &self.nodes[at / NODE][at % NODE]
    }

    /// The entry alone, its node being copied if another version shares it. Panics beyond `len`.
    pub fn get_mut(&mut self, at: usize) -> &mut T {
        &mut Arc::make_mut(&mut self.nodes[at / NODE])[at % NODE]
    }

    pub fn push(&mut self, entry: T) {
        if self.len.is_multiple_of(NODE) {
            self.nodes.push(Arc::new(Vec::with_capacity(NODE)));
        }
        let last = self.nodes.last_mut().expect("a node was just made sure of");
        Arc::make_mut(last).push(entry);
        self.len += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::Pages;

    #[test]
    fn a_copy_keeps_its_entries_and_shares_untouched_nodes() {
        let mut first = Pages::default();
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
}
