//! The pause between two large commands of a caller.
//!
//! A large command is a transaction of its own (`large.rs`), for which small commands wait. So if small commands came
//! since the last large command, the caller of a large command pauses before the caller's next large command. A lone
//! client with large commands gets a tenth of the time: the pause is nine times as long as the command took. The
//! waiting large commands of the caller share the pause, and so expire less. All callers together get at most half of
//! the time: the more callers pause, the longer each pause is. A caller never waits for the pause of a second caller.
//!
//! Measured on SQLite with 32 clients of small claims beside a client with claims of a thousand consumers. The small
//! claims' 99th percentile grows by a factor of 10 if both kinds get equal shares, 6 if large commands get a fifth of
//! the time, and 1.3 with a tenth.

use std::time::{Duration, Instant};

use crate::caller::CallerKey;

/// The pause after a large command if no further large command of the caller waits, in multiples of the time that the
/// command took.
const PAUSE_FACTOR: f64 = 9.0;
/// The longest pause, as a part of `commit_timeout`, for each caller in a pause: the next command must not expire
/// during the pause. A command that took longer has waited for the database.
const LONGEST_PAUSE: f64 = 0.1;
/// The longest pause of all, as a part of `commit_timeout`.
const LONGEST_OF_ALL: f64 = 0.5;

/// The callers that may not begin a large command yet.
pub(super) struct LargePauses {
    callers: Vec<(Instant, CallerKey)>,
    commit_timeout: Duration,
}

impl LargePauses {
    pub fn new(commit_timeout: Duration) -> LargePauses {
        LargePauses {
            callers: Vec::new(),
            commit_timeout,
        }
    }

    /// The end of the first pause to end.
    pub fn first_end(&self) -> Option<Instant> {
        self.callers.iter().map(|(end, _)| *end).min()
    }

    /// Takes the callers whose pause has ended.
    pub fn take_ended(&mut self) -> Vec<CallerKey> {
        let now = Instant::now();
        let ended = self.callers.extract_if(.., |(end, _)| *end <= now);
        ended.map(|(_, caller)| caller).collect()
    }

    /// Begins the pause after a command that took `taken`, while `waiting` large commands of the caller wait.
    pub fn begin(&mut self, caller: CallerKey, taken: Duration, waiting: usize) {
        let pause = pause_after(taken, waiting, self.callers.len() + 1, self.commit_timeout);
        self.callers.push((Instant::now() + pause, caller));
    }
}

/// The pause of a caller after a command that took `taken`, while `waiting` large commands of the caller wait, and
/// `callers` pause with this caller.
fn pause_after(taken: Duration, waiting: usize, callers: usize, commit_timeout: Duration) -> Duration {
    let callers = callers as f64;
    let tenth_of_the_time = PAUSE_FACTOR / waiting.max(1) as f64;
    let half_of_the_time_of_all = 2.0 * callers - 1.0;
    let longest = commit_timeout.mul_f64((LONGEST_PAUSE * callers).min(LONGEST_OF_ALL));
    taken
        .mul_f64(tenth_of_the_time.max(half_of_the_time_of_all))
        .min(longest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_pause_is_shared_by_the_large_commands_of_the_caller_that_wait() {
        let pauses = [0, 1, 3, 9, 100].map(|waiting| millis(100, waiting, 1));
        assert_eq!(pauses, [900, 900, 300, 100, 100]);
    }

    #[test]
    fn all_callers_together_get_at_most_half_of_the_time() {
        for callers in 1..=20 {
            let pause = millis(10, 100, callers);
            assert_eq!(pause + 10, 2 * 10 * callers as u128, "a round of all callers");
        }
    }

    #[test]
    fn no_pause_is_as_long_as_a_command_may_wait() {
        let pauses = [1, 2, 5, 100].map(|callers| millis(60_000, 0, callers));
        assert_eq!(pauses, [1_000, 2_000, 5_000, 5_000]);
    }

    fn millis(taken: u64, waiting: usize, callers: usize) -> u128 {
        pause_after(Duration::from_millis(taken), waiting, callers, Duration::from_secs(10)).as_millis()
    }
}
