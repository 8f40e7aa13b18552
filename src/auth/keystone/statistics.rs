//! Counters of what authentication by Keystone does.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Counted since the start of the process.
#[derive(Debug, Default)]
pub struct KeystoneStatistics {
    cache_hits: AtomicU64,
    accepted: AtomicU64,
    rejected: AtomicU64,
    failures: AtomicU64,
    own_tokens: AtomicU64,
    validation_micros: AtomicU64,
    cached_tokens: AtomicU64,
}

/// The counters at one moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Snapshot {
    /// Tokens that were found in the cache.
    pub cache_hits: u64,
    /// Validations after which the token was accepted.
    pub accepted: u64,
    /// Validations after which the token was rejected.
    pub rejected: u64,
    /// Validations that Keystone did not answer, or with an error.
    pub failures: u64,
    /// Tokens that the service got for itself.
    pub own_tokens: u64,
    /// How long all validations took together, with the failed ones.
    pub validation_time: Duration,
    /// The tokens in the cache, with those that have expired and are not removed yet.
    pub cached_tokens: u64,
}

impl fmt::Display for Snapshot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Destructured, so that a new counter cannot be forgotten here.
        let Snapshot {
            cache_hits,
            accepted,
            rejected,
            failures,
            own_tokens,
            validation_time,
            cached_tokens,
        } = self;
        write!(
            f,
            "{accepted} tokens accepted, {rejected} rejected, {failures} validations failed, in {validation_time:.1?}; \
             {cache_hits} found in the cache, which has {cached_tokens}; {own_tokens} own tokens"
        )
    }
}

/// How a validation ended.
pub enum Outcome {
    Accepted,
    Rejected,
    Failed,
}

impl KeystoneStatistics {
    pub fn snapshot(&self) -> Snapshot {
        let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        Snapshot {
            cache_hits: read(&self.cache_hits),
            accepted: read(&self.accepted),
            rejected: read(&self.rejected),
            failures: read(&self.failures),
            own_tokens: read(&self.own_tokens),
            validation_time: Duration::from_micros(read(&self.validation_micros)),
            cached_tokens: read(&self.cached_tokens),
        }
    }

    pub(super) fn count_hit(&self) {
        self.cache_hits.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn count_validation(&self, outcome: &Outcome, duration: Duration) {
        let counter = match outcome {
            Outcome::Accepted => &self.accepted,
            Outcome::Rejected => &self.rejected,
            Outcome::Failed => &self.failures,
        };
        counter.fetch_add(1, Ordering::Relaxed);
        let micros = u64::try_from(duration.as_micros()).unwrap_or(u64::MAX);
        self.validation_micros.fetch_add(micros, Ordering::Relaxed);
    }

    pub(super) fn count_own_token(&self) {
        self.own_tokens.fetch_add(1, Ordering::Relaxed);
    }

    /// Counts tokens that came into the cache and left it.
    pub(super) fn count_cached(&self, added: usize, removed: usize) {
        self.cached_tokens.fetch_add(added as u64, Ordering::Relaxed);
        self.cached_tokens.fetch_sub(removed as u64, Ordering::Relaxed);
    }
}
