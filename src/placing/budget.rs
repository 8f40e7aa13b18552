//! The budget of operations of one placement. Operations count on the interrupt of the request, and end the search for
//! a better answer.
//!
//! Every computation of a placement counts: hosts, offers, arcs of a flow, domains. The hosts' own search for offers
//! counts on the same interrupt. Between two counts lies at most the work of one host for all roles, of the domains of
//! one dimension, or of one node of a flow.

use std::cell::Cell;

use crate::interrupt::{Interrupt, OPERATIONS_A_STEP};

/// The most items that are sorted between two counts, which takes some milliseconds.
const SORTED_AT_ONCE: usize = 1 << 13;

/// A budget of operations. An operation looks at a host, an offer, an arc, a domain or a replica.
pub struct Budget<'a> {
    interrupt: &'a Interrupt,
    operations: u64,
    spent: Cell<u64>,
    /// Operations that are less than a step of the interrupt.
    rest: Cell<u64>,
}

impl<'a> Budget<'a> {
    /// A budget of this many operations from now on.
    pub fn new(interrupt: &'a Interrupt, operations: u64) -> Budget<'a> {
        Budget {
            interrupt,
            operations,
            spent: Cell::new(0),
            rest: Cell::new(0),
        }
    }

    /// A budget without a bound, for work outside of a search.
    pub fn unbounded(interrupt: &'a Interrupt) -> Budget<'a> {
        Budget::new(interrupt, u64::MAX)
    }

    /// Counts operations of a search. Returns true if the answer is not wanted any more: the caller returns soon, and
    /// the answer means nothing.
    pub fn count(&self, operations: u64) -> bool {
        self.spent.set(self.spent.get() + operations);
        self.count_list(operations)
    }

    /// As [`Self::count`], for a list that is made once for a search, as the list of all places. The operations are not
    /// charged to the search.
    pub fn count_list(&self, operations: u64) -> bool {
        let all = self.rest.get() + operations;
        self.rest.set(all % OPERATIONS_A_STEP);
        self.interrupt.count(all / OPERATIONS_A_STEP)
    }

    /// Sorts a list. Each halving of the list counts its items. If the answer is not wanted any more, the list stays
    /// unsorted.
    pub fn sort<T: Ord>(&self, items: &mut [T]) {
        if self.count_list(items.len() as u64) {
            return;
        }
        if items.len() <= SORTED_AT_ONCE {
            items.sort_unstable();
            return;
        }
        let (low, _, high) = items.select_nth_unstable(items.len() / 2);
        self.sort(low);
        self.sort(high);
    }

    /// Whether the answer is not wanted any more.
    pub fn has_ended(&self) -> bool {
        self.interrupt.has_ended()
    }

    /// The operations of searches.
    pub fn spent(&self) -> u64 {
        self.spent.get()
    }

    /// Whether the searches have spent all operations.
    pub fn is_spent(&self) -> bool {
        self.has_spent(1, 0)
    }

    /// Whether `1 / share` of the budget was spent since `begin` operations were.
    pub fn has_spent(&self, share: u64, begin: u64) -> bool {
        self.spent() - begin > self.operations / share
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Numbers in an order without a pattern.
    fn mixed(count: u32) -> Vec<u32> {
        (0..count).map(|number| number.wrapping_mul(2_654_435_761)).collect()
    }

    #[test]
    fn hostile_01_a_sort_of_a_million_places_ends_when_it_is_interrupted() {
        let mut items = mixed(1 << 20);
        let mut sorted = items.clone();
        sorted.sort_unstable();
        let whole = Interrupt::default();
        Budget::unbounded(&whole).sort(&mut items);
        assert!(items == sorted, "it sorts");
        let halvings = u64::from((items.len() / SORTED_AT_ONCE).ilog2());
        let least = halvings * items.len() as u64 / OPERATIONS_A_STEP;
        assert!(whole.spent() > least, "each halving is counted: {}", whole.spent());
        for part in 1..8 {
            let steps = whole.spent() * part / 8;
            let interrupt = Interrupt::after(steps);
            let mut items = mixed(1 << 20);
            Budget::unbounded(&interrupt).sort(&mut items);
            assert!(items != sorted, "after {steps} steps it is not sorted");
            // What was begun is not sorted further, but each part that remains is looked at once.
            let after = interrupt.spent() - steps;
            assert!(
                after < (1 << 20) * 2 / OPERATIONS_A_STEP,
                "it took {after} steps after {steps}"
            );
        }
    }
}
