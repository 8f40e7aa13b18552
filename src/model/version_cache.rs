//! Answers that hold for one version of the snapshot: a version is immutable, so an equal question has an equal answer.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use crate::search::Snapshot;

/// The last answers `A` to questions `Q`, each on a version of the snapshot. At most `MAX` answers are kept. A look-up
/// compares the question with each.
#[derive(Debug)]
pub struct VersionCache<Q, A, const MAX: usize> {
    /// The oldest first.
    kept: Mutex<VecDeque<KeptAnswer<Q, A>>>,
}

#[derive(Debug)]
struct KeptAnswer<Q, A> {
    snapshot: Weak<Snapshot>,
    question: Q,
    answer: A,
}

impl<Q: PartialEq, A> KeptAnswer<Q, A> {
    /// The weak reference keeps the address, so no further version has the address.
    fn is_of(&self, snapshot: &Arc<Snapshot>, question: &Q) -> bool {
        std::ptr::eq(self.snapshot.as_ptr(), Arc::as_ptr(snapshot)) && self.question == *question
    }
}

impl<Q, A, const MAX: usize> Default for VersionCache<Q, A, MAX> {
    fn default() -> Self {
        VersionCache { kept: Mutex::default() }
    }
}

impl<Q: PartialEq, A: Clone, const MAX: usize> VersionCache<Q, A, MAX> {
    /// The answer to the question on this version.
    pub fn get(&self, snapshot: &Arc<Snapshot>, question: &Q) -> Option<A> {
        let kept = self.lock();
        let found = kept.iter().find(|kept| kept.is_of(snapshot, question));
        found.map(|kept| kept.answer.clone())
    }

    /// Keeps an answer, in place of the oldest.
    pub fn add(&self, snapshot: &Arc<Snapshot>, question: Q, answer: A) {
        let mut kept = self.lock();
        // A weak reference keeps the memory of a version, whose content is gone.
        kept.retain(|kept| kept.snapshot.strong_count() > 0 && !kept.is_of(snapshot, &question));
        if kept.len() == MAX {
            kept.pop_front();
        }
        kept.push_back(KeptAnswer {
            snapshot: Arc::downgrade(snapshot),
            question,
            answer,
        });
    }

    fn lock(&self) -> MutexGuard<'_, VecDeque<KeptAnswer<Q, A>>> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    impl<Q, A, const MAX: usize> VersionCache<Q, A, MAX> {
        /// The number of kept answers.
        pub fn count(&self) -> usize {
            self.kept.lock().unwrap().len()
        }
    }

    #[test]
    fn an_answer_holds_for_its_question_on_its_version() {
        let (cache, version, next) = (VersionCache::<_, _, 9>::default(), Arc::default(), Arc::default());
        cache.add(&version, "question", 1);
        assert_eq!(cache.get(&version, &"question"), Some(1));
        assert_eq!(cache.get(&version, &"further question"), None);
        assert_eq!(cache.get(&next, &"question"), None);
    }

    #[test]
    fn the_answers_are_bounded_and_end_with_their_version() {
        let (cache, version) = (VersionCache::<_, _, 9>::default(), Arc::default());
        for question in 0..9 + 5 {
            cache.add(&version, question, ());
        }
        assert_eq!(cache.count(), 9);
        assert_eq!(cache.get(&version, &4), None);
        drop(version);
        cache.add(&Arc::default(), 0, ());
        assert_eq!(cache.count(), 1);
    }
}
