//! Which providers other processes change at the moment, too. Whoever decides there first and writes later is overtaken again
//! and again, so a batch waits for its turn there (`src/db/writer/turn.rs`).

use std::collections::{HashMap, HashSet, VecDeque};
use std::time::{Duration, Instant};

use crate::search::ProviderId;

/// How many times that others were heard of are remembered, and for how long.
const REMEMBERED: usize = 64;
const LATELY: Duration = Duration::from_secs(1);
/// Who is met so often stays: once is chance.
const OFTEN: usize = 2;

/// See the module.
#[derive(Default)]
pub struct Company {
    lately: VecDeque<(Instant, HashSet<ProviderId>)>,
}

impl Company {
    /// Others changed these.
    pub fn note(&mut self, now: Instant, providers: HashSet<ProviderId>) {
        if self.lately.len() == REMEMBERED {
            self.lately.pop_front();
        }
        self.lately.push_back((now, providers));
    }

    /// The providers where somebody is to be met.
    pub fn met(&self, now: Instant) -> HashSet<ProviderId> {
        let mut times: HashMap<ProviderId, usize> = HashMap::new();
        let lately = self.lately.iter().rev().take_while(|(then, _)| now - *then < LATELY);
        for provider in lately.flat_map(|(_, providers)| providers) {
            *times.entry(*provider).or_default() += 1;
        }
        times.retain(|_, times| *times >= OFTEN);
        times.into_keys().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_was_met_twice_lately_is_met_again() {
        let (mut company, start) = (Company::default(), Instant::now());
        let some = |ids: &[i32]| ids.iter().map(|id| ProviderId(*id)).collect::<HashSet<_>>();
        company.note(start, some(&[1, 2]));
        assert_eq!(company.met(start), some(&[]));
        company.note(start + LATELY / 2, some(&[2, 3]));
        assert_eq!(company.met(start + LATELY / 2), some(&[2]));
        assert_eq!(company.met(start + LATELY), some(&[]), "the first time is long ago");
        for _ in 0..REMEMBERED {
            company.note(start, some(&[4]));
        }
        assert_eq!(company.met(start), some(&[4]), "the others are forgotten");
    }
}
