//! The failures of a background task, so that a lasting failure is logged once.

use std::collections::HashMap;
use std::mem::take;

/// The failures of the previous round and of this round, by subject.
#[derive(Default)]
pub struct Failures {
    before: HashMap<String, String>,
    now: HashMap<String, String>,
}

impl Failures {
    /// Notes a failure. Returns whether the previous round had a different failure, or none.
    pub fn note(&mut self, subject: &str, failure: String) -> bool {
        let is_new = self.before.get(subject) != Some(&failure);
        self.now.insert(subject.to_owned(), failure);
        is_new
    }

    /// Ends a complete round. Subjects without a failure are forgotten.
    pub fn end_round(&mut self) {
        self.before = take(&mut self.now);
    }

    /// Ends a round that was cut off. Failures of unseen subjects are kept.
    pub fn cut_round(&mut self) {
        self.before.extend(take(&mut self.now));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hostile_16_a_failure_that_lasts_is_new_once() {
        let mut failures = Failures::default();
        let mut rounds = |of_a: Option<&str>, is_whole: bool| {
            let is_new = of_a.map(|failure| failures.note("a", failure.to_owned()));
            failures.note("b", "lasts".to_owned());
            if is_whole {
                failures.end_round()
            } else {
                failures.cut_round()
            }
            is_new
        };
        assert_eq!(rounds(Some("x"), true), Some(true));
        assert_eq!(rounds(Some("x"), true), Some(false));
        assert_eq!(rounds(None, false), None);
        assert_eq!(rounds(Some("x"), true), Some(false));
        assert_eq!(rounds(Some("y"), true), Some(true));
        assert_eq!(rounds(None, true), None);
        assert_eq!(rounds(Some("y"), true), Some(true));
    }
}
