//! The best of many items by their costs, in a bounded heap.

use std::collections::BinaryHeap;

use super::costs::RankCost;

/// At most `count` items: the items with the lowest costs, of equal items the first.
#[derive(Debug)]
pub(in crate::search) struct BestOf<T> {
    count: usize,
    /// Items with their costs and numbers. The worst item is on top.
    entries: BinaryHeap<(RankCost, u64, T)>,
    /// The number of items that entered the heap so far.
    entered: u64,
}

impl<T: Ord> BestOf<T> {
    /// For at least one item.
    pub fn new(count: usize) -> Self {
        Self {
            count: count.max(1),
            entries: BinaryHeap::new(),
            entered: 0,
        }
    }

    /// An item enters only if its cost is lower.
    pub fn max_cost(&self) -> f64 {
        match self.entries.peek() {
            Some((RankCost(worst), ..)) if self.entries.len() == self.count => *worst,
            _ => f64::INFINITY,
        }
    }

    /// Adds an item if the item is among the best so far. Only then, `item` is called.
    pub fn offer(&mut self, cost: f64, item: impl FnOnce() -> T) {
        if cost >= self.max_cost() {
            return;
        }
        let entry = (RankCost(cost), self.entered, item());
        self.entered += 1;
        if self.entries.len() < self.count {
            self.entries.push(entry);
        } else if let Some(mut worst) = self.entries.peek_mut() {
            *worst = entry;
        }
    }

    /// The items with their costs, best first.
    pub fn into_sorted(self) -> impl Iterator<Item = (f64, T)> {
        let sorted = self.entries.into_sorted_vec().into_iter();
        sorted.map(|(RankCost(cost), _, item)| (cost, item))
    }
}

#[cfg(test)]
mod tests {
    use super::BestOf;

    #[test]
    fn the_first_of_equal_items_stay_and_come_first() {
        let mut best = BestOf::new(3);
        for (at, cost) in [5.0, 2.0, 9.0, 2.0, 5.0, 2.0, 2.0].into_iter().enumerate() {
            best.offer(cost, || at);
        }
        assert_eq!(best.max_cost(), 2.0);
        assert_eq!(best.into_sorted().collect::<Vec<_>>(), [(2.0, 1), (2.0, 3), (2.0, 5)]);
        assert_eq!(BestOf::<()>::new(0).max_cost(), f64::INFINITY);
    }
}
