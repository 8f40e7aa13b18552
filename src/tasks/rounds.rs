//! How the comparison goes round: some providers at a time, faster for a while after it found something.

use std::collections::BTreeSet;
use std::time::Duration;

use crate::model::comparison::{Compared, Over};

/// Providers that are looked at together: a few milliseconds of the database.
pub const SLICE: usize = 500;
/// How much faster it goes after it found something, to the end of the next round: where one writes, more is written.
const HURRY: u32 = 10;

/// A provider's uuid, and a class of it.
type Place = (String, String);

fn place(over: &Over) -> Place {
    (over.provider.clone(), over.class.clone())
}

/// Where the comparison is.
pub struct Rounds {
    interval: Duration,
    /// Providers with higher ids come next.
    pub after: i32,
    /// Rounds, the present one among them, in which it hurries.
    hurried: u32,
    /// Who was over capacity in this round, and in the one before: each is told once, however the amounts change.
    over: BTreeSet<Place>,
    told: BTreeSet<Place>,
}

impl Rounds {
    /// `interval`: how long a round takes.
    pub fn new(interval: Duration) -> Rounds {
        Rounds {
            interval,
            after: 0,
            hurried: 0,
            over: BTreeSet::new(),
            told: BTreeSet::new(),
        }
    }

    /// How long to wait before the next slice, of so many providers.
    pub fn pause(&self, providers: usize) -> Duration {
        let slices = u32::try_from(providers.div_ceil(SLICE).max(1)).unwrap_or(u32::MAX);
        let hurry = if self.hurried > 0 { HURRY } else { 1 };
        self.interval / slices / hurry
    }

    /// Takes what a slice showed; answers who was found over capacity and is not yet told.
    pub fn take(&mut self, compared: &Compared) -> Vec<Over> {
        if !compared.mended.is_empty() {
            self.hurried = 2;
        }
        let new = compared
            .over
            .iter()
            .filter(|over| !self.told.contains(&place(over)) && !self.over.contains(&place(over)));
        let new = new.cloned().collect();
        self.over.extend(compared.over.iter().map(place));
        self.after = compared.next.unwrap_or(0);
        if compared.next.is_none() {
            self.told = std::mem::take(&mut self.over);
            self.hurried = self.hurried.saturating_sub(1);
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
    fn a_round_takes_the_interval_however_many_there_are() {
        let rounds = Rounds::new(Duration::from_secs(100));
        assert_eq!(rounds.pause(0), Duration::from_secs(100));
        assert_eq!(rounds.pause(SLICE), Duration::from_secs(100));
        assert_eq!(rounds.pause(100 * SLICE), Duration::from_secs(1));
    }

    #[test]
    fn after_something_was_found_it_hurries_to_the_end_of_the_next_round() {
        let mut rounds = Rounds::new(Duration::from_secs(100));
        let calm = rounds.pause(10);
        rounds.take(&slice(Some(7), &["a"], &[]));
        assert_eq!((rounds.after, rounds.pause(10)), (7, calm / HURRY));
        rounds.take(&slice(None, &[], &[]));
        assert_eq!((rounds.after, rounds.pause(10)), (0, calm / HURRY));
        rounds.take(&slice(None, &[], &[]));
        assert_eq!(rounds.pause(10), calm);
    }

    #[test]
    fn who_is_over_capacity_is_told_once_for_as_long_as_it_lasts() {
        let mut rounds = Rounds::new(Duration::ZERO);
        let told = |rounds: &mut Rounds, over: &[&str]| rounds.take(&slice(None, &[], over)).len();
        assert_eq!(told(&mut rounds, &["a"]), 1);
        assert_eq!(told(&mut rounds, &["a", "b"]), 1);
        assert_eq!(told(&mut rounds, &["b"]), 0);
        assert_eq!(told(&mut rounds, &["a", "b"]), 1, "it was well in between");
        let mut more = slice(None, &[], &["a"]);
        more.over[0].used += 1;
        assert!(rounds.take(&more).is_empty(), "it is told already");
    }
}
