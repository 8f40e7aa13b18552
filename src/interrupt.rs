//! The budget of one request's computation: counts steps, and ends the computation from outside.
//!
//! Searches, placements and judgements of a request share one [`Interrupt`]. A deadline, a departed client and a
//! stopping process set the interrupt, so the layers that compute need no clock. A step stands for about the scan of
//! one block of 64 providers. An operation is a part of a step: operations are counted in bulk.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// Operations in one step: looks at hosts, offers, arcs of a flow, domains or replicas.
pub const OPERATIONS_A_STEP: u64 = 4;

/// The steps that a part of the work takes at a time from the budget of the whole work.
const STEPS_OF_A_SLICE: u64 = 64;

/// A handle that cancels a search: the search's iterator ends, and the answer becomes an error. Any clone can cancel.
///
/// Every loop of a search that may run long without a result checks the interrupt, so a check is two relaxed loads.
#[derive(Clone, Default)]
pub struct Interrupt(Arc<InterruptState>);

struct InterruptState {
    cancelled: AtomicBool,
    /// The remaining steps. Only the searching thread counts steps, so load and store need not be one operation.
    steps: AtomicU64,
    /// The number of counted steps.
    spent: AtomicU64,
    /// Asked when the steps are used up, for the number of further steps. `None`: no further steps.
    more: Option<Box<dyn Fn() -> u64 + Send + Sync>>,
}

impl Default for InterruptState {
    fn default() -> InterruptState {
        InterruptState {
            cancelled: AtomicBool::new(false),
            steps: AtomicU64::new(u64::MAX),
            spent: AtomicU64::new(0),
            more: None,
        }
    }
}

impl fmt::Debug for Interrupt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Interrupt")
    }
}

impl Interrupt {
    /// An interrupt that also cancels the search after this many steps.
    pub fn after(steps: u64) -> Interrupt {
        let interrupt = Interrupt::default();
        interrupt.0.steps.store(steps, Ordering::Relaxed);
        interrupt
    }

    /// As [`Self::after`], but after the steps `more` is asked for further steps. 0 cancels the search.
    pub fn in_slices(steps: u64, more: impl Fn() -> u64 + Send + Sync + 'static) -> Interrupt {
        Interrupt(Arc::new(InterruptState {
            steps: AtomicU64::new(steps),
            more: Some(Box::new(more)),
            ..InterruptState::default()
        }))
    }

    /// Cancels the search.
    pub fn set(&self) {
        self.0.cancelled.store(true, Ordering::Relaxed);
    }

    /// Removes the budget. Called before the budget is used up.
    pub fn lift(&self) {
        self.0.steps.store(u64::MAX, Ordering::Relaxed);
    }

    /// Uses up the budget, if any. Called before long work that does not count.
    pub fn exhaust(&self) {
        if self.0.steps.load(Ordering::Relaxed) != u64::MAX {
            self.0.steps.store(0, Ordering::Relaxed);
        }
    }

    /// Whether the budget is used up: the results of the search are incomplete.
    pub fn ran_out(&self) -> bool {
        self.0.steps.load(Ordering::Relaxed) == 0
    }

    /// An interrupt for a part of the work, which ends after `steps`, or soon after this interrupt has ended. This
    /// interrupt counts the steps of the part too.
    pub fn part(&self, steps: u64) -> Interrupt {
        let (whole, given) = (self.clone(), AtomicU64::new(0));
        let more = move || {
            let before = given.fetch_add(STEPS_OF_A_SLICE, Ordering::Relaxed);
            if whole.count(STEPS_OF_A_SLICE) {
                0
            } else {
                steps.saturating_sub(before).min(STEPS_OF_A_SLICE)
            }
        };
        let first = more();
        Interrupt::in_slices(first, more)
    }

    /// The number of counted steps so far.
    pub fn spent(&self) -> u64 {
        self.0.spent.load(Ordering::Relaxed)
    }

    /// Computes. `None` if this interrupt ended the computation, because the result may be incomplete.
    pub fn whole<T>(&self, compute: impl FnOnce() -> T) -> Option<T> {
        let result = compute();
        (!self.has_ended()).then_some(result)
    }

    /// Counts a step. True if the search must end.
    pub fn is_set(&self) -> bool {
        self.count(1)
    }

    /// Counts steps. True if the search must end.
    pub fn count(&self, steps: u64) -> bool {
        self.spend(steps);
        self.has_ended()
    }

    /// Whether the search must end. Counts nothing.
    pub fn has_ended(&self) -> bool {
        self.ran_out() || self.0.cancelled.load(Ordering::Relaxed)
    }

    /// Counts steps without a check.
    pub fn spend(&self, steps: u64) {
        let spent = self.0.spent.load(Ordering::Relaxed);
        self.0.spent.store(spent.wrapping_add(steps), Ordering::Relaxed);
        let remaining = self.0.steps.load(Ordering::Relaxed);
        if remaining == u64::MAX {
            return;
        }
        let left = match &self.0.more {
            Some(more) if remaining != 0 && steps >= remaining => more(),
            _ => remaining.saturating_sub(steps),
        };
        self.0.steps.store(left, Ordering::Relaxed);
    }
}

/// Sets the interrupt when dropped, with the response of the search.
pub struct InterruptOnDrop(pub Interrupt);

impl Drop for InterruptOnDrop {
    fn drop(&mut self) {
        self.0.set();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicU64;

    use super::*;

    #[test]
    fn a_search_in_slices_ends_when_no_more_steps_are_given() {
        let slices = Arc::new(AtomicU64::new(0));
        let given = Arc::clone(&slices);
        let interrupt = Interrupt::in_slices(2, move || 3 * u64::from(given.fetch_add(1, Ordering::Relaxed) < 2));
        let steps = std::iter::repeat_with(|| interrupt.is_set())
            .take_while(|ended| !ended)
            .count();
        assert_eq!((steps, interrupt.ran_out()), (2 + 3 + 3 - 1, true));
        assert!(interrupt.is_set());
        assert_eq!(slices.load(Ordering::Relaxed), 3, "it is not asked again after the end");
        interrupt.lift();
        assert!(!interrupt.is_set());
    }

    #[test]
    fn a_part_ends_after_its_steps_or_with_the_whole() {
        let steps_until_end = |part: &Interrupt| std::iter::repeat_with(|| part.is_set()).take_while(|it| !it).count();
        let whole = Interrupt::default();
        assert_eq!(steps_until_end(&whole.part(200)), 199);
        assert!(!whole.has_ended());
        assert_eq!(steps_until_end(&whole.part(0)), 0);
        let part = whole.part(1 << 40);
        whole.set();
        assert_eq!(steps_until_end(&part), STEPS_OF_A_SLICE as usize - 1);
        let budget = Interrupt::after(300);
        assert!(steps_until_end(&budget.part(1 << 40)) <= 300);
        assert!(budget.ran_out());
    }

    #[test]
    fn only_a_budget_can_be_exhausted() {
        let (with, without) = (Interrupt::after(5), Interrupt::default());
        for interrupt in [&with, &without] {
            interrupt.exhaust();
        }
        assert_eq!((with.has_ended(), without.has_ended()), (true, false));
    }
}
