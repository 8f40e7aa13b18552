//! The best of many items by their costs, in a bounded heap.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

/// At most `count` items: the items with the lowest costs, of equal items the first.
#[derive(Debug)]
pub(in crate::search) struct BestOf<T> {
    count: usize,
    /// The worst item is on top.
    entries: BinaryHeap<Entry<T>>,
    is_full: bool,
    /// The number of items that entered the heap so far.
    entered: u64,
}

/// An item with its cost, or a bound of the cost. Ordered by cost; equal costs by number.
#[derive(Debug)]
pub(super) struct Entry<T> {
    pub cost: f64,
    pub number: u64,
    pub item: T,
}

impl<T> BestOf<T> {
    /// For at least one item.
    pub fn new(count: usize) -> Self {
        Self {
            count: count.max(1),
            entries: BinaryHeap::new(),
            is_full: false,
            entered: 0,
        }
    }

    /// An item enters only if its cost is lower.
    pub fn max_cost(&self) -> f64 {
        match self.entries.peek() {
            Some(worst) if self.is_full => worst.cost,
            _ => f64::INFINITY,
        }
    }

    /// Adds an item if the item is among the best so far. Only then, `item` is called.
    pub fn offer(&mut self, cost: f64, item: impl FnOnce() -> T) {
        if cost >= self.max_cost() {
            return;
        }
        let number = self.entered;
        self.entered += 1;
        let item = item();
        let entry = Entry { cost, number, item };
        if !self.is_full {
            self.entries.push(entry);
            self.is_full = self.entries.len() == self.count;
        } else if let Some(mut worst) = self.entries.peek_mut() {
            *worst = entry;
        }
    }

    /// The items with their costs, best first.
    pub fn into_sorted(self) -> impl Iterator<Item = (f64, T)> {
        let sorted = self.entries.into_sorted_vec().into_iter();
        sorted.map(|entry| (entry.cost, entry.item))
    }
}

impl<T> Ord for Entry<T> {
    fn cmp(&self, other: &Self) -> Ordering {
        self.cost.total_cmp(&other.cost).then(self.number.cmp(&other.number))
    }
}

impl<T> PartialOrd for Entry<T> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<T> PartialEq for Entry<T> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl<T> Eq for Entry<T> {}

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
