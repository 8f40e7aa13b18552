//! Items in the order of their costs, or of lower bounds of the costs (best-first search).

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::costs::RankCost;
use crate::interrupt::Interrupt;

/// Bounding this many blocks takes about as long as visiting one.
const BOUNDS_PER_STEP: usize = 8;

/// A queue: the item with the least bound comes first, of equal bounds the item that was added first.
#[derive(Debug)]
pub(in crate::search) struct BoundQueue<T> {
    /// Items with their bounds and numbers.
    entries: BinaryHeap<Reverse<(RankCost, u64, T)>>,
    /// The number of items added so far.
    added: u64,
}

impl<T: Ord> BoundQueue<T> {
    pub fn push(&mut self, bound: f64, item: T) {
        self.entries.push(Reverse((RankCost(bound), self.added, item)));
        self.added += 1;
    }

    /// The least bound.
    pub fn bound(&self) -> Option<f64> {
        self.entries.peek().map(|Reverse((RankCost(first), ..))| *first)
    }

    /// Removes the first item, if its bound fulfils a condition.
    pub fn pop_if(&mut self, condition: impl FnOnce(f64) -> bool) -> Option<(f64, T)> {
        if !condition(self.bound()?) {
            return None;
        }
        let Reverse((RankCost(bound), _, item)) = self.entries.pop()?;
        Some((bound, item))
    }

    pub fn clear(&mut self) {
        self.entries.clear();
    }
}

impl BoundQueue<(usize, u64)> {
    /// Blocks, each with some of its lanes. Of equal bounds the block with the least number comes first.
    pub fn of_blocks(blocks: impl Iterator<Item = (f64, u64, (usize, u64))>, interrupt: &Interrupt) -> Self {
        let entries = blocks.map(|(bound, number, block)| Reverse((RankCost(bound), number, block)));
        let entries: Vec<_> = entries.collect();
        interrupt.spend((entries.len() / BOUNDS_PER_STEP) as u64);
        Self {
            entries: entries.into(),
            added: 0,
        }
    }
}

impl<T: Ord> Default for BoundQueue<T> {
    fn default() -> Self {
        Self {
            entries: BinaryHeap::new(),
            added: 0,
        }
    }
}

impl<T: Ord> FromIterator<(f64, T)> for BoundQueue<T> {
    fn from_iter<I: IntoIterator<Item = (f64, T)>>(items: I) -> Self {
        let mut queue = Self::default();
        items.into_iter().for_each(|(bound, item)| queue.push(bound, item));
        queue
    }
}

#[cfg(test)]
mod tests {
    use super::BoundQueue;

    #[test]
    fn the_least_bound_comes_first_and_equal_ones_in_the_order_in_which_they_were_added() {
        let mut queue: BoundQueue<char> = [(2.0, 'a'), (1.0, 'b'), (2.0, 'c')].into_iter().collect();
        queue.push(1.0, 'd');
        assert_eq!(queue.pop_if(|bound| bound > 1.0), None);
        let order = std::iter::from_fn(|| queue.pop_if(|_| true));
        assert_eq!(
            order.collect::<Vec<_>>(),
            [(1.0, 'b'), (1.0, 'd'), (2.0, 'a'), (2.0, 'c')]
        );
        assert_eq!(queue.bound(), None);
    }
}
