//! How a search is told from outside that nobody waits for it any more, or how far it may go.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// Ends a search, whoever holds a clone of it: candidates cease to come, and the answer is an error.
///
/// It is asked wherever a search goes round without finding anything, so it costs two loads and orders nothing.
#[derive(Clone, Debug, Default)]
pub struct Interrupt(Arc<State>);

#[derive(Debug)]
struct State {
    ended: AtomicBool,
    /// How often it may still be asked. Only whoever searches counts, so nothing is counted at once from two sides.
    rounds: AtomicU64,
}

impl Default for State {
    fn default() -> State {
        State {
            ended: AtomicBool::new(false),
            rounds: AtomicU64::new(u64::MAX),
        }
    }
}

impl Interrupt {
    /// One that also ends a search in its so many-th round.
    pub fn after(rounds: u64) -> Interrupt {
        let interrupt = Interrupt::default();
        interrupt.0.rounds.store(rounds, Ordering::Relaxed);
        interrupt
    }

    pub fn set(&self) {
        self.0.ended.store(true, Ordering::Relaxed);
    }

    /// Lets a search that did not run out of rounds go on without counting them.
    pub fn lift(&self) {
        self.0.rounds.store(u64::MAX, Ordering::Relaxed);
    }

    /// Whether there are no rounds left: what such a search found, or said, is not all that there is.
    pub fn ran_out(&self) -> bool {
        self.0.rounds.load(Ordering::Relaxed) == 0
    }

    /// Counts a round, and says whether it is not to be gone.
    pub fn is_set(&self) -> bool {
        self.spend(1);
        self.ran_out() || self.0.ended.load(Ordering::Relaxed)
    }

    /// Counts rounds that are gone without asking.
    pub fn spend(&self, rounds: u64) {
        let left = self.0.rounds.load(Ordering::Relaxed);
        if left != u64::MAX {
            self.0.rounds.store(left.saturating_sub(rounds), Ordering::Relaxed);
        }
    }
}
