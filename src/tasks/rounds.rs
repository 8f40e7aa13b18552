//! The schedule of the comparison: slices of providers in order of their ids, at a higher rate after a difference was
//! found.

use std::time::Duration;

use super::failures::Failures;
use crate::model::snapshot::comparison::{OverCapacity, SLICE_PROVIDERS, SliceResult};

/// The factor by which the rate rises after a difference was found, until the end of the next round. A foreign writer
/// is likely to write again.
const FAST_FACTOR: u32 = 10;

/// The progress of the comparison.
pub struct Rounds {
    interval: Duration,
    /// The id after which the next slice begins.
    pub after: i32,
    /// The number of rounds, including the current one, that run at the higher rate.
    fast_rounds: u32,
    /// The pairs of a provider and a class over capacity. A pair is reported once, even if the amounts change.
    over_capacity: Failures,
}

impl Rounds {
    /// `interval` is the duration of a round.
    pub fn new(interval: Duration) -> Rounds {
        Rounds {
            interval,
            after: 0,
            fast_rounds: 0,
            over_capacity: Failures::default(),
        }
    }

    /// The pause before the next slice, if there are `providers` in total.
    pub fn pause(&self, providers: usize) -> Duration {
        let slices = u32::try_from(providers.div_ceil(SLICE_PROVIDERS).max(1)).unwrap_or(u32::MAX);
        let factor = if self.fast_rounds > 0 { FAST_FACTOR } else { 1 };
        self.interval / slices / factor
    }

    /// Records the result of a slice. Returns the newly found cases over capacity.
    pub fn record(&mut self, result: &SliceResult) -> Vec<OverCapacity> {
        if !result.corrected.is_empty() {
            self.fast_rounds = 2;
        }
        let is_new = |over: &&OverCapacity| {
            let pair = format!("{} of {}", over.class, over.provider);
            self.over_capacity.note(&pair, String::new())
        };
        let new = result.over_capacity.iter().filter(is_new).cloned().collect();
        self.after = result.next.unwrap_or(0);
        if result.next.is_none() {
            self.over_capacity.end_round();
            self.fast_rounds = self.fast_rounds.saturating_sub(1);
        }
        new
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn slice(next: Option<i32>, corrected: &[&str], over: &[&str]) -> SliceResult {
        let over = over.iter().map(|uuid| OverCapacity {
            provider: (*uuid).to_owned(),
            class: "VCPU".into(),
            used: 2,
            capacity: 1,
        });
        SliceResult {
            next,
            corrected: corrected.iter().map(|uuid| (*uuid).to_owned()).collect(),
            over_capacity: over.collect(),
        }
    }

    #[test]
    fn a_round_takes_the_interval_for_any_number_of_providers() {
        let rounds = Rounds::new(Duration::from_secs(100));
        assert_eq!(rounds.pause(0), Duration::from_secs(100));
        assert_eq!(rounds.pause(SLICE_PROVIDERS), Duration::from_secs(100));
        assert_eq!(rounds.pause(100 * SLICE_PROVIDERS), Duration::from_secs(1));
    }

    #[test]
    fn after_a_difference_the_rate_is_higher_until_the_end_of_the_next_round() {
        let mut rounds = Rounds::new(Duration::from_secs(100));
        let normal = rounds.pause(10);
        rounds.record(&slice(Some(7), &["a"], &[]));
        assert_eq!((rounds.after, rounds.pause(10)), (7, normal / FAST_FACTOR));
        rounds.record(&slice(None, &[], &[]));
        assert_eq!((rounds.after, rounds.pause(10)), (0, normal / FAST_FACTOR));
        rounds.record(&slice(None, &[], &[]));
        assert_eq!(rounds.pause(10), normal);
    }

    #[test]
    fn a_provider_over_capacity_is_reported_once_while_that_lasts() {
        let mut rounds = Rounds::new(Duration::ZERO);
        let reported = |rounds: &mut Rounds, over: &[&str]| rounds.record(&slice(None, &[], over)).len();
        assert_eq!(reported(&mut rounds, &["a"]), 1);
        assert_eq!(reported(&mut rounds, &["a", "b"]), 1);
        assert_eq!(reported(&mut rounds, &["b"]), 0);
        assert_eq!(
            reported(&mut rounds, &["a", "b"]),
            1,
            "it was within its capacity in between"
        );
        let mut more = slice(None, &[], &["a"]);
        more.over_capacity[0].used += 1;
        assert!(rounds.record(&more).is_empty(), "it has been reported already");
    }
}
