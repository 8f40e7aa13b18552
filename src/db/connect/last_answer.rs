//! When the database last answered this process, on any connection.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use crate::db::boot_instant::BootInstant;

/// The moment of the last answer. Clones share it. Each statement notes one, so it takes no lock.
#[derive(Debug, Clone)]
pub(super) struct LastAnswer {
    began: BootInstant,
    /// Milliseconds after `began`.
    at: Arc<AtomicU64>,
}

impl LastAnswer {
    /// Counts the present moment as an answer.
    pub fn new() -> LastAnswer {
        LastAnswer {
            began: BootInstant::now(),
            at: Arc::default(),
        }
    }

    /// Notes an answer.
    pub fn note(&self) {
        self.at.fetch_max(self.elapsed(), Ordering::Relaxed);
    }

    /// The time since the last answer.
    pub fn silence(&self) -> Duration {
        Duration::from_millis(self.elapsed().saturating_sub(self.at.load(Ordering::Relaxed)))
    }

    fn elapsed(&self) -> u64 {
        u64::try_from(self.began.elapsed().as_millis()).unwrap_or(u64::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_silence_lasts_from_the_last_answer_on() {
        let answer = LastAnswer::new();
        std::thread::sleep(Duration::from_millis(30));
        assert!(answer.silence() >= Duration::from_millis(25));
        answer.clone().note();
        assert!(answer.silence() < Duration::from_millis(25));
    }
}
