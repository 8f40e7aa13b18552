//! Counters of authentication by Keystone: requests to Keystone, look-ups of tokens, and the cache.
//!
//! A look-up that misses the cache begins a validation. A validation is several calls if the service needs a token
//! first, or if Keystone does not answer.

use std::fmt;
use std::time::Duration;

use crate::statistics::{Counter, Distribution, Histogram};

/// The question to Keystone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Call {
    /// For a token of the service.
    Login,
    /// Whether a token is valid.
    Validation,
}

/// How one request to Keystone ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CallOutcome {
    /// The token was given, or is valid.
    Accepted,
    /// Keystone does not know the token.
    Rejected,
    /// Keystone refuses the service's credentials, or its own token.
    Unauthorized,
    /// The answer is neither yes nor no.
    Error,
    /// There was no connection, or no answer in time.
    Unreachable,
}

/// How the look-up of a token ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LookUp {
    /// The token was in the cache.
    Hit,
    /// The token was in the cache, and has expired since the validation.
    Expired,
    /// A validation of the same token was running; the request waited for the validation.
    Shared,
    /// A validation was begun.
    Miss,
    /// Too many validations were running, or Keystone was down.
    Refused,
}

/// How a validation ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TokenCheck {
    Accepted,
    Rejected,
    Failed,
}

/// Why a token left the cache.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Eviction {
    /// The token was in the cache for `token_cache_time`.
    Aged,
    /// The cache was full, and the token was the oldest.
    Full,
}

impl Call {
    pub const ALL: [(Call, &'static str); 2] = [(Call::Login, "login"), (Call::Validation, "validation")];
}

impl CallOutcome {
    pub const ALL: [(CallOutcome, &'static str); 5] = [
        (CallOutcome::Accepted, "accepted"),
        (CallOutcome::Rejected, "rejected"),
        (CallOutcome::Unauthorized, "unauthorized"),
        (CallOutcome::Error, "error"),
        (CallOutcome::Unreachable, "unreachable"),
    ];
}

impl LookUp {
    pub const ALL: [(LookUp, &'static str); 5] = [
        (LookUp::Hit, "hit"),
        (LookUp::Expired, "expired"),
        (LookUp::Shared, "shared"),
        (LookUp::Miss, "miss"),
        (LookUp::Refused, "refused"),
    ];
}

impl TokenCheck {
    const ALL: [TokenCheck; 3] = [TokenCheck::Accepted, TokenCheck::Rejected, TokenCheck::Failed];
}

impl Eviction {
    pub const ALL: [(Eviction, &'static str); 2] = [(Eviction::Aged, "aged"), (Eviction::Full, "full")];
}

/// Counted since the start of the process.
#[derive(Debug)]
pub struct KeystoneStatistics {
    calls: [[Counter; CallOutcome::ALL.len()]; Call::ALL.len()],
    call_times: [Histogram; Call::ALL.len()],
    look_ups: [Counter; LookUp::ALL.len()],
    validations: [Counter; TokenCheck::ALL.len()],
    cached: Counter,
    evicted: [Counter; Eviction::ALL.len()],
}

impl Default for KeystoneStatistics {
    fn default() -> KeystoneStatistics {
        KeystoneStatistics {
            calls: Default::default(),
            call_times: [Histogram::of_times(), Histogram::of_times()],
            look_ups: Default::default(),
            validations: Default::default(),
            cached: Counter::default(),
            evicted: Default::default(),
        }
    }
}

impl KeystoneStatistics {
    /// Requests to Keystone, with the repeated requests.
    pub fn calls(&self, call: Call, outcome: CallOutcome) -> u64 {
        self.calls[call as usize][outcome as usize].value()
    }

    pub fn call_times(&self, call: Call) -> Distribution {
        self.call_times[call as usize].read()
    }

    pub fn look_ups(&self, look_up: LookUp) -> u64 {
        self.look_ups[look_up as usize].value()
    }

    pub fn validations(&self, outcome: TokenCheck) -> u64 {
        self.validations[outcome as usize].value()
    }

    pub fn evicted(&self, eviction: Eviction) -> u64 {
        self.evicted[eviction as usize].value()
    }

    /// The tokens in the cache, with expired tokens that are not removed yet.
    pub fn cached_tokens(&self) -> u64 {
        let evicted: u64 = self.evicted.iter().map(Counter::value).sum();
        // A token is counted as cached before it is counted as evicted.
        self.cached.value().saturating_sub(evicted)
    }

    pub(super) fn count_call(&self, call: Call, outcome: CallOutcome, took: Duration) {
        self.calls[call as usize][outcome as usize].increment();
        self.call_times[call as usize].record_time(took);
    }

    pub(super) fn count_look_up(&self, look_up: LookUp) {
        self.look_ups[look_up as usize].increment();
    }

    pub(super) fn count_validation(&self, outcome: TokenCheck) {
        self.validations[outcome as usize].increment();
    }

    /// Counts tokens that came into the cache, and tokens that left the cache.
    pub(super) fn count_cached(&self, added: usize, aged: usize, displaced: usize) {
        self.cached.add(added as u64);
        self.evicted[Eviction::Aged as usize].add(aged as u64);
        self.evicted[Eviction::Full as usize].add(displaced as u64);
    }
}

/// The line at the end of the process.
impl fmt::Display for KeystoneStatistics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [accepted, rejected, failed] = TokenCheck::ALL.map(|outcome| self.validations(outcome));
        let took = Duration::from_secs_f64(self.call_times(Call::Validation).sum);
        write!(
            f,
            "{accepted} tokens accepted, {rejected} rejected, {failed} validations failed, in {took:.1?}; \
             {} found in the cache, which has {}; {} own tokens",
            self.look_ups(LookUp::Hit),
            self.cached_tokens(),
            self.calls(Call::Login, CallOutcome::Accepted),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_variant_is_listed_at_its_place() {
        for (place, (call, _)) in Call::ALL.into_iter().enumerate() {
            assert_eq!(call as usize, place);
        }
        for (place, (outcome, _)) in CallOutcome::ALL.into_iter().enumerate() {
            assert_eq!(outcome as usize, place);
        }
        for (place, (look_up, _)) in LookUp::ALL.into_iter().enumerate() {
            assert_eq!(look_up as usize, place);
        }
        for (place, outcome) in TokenCheck::ALL.into_iter().enumerate() {
            assert_eq!(outcome as usize, place);
        }
        for (place, (eviction, _)) in Eviction::ALL.into_iter().enumerate() {
            assert_eq!(eviction as usize, place);
        }
    }

    #[test]
    fn the_last_line_has_the_numbers() {
        let statistics = KeystoneStatistics::default();
        statistics.count_look_up(LookUp::Hit);
        statistics.count_validation(TokenCheck::Accepted);
        statistics.count_validation(TokenCheck::Failed);
        statistics.count_call(Call::Login, CallOutcome::Accepted, Duration::from_secs(9));
        statistics.count_call(Call::Validation, CallOutcome::Accepted, Duration::from_millis(1500));
        statistics.count_cached(5, 1, 2);
        assert_eq!(
            statistics.to_string(),
            "1 tokens accepted, 0 rejected, 1 validations failed, in 1.5s; 1 found in the cache, which has 2; 1 own tokens"
        );
    }
}
