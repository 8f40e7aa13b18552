//! Exponential backoff with jitter: the pauses between attempts to reach a failed server, a database or Keystone.
//!
//! Without pauses, attempts delay the return of the server, and a wrong password locks its user out.
//! Without jitter, the processes of a cloud try in step.

use std::time::{Duration, Instant};

/// The pauses after failures without a success between the failures.
#[derive(Debug, Clone)]
pub struct Backoff {
    next: Duration,
    longest: Duration,
}

impl Backoff {
    /// The first pause and the longest pause, before jitter.
    pub const fn new(first: Duration, longest: Duration) -> Backoff {
        Backoff { next: first, longest }
    }

    /// The pause after a further failure: between half of the pause and the whole pause, by chance.
    pub fn next_pause(&mut self) -> Duration {
        let pause = self.next;
        self.next = (pause * 2).min(self.longest);
        pause.mul_f64(rand::random_range(0.5..=1.0))
    }
}

/// The pause after a failed attempt.
#[derive(Debug)]
pub struct Pause<E> {
    backoff: Backoff,
    failed: Instant,
    until: Instant,
    error: E,
}

impl<E> Pause<E> {
    /// The pause from now on: the first pause of `backoff`, or the pause after `previous`.
    pub fn begin(previous: Option<Pause<E>>, backoff: &Backoff, error: E) -> Pause<E> {
        let mut backoff = previous.map_or_else(|| backoff.clone(), |pause| pause.backoff);
        let failed = Instant::now();
        Pause {
            until: failed + backoff.next_pause(),
            backoff,
            failed,
            error,
        }
    }

    /// The error of the attempt, if the attempt failed at this moment or later.
    pub fn failed_since(&self, moment: Instant) -> Option<&E> {
        (self.failed >= moment).then_some(&self.error)
    }

    /// The time until the next attempt.
    pub fn left(&self) -> Duration {
        self.until.saturating_duration_since(Instant::now())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn found_n1_each_pause_is_twice_the_pause_before_up_to_the_longest() {
        let mut backoff = Backoff::new(Duration::from_millis(100), Duration::from_millis(500));
        for expected in [100, 200, 400, 500, 500].map(Duration::from_millis) {
            let pause = backoff.next_pause();
            assert!((expected / 2..=expected).contains(&pause), "{pause:?} of {expected:?}");
        }
    }
}
