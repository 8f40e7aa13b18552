//! Contention: the providers that peers update at the moment. A batch on a contended provider locks the provider before
//! planning (`lock_set`, `db::writer`), because an optimistic plan would meet conflict after conflict.

use std::collections::{HashMap, HashSet, VecDeque};
use std::time::{Duration, Instant};

use crate::search::ProviderId;

/// The number of reports that are kept.
const REPORTS_MAX: usize = 64;
/// How long a report counts.
const WINDOW: Duration = Duration::from_secs(1);
/// A provider is contended from this many updates within the window: a single update is chance.
const MIN_UPDATES: usize = 2;

/// Counts updates by peers within the last second.
#[derive(Default)]
pub struct ContentionTracker {
    reports: VecDeque<(Instant, HashSet<ProviderId>)>,
}

impl ContentionTracker {
    /// Records a report: peers updated these providers.
    pub fn record(&mut self, now: Instant, providers: HashSet<ProviderId>) {
        if self.reports.len() == REPORTS_MAX {
            self.reports.pop_front();
        }
        self.reports.push_back((now, providers));
    }

    /// Providers that peers updated at least twice in the last second.
    pub fn contended(&self, now: Instant) -> HashSet<ProviderId> {
        let mut updates: HashMap<ProviderId, usize> = HashMap::new();
        let recent = self.reports.iter().rev().take_while(|(then, _)| now - *then < WINDOW);
        for provider in recent.flat_map(|(_, providers)| providers) {
            *updates.entry(*provider).or_default() += 1;
        }
        updates.retain(|_, updates| *updates >= MIN_UPDATES);
        updates.into_keys().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_provider_is_contended_after_two_foreign_updates_within_a_second() {
        let (mut tracker, start) = (ContentionTracker::default(), Instant::now());
        let some = |ids: &[i32]| ids.iter().map(|id| ProviderId(*id)).collect::<HashSet<_>>();
        tracker.record(start, some(&[1, 2]));
        assert_eq!(tracker.contended(start), some(&[]));
        tracker.record(start + WINDOW / 2, some(&[2, 3]));
        assert_eq!(tracker.contended(start + WINDOW / 2), some(&[2]));
        assert_eq!(
            tracker.contended(start + WINDOW),
            some(&[]),
            "the first report is too old"
        );
        for _ in 0..REPORTS_MAX {
            tracker.record(start, some(&[4]));
        }
        assert_eq!(tracker.contended(start), some(&[4]), "older reports are dropped");
    }
}
