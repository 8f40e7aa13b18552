//! The steps of one placement. They count on the interrupt of the request, and bound the search for a better answer.
//!
//! All that a placement computes counts here: hosts, offers, arcs of a flow, domains. What the hosts search for their
//! offers counts too, because it counts on the same interrupt. Between two counts lies at most the work of one host for
//! all roles, of the domains of one dimension, or of one node of a flow.

use std::cell::Cell;

use crate::interrupt::Interrupt;

/// Steps of a placement in one step of an [`Interrupt`].
pub const STEPS_A_ROUND: u64 = 4;

/// A budget of steps. A step looks at one host, one offer, one arc or one domain.
pub struct Budget<'a> {
    interrupt: &'a Interrupt,
    steps: u64,
    spent: Cell<u64>,
    /// Steps that are less than one of the interrupt.
    rest: Cell<u64>,
}

impl<'a> Budget<'a> {
    /// Of `steps` from now on.
    pub fn new(interrupt: &'a Interrupt, steps: u64) -> Budget<'a> {
        Budget {
            interrupt,
            steps,
            spent: Cell::new(0),
            rest: Cell::new(0),
        }
    }

    /// Counts steps of a search. True if the answer is not wanted any more: then it comes soon, and means nothing.
    pub fn count(&self, steps: u64) -> bool {
        self.spent.set(self.spent.get() + steps);
        self.count_list(steps)
    }

    /// As [`Self::count`], of a list that is made once for a search, as that of all places. It bounds no search.
    pub fn count_list(&self, steps: u64) -> bool {
        let all = self.rest.get() + steps;
        self.rest.set(all % STEPS_A_ROUND);
        self.interrupt.count(all / STEPS_A_ROUND)
    }

    /// Whether the answer is not wanted any more.
    pub fn has_ended(&self) -> bool {
        self.interrupt.has_ended()
    }

    /// The steps of searches.
    pub fn spent(&self) -> u64 {
        self.spent.get()
    }

    /// Whether the searches have spent all steps.
    pub fn is_spent(&self) -> bool {
        self.has_spent(1, 0)
    }

    /// Whether `1 / share` of the budget was spent since `begin` steps were.
    pub fn has_spent(&self, share: u64, begin: u64) -> bool {
        self.spent() - begin > self.steps / share
    }
}
