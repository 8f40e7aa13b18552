//! The schedule of the comparison: slices of providers in order of their ids, and a higher rate for a while after a
//! difference was found.

use std::collections::BTreeSet;
use std::time::Duration;

use crate::model::snapshot::comparison::{Compared, Over};

/// Providers that are compared at a time, which takes a few milliseconds of the database.
pub const SLICE_PROVIDERS: usize = 500;
/// The factor by which the rate rises after a difference was found, until the end of the next round. A foreign writer is
/// likely to write again.
const FAST_FACTOR: u32 = 10;

/// A provider's uuid, and a class of it.
type Place = (String, String);

fn place(over: &Over) -> Place {
    (over.provider.clone(), over.class.clone())
}

/// The progress of the comparison.
pub struct Rounds {
    interval: Duration,
    /// The next slice begins after this id.
    pub after: i32,
    /// The number of rounds, including the current one, that run at the higher rate.
    fast_rounds: u32,
    /// The providers and classes over capacity in this round and in the previous one. Each is reported once, even if the
    /// amounts change.
    over: BTreeSet<Place>,
    reported: BTreeSet<Place>,
}

impl Rounds {
    /// `interval` is the duration of a round.
    pub fn new(interval: Duration) -> Rounds {
        Rounds {
            interval,
            after: 0,
            fast_rounds: 0,
            over: BTreeSet::new(),
            reported: BTreeSet::new(),
        }
    }

    /// The pause before the next slice, if there are `providers` in total.
    pub fn pause(&self, providers: usize) -> Duration {
        let slices = u32::try_from(providers.div_ceil(SLICE_PROVIDERS).max(1)).unwrap_or(u32::MAX);
        let factor = if self.fast_rounds > 0 { FAST_FACTOR } else { 1 };
        self.interval / slices / factor
    }

    /// Records the result of a slice. Returns the providers over capacity that were not reported before.
    pub fn take(&mut self, compared: &Compared) -> Vec<Over> {
        if !compared.mended.is_empty() {
            self.fast_rounds = 2;
        }
        let new = compared
            .over
            .iter()
            .filter(|over| !self.reported.contains(&place(over)) && !self.over.contains(&place(over)));
        let new = new.cloned().collect();
        self.over.extend(compared.over.iter().map(place));
        self.after = compared.next.unwrap_or(0);
        if compared.next.is_none() {
            self.reported = std::mem::take(&mut self.over);
            self.fast_rounds = self.fast_rounds.saturating_sub(1);
        }
        new
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn slice(next: Option<i32>, mended: &[&str], over: &[&str]) -> Compared {
        let over = over.iter().map(|uuid| Over {
            provider: (*uuid).to_owned(),
            class: "VCPU".into(),
            used: 2,
            capacity: 1,
        });
        Compared {
            next,
            mended: mended.iter().map(|uuid| (*uuid).to_owned()).collect(),
            over: over.collect(),
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
        rounds.take(&slice(Some(7), &["a"], &[]));
        assert_eq!((rounds.after, rounds.pause(10)), (7, normal / FAST_FACTOR));
        rounds.take(&slice(None, &[], &[]));
        assert_eq!((rounds.after, rounds.pause(10)), (0, normal / FAST_FACTOR));
        rounds.take(&slice(None, &[], &[]));
        assert_eq!(rounds.pause(10), normal);
    }

    #[test]
    fn a_provider_over_capacity_is_reported_once_while_that_lasts() {
        let mut rounds = Rounds::new(Duration::ZERO);
        let reported = |rounds: &mut Rounds, over: &[&str]| rounds.take(&slice(None, &[], over)).len();
        assert_eq!(reported(&mut rounds, &["a"]), 1);
        assert_eq!(reported(&mut rounds, &["a", "b"]), 1);
        assert_eq!(reported(&mut rounds, &["b"]), 0);
        assert_eq!(
            reported(&mut rounds, &["a", "b"]),
            1,
            "it was within its capacity in between"
        );
        let mut more = slice(None, &[], &["a"]);
        more.over[0].used += 1;
        assert!(rounds.take(&more).is_empty(), "it has been reported already");
    }
}
